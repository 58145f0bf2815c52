"""What the engine asks of Spark beyond DataFrames, and the one place that decides who answers.

With the driver in our own process py4j reaches into its JVM, which knows more than any public call. Behind Spark
Connect there is only the public protocol: the same is done with one job more. ADR 8 says what differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

if TYPE_CHECKING:
    from delta.tables import DeltaTable

    from lakelogic_assets.spark.materialization.transaction import Txn
    from lakelogic_assets.spark.sources.snapshot import FileStat

FEW_BYTES: Final = 16 * 1024**2
"""So much of a frame may be sent to every task as a whole."""


class Held(Protocol):
    """Rows that are evaluated and written somewhere, not yet part of the table."""

    def rows(self) -> int:
        """How many rows are held, with what a replacing write copies of others."""

    def read(self) -> DataFrame | None:
        """What is held, to be judged without another evaluation; None where nothing is."""

    def replaces(self) -> bool:
        """Whether rows of the table would give way."""

    def commit(self, user_metadata: str) -> int:
        """Make the rows part of the table; the version that did so."""

    def discard(self) -> None:
        """Give up what is held."""


@dataclass(frozen=True)
class Changed:
    """How many rows of a table are inserted, updated and deleted, and about how many bytes that takes in memory."""

    inserted: int
    updated: int
    deleted: int
    size: int

    @property
    def is_small(self) -> bool:
        """Whether every task may have all of it: it comes through the memory of the driver."""
        return self.size <= FEW_BYTES

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)


@dataclass(frozen=True)
class Clauses:
    """A MERGE of changes `s` into a table `t`: what is done where, and which columns it sets; None leaves it out."""

    matched_on: Column
    delete: Column | None
    update: tuple[Column, Mapping[str, str]] | None
    insert: tuple[Column, Mapping[str, str]] | None
    counts: Changed
    span: Column | None = None
    """Where in the table the matched rows can be, in literals, so that whole files are left out; None: anywhere."""

    @property
    def touches(self) -> Column:
        """Whether a change is of a row that the table has."""
        asked = [cond for cond in (self.delete, self.update[0] if self.update else None) if cond is not None]
        return reduce(Column.__or__, asked, F.lit(False))

    def placed(self, changes: DataFrame) -> DataFrame:
        """The changes, sent to every task as a whole where they are few, so that the table stays where it is."""
        return F.broadcast(changes) if self.counts.is_small else changes


class Driver(Protocol):
    shares_plans: bool
    """Whether sessions of one application may read what another of them keeps."""
    has_catalog: bool
    """Whether names that are shown to SQL are this process's own, and end with it."""

    def is_alive(self, spark: SparkSession) -> bool:
        """Whether it answers and the session is not stopped."""

    def process(self, spark: SparkSession) -> int | None:
        """The process of a driver on this machine, which may outlive us for a moment."""

    def new_session(self, spark: SparkSession) -> SparkSession:
        """Another session with the same settings and nobody's views."""

    def released(self, session: SparkSession) -> AbstractContextManager[None]:
        """What a session of ours holds is given back at the end."""

    def tagged(self, spark: SparkSession, tag: str) -> AbstractContextManager[None]:
        """What this thread runs meanwhile, in any session of ours, can be cancelled by the tag."""

    def cancel(self, spark: SparkSession, tag: str) -> None:
        """End the jobs of a tag, whichever thread asks; those that begin later are not affected."""

    def adopted(self, frame: DataFrame, session: SparkSession) -> DataFrame:
        """The same plan in another session."""

    def schema_json(self, frame: DataFrame) -> str:
        """The schema as text: far smaller than the objects that Python makes of a very wide one."""

    def guarded(self, spark: SparkSession, tested: Column) -> Column:
        """NULL where evaluating the column raises."""

    def was_taken(self, spark: SparkSession, observation: Observation) -> bool:
        """Whether a finished job has run through what is observed."""

    def evaluated(self, frame: DataFrame) -> DataFrame:
        """The same rows, evaluated once, counted on their way and kept to be read several times."""

    def storable(self, frame: DataFrame) -> DataFrame:
        """The rows in types that every reader of their table knows."""

    def hold(
        self,
        frame: DataFrame,
        path: str,
        *,
        mode: str,
        options: Mapping[str, str],
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> Held:
        """Evaluate the rows once and keep their commit back. `mode` is Append or Overwrite."""

    def merge(self, spark: SparkSession, changes: DataFrame, path: str, txn: Txn, clauses: Clauses) -> None:
        """One commit of that name that does what the clauses say."""

    def delta_table(self, spark: SparkSession, path: str) -> DeltaTable:
        """A table to delete from or to restore, where that can be asked for."""

    def added_rows(self, spark: SparkSession, path: str, first: int, last: int) -> DataFrame | None:
        """The rows of the files that versions added; None where that cannot be told, or rows were taken away too."""

    def files_at(self, spark: SparkSession, path: str, *, recursive: bool) -> list[FileStat]:
        """The files that an address of an object store stands for; none where there is nothing."""

    def location_of(self, spark: SparkSession, schema: str, table: str) -> str | None:
        """Where the catalogue thinks a table is."""


def driver_of(spark: SparkSession) -> Driver:
    """Who answers for a session. A session of Spark Connect only looks like PySpark's."""
    from lakelogic_assets.spark.driver.classic import ClassicDriver
    from lakelogic_assets.spark.driver.connect import ConnectDriver

    shown: Any = spark
    return ClassicDriver() if isinstance(shown, SparkSession) else ConnectDriver()
