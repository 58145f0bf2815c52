"""A MERGE by our own hands: the files that change are read once, and what is in them stays where it lies.

Delta's command joins the table with its changes twice, and where a row is new it moves all others through a shuffle.
Here changes that fit into memory go to the files instead, and new files are made by Delta's own writer in an open
transaction, as `held_write` does. What a plain table is, `_is_plain` says; all others are left to Delta's command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.driver.scala import defaults, each, mapping, none, sequence
from lakelogic_assets.spark.driver.seam import Changed, Clauses
from lakelogic_assets.spark.failures import SparkFailure, is_conflict
from lakelogic_assets.spark.held_write import discard_files, enter, rows_in
from lakelogic_assets.spark.identifiers import column, quoted
from lakelogic_assets.spark.materialization.keys import column_of
from lakelogic_assets.spark.schema import HIDDEN_PREFIX

if TYPE_CHECKING:
    from lakelogic_assets.spark.materialization.transaction import Txn

_FILE: Final = f"{HIDDEN_PREFIX}file"
_HERE: Final = f"{HIDDEN_PREFIX}here"
_FEATURES: Final = frozenset({"appendOnly", "invariants"})
_READERS: Final = (1, 3)
_WRITERS: Final = (1, 2, 7)
"""Versions of Delta's protocol that ask for no more than these features; 3 and 7 name theirs."""
_ONE_FILE: Final = 8 * 1024**2
"""Bytes that are not worth two files."""
_MOST_FILES: Final = 5000
"""Each is asked for its name from here, which takes seconds where there are more."""
_MOST: Final = 0.5
"""Where so many of the rows change there is hardly a file that could stay, and looking for it is a join in vain."""

WasTaken: TypeAlias = Callable[[SparkSession, Observation], bool]


def rewritten(
    spark: SparkSession, changes: DataFrame, path: str, txn: Txn, clauses: Clauses, was_taken: WasTaken
) -> bool:
    """Do what the clauses say in one commit of that name; False where only Delta's command can, and nothing was done.

    New files that do not hold what the clauses promise are thrown away, and Delta's command has its turn.
    """
    if "://" in path or not _is_plain(path):
        return False
    work = _Rewriting.begun(spark, path, txn)
    table = work.table()
    former = work.touched(table, changes, clauses) if _is_shaped_alike(table, changes) else None
    if former is None:
        return False
    rows, met = _merged(work.read(former), changes, clauses)
    files = work.written(rows, former, clauses.counts)
    found = met is None or (was_taken(spark, met) and _are_met(met, clauses.counts))
    if not (found and work.add_up(former, files, clauses.counts)):
        discard_files(path, files)
        return False
    try:
        work.commit(former, files, clauses.counts)
    except SparkFailure as error:
        # After anything else nobody knows whether the commit came through, and its files must not go.
        if is_conflict(error):
            discard_files(path, files)
        raise
    return True


def _is_plain(path: str) -> bool:
    """Whether reading and writing is all there is to it: no change feed, no deletion vectors, no identities."""
    protocol = DeltaTable(path).protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return protocol.min_reader_version in _READERS and protocol.min_writer_version in _WRITERS and features <= _FEATURES


def _is_shaped_alike(table: DataFrame, changes: DataFrame) -> bool:
    """Whether the changes bring no column that is new, or of another type."""
    there = {name.casefold(): kind for name, kind in table.dtypes}
    here = {name.casefold(): kind for name, kind in changes.dtypes if not name.startswith(HIDDEN_PREFIX)}
    return all(there.get(name) == kind for name, kind in here.items())


