"""A MERGE by our own hands: the files that change are read once, and what is in them stays where it lies.

Delta's command joins the table with its changes twice, and where a row is new it moves all others through a shuffle.
Here changes that fit into memory go to the files instead, and new files are made by Delta's own writer in an open
transaction, as `held_write` does. What a plain table is, `_is_plain` says; all others are left to Delta's command.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.driver.scala import defaults, each, mapping, none, sequence
from lakelogic_assets.spark.driver.seam import Changed, Clauses
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
_MOST: Final = 0.5
"""Where so many of the rows change there is hardly a file that could stay, and looking for it is a join in vain."""


def rewritten(spark: SparkSession, changes: DataFrame, path: str, txn: Txn, clauses: Clauses) -> bool:
    """Do what the clauses say in one commit of that name; False where only Delta's command can, and nothing was done.

    New files that do not hold as many rows as the clauses promise are thrown away, and Delta's command has its turn.
    """
    if "://" in path or not _is_plain(path):
        return False
    table = spark.read.format("delta").load(path)
    if not _is_shaped_alike(table, changes):
        return False
    work = _Rewriting.begun(spark, path, txn)
    former = work.touched(table, changes, clauses)
    if former is None:
        return False
    rows = _merged(work.read(former), changes, clauses)
    files = work.written(rows, former, clauses.counts)
    done = False
    try:
        expected = rows_in(path, former) + clauses.counts.inserted - clauses.counts.deleted
        if rows_in(path, files) == expected:
            work.commit(former, files, clauses.counts)
            done = True
    finally:
        if not done:
            discard_files(path, files)
    return done


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
    files: Mapping[str, Any]
    """The table's files by their place; Delta takes all of it for read."""

    @classmethod
    def begun(cls, spark: SparkSession, path: str, txn: Txn) -> _Rewriting:
        jvm: Any = spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        transaction = log.startTransaction()
        enter(transaction, path, txn.app_id, txn.version)
        base = _plain_path(transaction.deltaLog().dataPath().toUri().toString())
        files = {f"{base}/{unquote(file.path())}": file for file in each(transaction.filterFiles())}
        return cls(spark, path, txn, log, transaction, files)

    def touched(self, table: DataFrame, changes: DataFrame, clauses: Clauses) -> list[Any] | None:
        """The files in which a row is updated or deleted; None where they cannot be told."""
        counts = clauses.counts
        if not (counts.updated or counts.deleted):
            return []
        near = table.alias("t").where(clauses.span) if clauses.span is not None else table
        nearby = self._named(near.inputFiles())
        if nearby is None or counts.updated + counts.deleted >= _MOST * rows_in(self.path, nearby):
            return nearby
        steered = clauses.placed(changes.alias("s").where(clauses.touches)).alias("s")
        found = near.withColumn(_FILE, F.col("_metadata.file_path")).alias("t").join(
            steered, clauses.matched_on, "left_semi"
        )  # fmt: skip
        return self._named([row[0] for row in found.select(column(_FILE)).distinct().collect()])

    def _named(self, places: Sequence[str]) -> list[Any] | None:
        found = [self.files.get(_plain_path(place)) for place in places]
        return None if None in found else found

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
    return unquote(urlsplit(place).path).rstrip("/")


def _merged(rows: DataFrame, changes: DataFrame, clauses: Clauses) -> DataFrame:
    """The rows of the files as they are after the changes, and the new ones."""
    counts = clauses.counts
    if not (counts.updated or counts.deleted):
        return _new(rows, changes, clauses)
    if counts.inserted and not counts.is_small:
        return _after(rows, changes, clauses, "full_outer")
    after = _after(rows, clauses.placed(changes.alias("s").where(clauses.touches)), clauses, "left")
    # The last of the old rows take the new ones along: a file of their own would be one more with every run.
    return after.unionByName(_new(rows, changes, clauses).coalesce(1)) if counts.inserted else after


def _after(rows: DataFrame, changes: DataFrame, clauses: Clauses, how: str) -> DataFrame:
    joined = rows.withColumn(_HERE, F.lit(True)).alias("t").join(changes.alias("s"), clauses.matched_on, how)
    is_new = column_of("t", _HERE).isNull()
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
