"""A Delta write in two halves where Delta's transaction cannot be held open: the rows first, files and commit later.

The rows are evaluated once and kept on the executors' disks, where they are counted and judged, and then written to the
table. A lost executor is an error, never a second evaluation that might give other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from lakelogic_assets.errors import TableGoneError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.materialization.transaction import Txn, committed


@dataclass(frozen=True)
class StagedWrite:
    """Rows that are kept and not yet written to the table."""

    path: str
    kept: DataFrame
    mode: str
    options: Mapping[str, str]
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]
    existed: bool

    def rows(self) -> int:
        return self.kept.count()

    def read(self) -> DataFrame | None:
        return self.kept

    def replaces(self) -> bool:
        if not self.existed or self.mode != "Overwrite":
            return False
        table = self.kept.sparkSession.read.format("delta").load(self.path)
        if not self.partition_by:
            return not table.isEmpty()
        brought = self.kept.select(*self.partition_by).distinct()
        return not table.join(brought, list(self.partition_by), "left_semi").isEmpty()

    def commit(self, user_metadata: str) -> int:
        if self.existed and not delta_log.is_table(self.path):
            raise TableGoneError(f"{self.path} was removed while it was written; run again to make it anew.")
        writer = self.kept.write.format("delta").mode(self.mode.lower()).options(**self.options)
        writer = writer.option("userMetadata", user_metadata)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        if not self.existed:
            writer = writer.options(**self.properties)
        writer.save(self.path)
        return committed(self.path, Txn(self.options["txnAppId"], int(self.options["txnVersion"]), user_metadata))

    def discard(self) -> None:
        self.kept.unpersist()


def evaluated(frame: DataFrame) -> DataFrame:
    """The rows, evaluated once and counted on their way.

    A Spark Connect server tells the counts of a write, not those of a checkpoint: so there is a write to nowhere
    through rows that are kept, of which the checkpoint is made.
    """
    passing = frame.persist(StorageLevel.DISK_ONLY)
    try:
        passing.write.format("noop").mode("overwrite").save()
        return passing.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
    finally:
        passing.unpersist()


def stage(
    frame: DataFrame,
    path: str,
    *,
    mode: str,
    options: Mapping[str, str],
    partition_by: Sequence[str],
    properties: Mapping[str, str],
) -> StagedWrite:
    """Evaluate the rows and keep them."""
    return StagedWrite(
        path, evaluated(frame), mode, options, tuple(partition_by), properties, existed=delta_log.is_table(path)
    )