@dataclass(frozen=True)
class _Rewriting:
    """One transaction of Delta's, from its beginning to its commit."""

    spark: SparkSession
    path: str
    txn: Txn
    log: Any
    transaction: Any

    @classmethod
    def begun(cls, spark: SparkSession, path: str, txn: Txn) -> _Rewriting:
        jvm: Any = spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        transaction = log.startTransaction()
        enter(transaction, path, txn.app_id, txn.version)
        return cls(spark, path, txn, log, transaction)

    def table(self) -> DataFrame:
        """The table as the transaction sees it."""
        return self.spark.read.format("delta").option("versionAsOf", self.transaction.readVersion()).load(self.path)

    def touched(self, table: DataFrame, changes: DataFrame, clauses: Clauses) -> list[Any] | None:
        """The files in which a row is updated or deleted; None where they cannot be told, or are too many to ask."""
        counts = clauses.counts
        if not (counts.updated or counts.deleted):
            self.transaction.readWholeTable()
            return []
        listed = self._listed()
        if listed.size() > _MOST_FILES:
            return None
        base = _plain_path(self.transaction.deltaLog().dataPath().toString())
        files = {f"{base}/{unquote(file.path())}": file for file in each(listed)}
        near = table.alias("t").where(clauses.span) if clauses.span is not None else table
        nearby = _named(files, near.inputFiles())
        if nearby is None or counts.updated + counts.deleted >= _MOST * rows_in(self.path, nearby):
            return nearby
        steered = clauses.placed(changes.alias("s").where(clauses.touches)).alias("s")
        found = near.withColumn(_FILE, F.col("_metadata.file_path")).alias("t").join(
            steered, clauses.matched_on, "left_semi"
        )  # fmt: skip
        return _named(files, [row[0] for row in found.select(column(_FILE)).distinct().collect()])

    def _listed(self) -> Any:
        """All files with their numbers of rows; Delta takes the whole table for read."""
        jvm: Any = self.spark._jvm
        anything = jvm.org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral()
        return self.transaction.filterFiles(sequence(jvm, [anything]), True)

    def add_up(self, former: Sequence[Any], files: Sequence[Any], counts: Changed) -> bool:
        """Whether there are as many rows as there must be now."""
        return rows_in(self.path, files) == rows_in(self.path, former) + counts.inserted - counts.deleted

    def read(self, files: Sequence[Any]) -> DataFrame:
        chosen = sequence(self.spark._jvm, files)
        more = defaults(self.log, "createDataFrame")
        return DataFrame(self.log.createDataFrame(self.transaction.snapshot(), chosen, *more), self.spark)

    def written(self, rows: DataFrame, former: Sequence[Any], counts: Changed) -> list[Any]:
        """New files with these rows, laid out as the table is."""
        partitions = each(self.transaction.snapshot().metadata().partitionColumns())
        if partitions:
            rows = rows.repartition(*map(column, partitions))
        elif sum(file.size() for file in former) + counts.size <= _ONE_FILE:
            rows = rows.coalesce(1)
        else:
            rows = rows.coalesce(self._width(former))
        return each(self.transaction.writeFiles(rows._jdf))

    def _width(self, former: Sequence[Any]) -> int:
        return max(int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1), len(former))

    def commit(self, former: Sequence[Any], files: Sequence[Any], counts: Changed) -> None:
        jvm: Any = self.spark._jvm
        delta, some = jvm.org.apache.spark.sql.delta, jvm.scala.Some
        nothing, empty = none(jvm), sequence(jvm, [])
        operation = getattr(delta, "DeltaOperations$Merge")(nothing, nothing, nothing, nothing, empty, empty, empty)
        named = delta.actions.SetTransaction(self.txn.app_id, self.txn.version, some(int(time.time() * 1000)))
        self.transaction.registerSQLMetrics(self.spark._jsparkSession, self._metrics(former, files, counts))
        with _called(self.spark, self.txn):
            self.transaction.commit(sequence(jvm, [*(file.remove() for file in former), *files, named]), operation)

    def _metrics(self, former: Sequence[Any], files: Sequence[Any], counts: Changed) -> Any:
        """What Delta's history says of a MERGE."""
        jvm: Any = self.spark._jvm
        context = self.spark.sparkContext._jsc.sc()
        told = {
            "numTargetRowsInserted": counts.inserted,
            "numTargetRowsUpdated": counts.updated,
            "numTargetRowsMatchedUpdated": counts.updated,
            "numTargetRowsDeleted": counts.deleted,
            "numTargetRowsMatchedDeleted": counts.deleted,
            "numTargetRowsCopied": rows_in(self.path, former) - counts.updated - counts.deleted,
            "numTargetFilesAdded": len(files),
            "numTargetFilesRemoved": len(former),
            "operationNumSourceRows": counts.inserted + counts.updated + counts.deleted,
        }
        metrics = {}
        for name, value in told.items():
            metrics[name] = jvm.org.apache.spark.sql.execution.metric.SQLMetrics.createMetric(context, name)
            metrics[name].set(value)
        return mapping(jvm, metrics)


