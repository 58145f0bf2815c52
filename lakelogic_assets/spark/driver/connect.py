"""The driver is a Spark Connect server: nothing of it is in reach but what its public protocol offers."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark.driver.seam import Clauses, Held
from lakelogic_assets.spark.expressions import ERROR_ISOLATION
from lakelogic_assets.spark.identifiers import column, quoted
from lakelogic_assets.spark.sources.snapshot import FileStat
from lakelogic_assets.spark.staged_write import evaluated, stage

if TYPE_CHECKING:
    from delta.tables import DeltaTable

    from lakelogic_assets.spark.materialization.transaction import Txn

PORT: Final = 15002
"""Where a server listens when its address does not say."""
_SECONDS: Final = 5
_EPOCH: Final = date(1970, 1, 1)
_EXTENSIONS: Final = "spark.sql.extensions"
_TARGET: Final = "t"
# What a server takes at its start, and what only a driver of our own has.
_OF_THE_SERVER: Final = ("spark.driver.", "spark.executor.", "spark.hadoop.", "spark.ui.", "spark.eventLog.")
_STATIC: Final = frozenset(
    {"spark.master", "spark.remote", "spark.jars", _EXTENSIONS, "spark.sql.catalog.spark_catalog",
     "spark.sql.catalogImplementation", "spark.sql.warehouse.dir"}
)  # fmt: skip


def connected(address: str, settings: Mapping[str, str]) -> SparkSession:
    """A session of the server at `sc://host:port` with those of the settings that a session may change."""
    changed = {k: v for k, v in settings.items() if k not in _STATIC and not k.startswith(_OF_THE_SERVER)}
    if not _listens(address):
        raise ProjectError(f"No Spark Connect server answers at {address}: start it, or set `spark.remote` otherwise.")
    try:
        spark = SparkSession.builder.remote(address).config(map={**changed, **ERROR_ISOLATION}).create()
    except ImportError as error:
        raise ProjectError("Spark Connect needs more packages: pip install 'lakelogic-assets[connect]'.") from error
    if "delta" not in (spark.conf.get(_EXTENSIONS, "") or "").lower():
        raise ProjectError(
            f"The Spark Connect server at {address} runs without Delta: give it the jars of "
            "`lakelogic_assets.spark.jars` and the two settings that docs/guides/scaling.md names."
        )
    return spark


class ConnectDriver:
    # A plan is analysed in the session that runs it, where the views of another one are not.
    shares_plans = False
    # Names are the server's: others would see them, and they would stay.
    has_catalog = False

    def is_alive(self, spark: SparkSession) -> bool:
        session: Any = spark
        if session.is_stopped or not _listens(session.client._builder.endpoint):
            return False
        try:
            return bool(spark.conf.get("spark.sql.session.timeZone"))
        except PySparkException:
            # A server that was started again knows nothing of its former sessions.
            return False

    def process(self, spark: SparkSession) -> int | None:
        return None

    def new_session(self, spark: SparkSession) -> SparkSession:
        session: Any = spark
        made = session.cloneSession()
        # A clone is made without it, and cannot be stopped then.
        made.release_session_on_close = True
        # What a server keeps for us, such as a checkpoint, is looked for in the session that is active in this thread.
        type(made)._active_session.session = made
        return cast(SparkSession, made)

    @contextmanager
    def released(self, session: SparkSession) -> Iterator[None]:
        # A server keeps views and checkpoints for an hour, and a client that ends with some of them waits for ever.
        try:
            yield
        finally:
            session.stop()

    @contextmanager
    def tagged(self, spark: SparkSession, tag: str) -> Iterator[None]:
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)

    def cancel(self, spark: SparkSession, tag: str) -> None:
        spark.interruptTag(tag)

    def adopted(self, frame: DataFrame, session: SparkSession) -> DataFrame:
        own: Any = frame
        return cast(DataFrame, type(own)(own._plan, session))

    def schema_json(self, frame: DataFrame) -> str:
        return frame.schema.json()

    def guarded(self, spark: SparkSession, tested: Column) -> Column:
        """Adding days to a date with `try_add` catches whatever its arguments raise, whichever way they come.

        The value itself is asked for a second time only where it did not raise the first time.
        """
        asked = F.try_add(F.lit(_EPOCH), F.length(tested.cast("string")))
        return F.when(asked.isNotNull(), tested)

    def was_taken(self, spark: SparkSession, observation: Observation) -> bool:
        # The answer to the job carries its counts.
        return bool(observation.get)

    def evaluated(self, frame: DataFrame) -> DataFrame:
        return evaluated(frame)

    def storable(self, frame: DataFrame) -> DataFrame:
        """Types travel with a collation that Delta would write down and other readers refuse; their names do not."""
        shaped = [
            column(f.name).cast(_as_text(f.dataType)).alias(f.name, metadata=f.metadata or {})
            if "string" in f.dataType.simpleString()
            else column(f.name)
            for f in frame.schema.fields
        ]
        return frame.select(*shaped)

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
        rows = self.storable(frame)
        return stage(rows, path, mode=mode, options=options, partition_by=partition_by, properties=properties or {})

    def merge(self, spark: SparkSession, changes: DataFrame, path: str, txn: Txn, clauses: Clauses) -> None:
        table = spark.read.format("delta").load(path)
        _add_columns(spark, changes, path, clauses, [name.casefold() for name in table.columns])
        spark.read.format("delta").load(path).createOrReplaceTempView(_TARGET)
        merge = clauses.placed(changes).alias("s").mergeInto(_TARGET, clauses.matched_on)
        if clauses.delete is not None:
            merge = merge.whenMatched(clauses.delete).delete()
        if clauses.update is not None:
            merge = merge.whenMatched(clauses.update[0]).update(_columns(clauses.update[1]))
        if clauses.insert is not None:
            merge = merge.whenNotMatched(clauses.insert[0]).insert(_columns(clauses.insert[1]))
        # The changes are kept in this very session, so the name of the commit is given to it and taken away again.
        with _set(spark, txn.settings):
            merge.merge()

    def delta_table(self, spark: SparkSession, path: str) -> DeltaTable:
        raise ProjectError("Reset and restore need a driver of our own: run them with `master`, not `remote`.")

    def added_rows(self, spark: SparkSession, path: str, first: int, last: int) -> DataFrame | None:
        return None

    def files_at(self, spark: SparkSession, path: str, *, recursive: bool) -> list[FileStat]:
        reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            found = reader.load(path).select("path", "length", F.unix_micros("modificationTime")).collect()
        except AnalysisException:
            return []
        depth = len(_folders(path)) + 1
        # Folders of partitions belong to a place also where others below it do not.
        inside = [row for row in found if recursive or all("=" in each for each in _folders(row[0])[depth:])]
        return [FileStat(row[0], row[1], row[2] / 1_000_000) for row in inside]

    def location_of(self, spark: SparkSession, schema: str, table: str) -> str | None:
        return None


def _add_columns(spark: SparkSession, changes: DataFrame, path: str, clauses: Clauses, known: Sequence[str]) -> None:
    """Before the MERGE, whose public form takes the columns that are there; a table with a column more harms nobody."""
    written = {name for said in (clauses.update, clauses.insert) if said for name in said[1]}
    fields = [f for f in changes.schema.fields if quoted(f.name) in written and f.name.casefold() not in known]
    if fields:
        added = ", ".join(f"{quoted(f.name)} {_as_text(f.dataType)}" for f in fields)
        spark.sql(f"ALTER TABLE delta.{quoted(path)} ADD COLUMNS ({added})")


def _as_text(kind: T.DataType) -> str:
    """A type as SQL takes it; the short form that Spark gives does not quote the names in it."""
    match kind:
        case T.StructType():
            return f"STRUCT<{', '.join(f'{quoted(f.name)}: {_as_text(f.dataType)}' for f in kind.fields)}>"
        case T.ArrayType():
            return f"ARRAY<{_as_text(kind.elementType)}>"
        case T.MapType():
            return f"MAP<{_as_text(kind.keyType)}, {_as_text(kind.valueType)}>"
        case _:
            return kind.simpleString()


def _folders(address: str) -> list[str]:
    return urlsplit(address).path.rstrip("/").split("/")[:-1]


def _columns(said: Mapping[str, str]) -> dict[str, Column]:
    return {name: F.expr(value) for name, value in said.items()}


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Left behind, the name of a commit would make Delta drop the next write silently."""
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def _listens(address: str) -> bool:
    place = urlsplit(address if "://" in address else f"sc://{address}")
    try:
        with socket.create_connection((place.hostname or "", place.port or PORT), _SECONDS):
            return True
    except OSError:
        return False