@contextmanager
def _called(spark: SparkSession, txn: Txn) -> Iterator[None]:
    """Delta takes the text of a commit from the session that is active in this thread."""
    jvm: Any = spark._jvm
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    named = spark.newSession()
    for key, value in txn.settings.items():
        named.conf.set(key, value)
    sessions.setActiveSession(named._jsparkSession)
    try:
        yield
    finally:
        sessions.setActiveSession(before.get()) if before.isDefined() else sessions.clearActiveSession()


def _plain_path(place: str) -> str:
    return "/" + place.removeprefix("file:").strip("/")


def _named(files: Mapping[str, Any], places: Sequence[str]) -> list[Any] | None:
    """The files at these places, which some of Spark's answers write as addresses; None where one is not known."""
    plain = [_plain_path(place) for place in places]
    found = [files.get(place) or files.get(unquote(place)) for place in plain]
    return None if None in found else found


def _are_met(met: Observation, counts: Changed) -> bool:
    """Whether each update and each deletion has found its row, and only that one."""
    return met.get == {"updated": counts.updated, "deleted": counts.deleted}


def _merged(rows: DataFrame, changes: DataFrame, clauses: Clauses) -> tuple[DataFrame, Observation | None]:
    """The rows of the files as they are after the changes, and the new ones; and what of the changes met a row."""
    counts = clauses.counts
    if not (counts.updated or counts.deleted):
        return _new(rows, changes, clauses), None
    met = Observation()
    if counts.inserted and not counts.is_small:
        return _after(rows, changes, clauses, "full_outer", met), met
    after = _after(rows, clauses.placed(changes.alias("s").where(clauses.touches)), clauses, "left", met)
    # The last of the old rows take the new ones along: a file of their own would be one more with every run.
    return after.unionByName(_new(rows, changes, clauses).coalesce(1)) if counts.inserted else after, met


def _after(rows: DataFrame, changes: DataFrame, clauses: Clauses, how: str, met: Observation) -> DataFrame:
    joined = rows.withColumn(_HERE, F.lit(True)).alias("t").join(changes.alias("s"), clauses.matched_on, how)
    is_new = column_of("t", _HERE).isNull()
    asked = {"updated": clauses.update[0] if clauses.update else F.lit(False), "deleted": clauses.delete}
    told = [
        F.count_if(~is_new & (F.lit(False) if condition is None else condition)).alias(name)
        for name, condition in asked.items()
    ]
    joined = joined.observe(met, *told)
    stays = F.lit(True) if clauses.delete is None else ~F.coalesce(clauses.delete, F.lit(False))
    kept = stays if clauses.insert is None else F.when(is_new, clauses.insert[0]).otherwise(stays)
    values = []
    for name in rows.columns:
        value = column_of("t", name)
        if clauses.update is not None and _sets(clauses.update, name):
            value = F.when(clauses.update[0], column_of("s", name)).otherwise(value)
        if clauses.insert is not None and _sets(clauses.insert, name):
            value = F.when(is_new, column_of("s", name)).otherwise(value)
        values.append(value.alias(name))
    return joined.where(kept).select(*values)


def _new(rows: DataFrame, changes: DataFrame, clauses: Clauses) -> DataFrame:
    inserted = clauses.insert
    if inserted is None:
        return rows
    brought = [
        (column_of("s", field.name) if _sets(inserted, field.name) else F.lit(None).cast(field.dataType)).alias(
            field.name
        )
        for field in rows.schema.fields
    ]
    return changes.alias("s").where(inserted[0]).select(*brought)


def _sets(clause: tuple[Column, Mapping[str, str]], name: str) -> bool:
    wanted = quoted(name).casefold()
    return any(column_.casefold() == wanted for column_ in clause[1])
