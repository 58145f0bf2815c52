"""Upkeep of a contract's tables: small files put together, files that no reader needs any more removed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.identifiers import find_name, quoted
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.session import jvm_pid

SAFE_HOURS = 168.0
"""Shorter than this and a reader or a writer that is still at work may lose a file: only under the table's lock."""
_A_DAY = 86_400.0
# VACUUM lists folders in as many tasks as this, of which there are ten thousand by default.
_LISTING = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "8"}
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True, slots=True)
class TableUpkeep:
    """One table before and after; files and bytes are those of its newest version."""

    path: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    version_before: int
    version_after: int
    files_removed: int = 0
    leftovers_removed: int = 0
    clustered_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """`tables` by what they are to the contract: `target`, `quarantine`; those that do not exist are left out."""

    contract: str
    retention_hours: float
    dry_run: bool
    tables: dict[str, TableUpkeep] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def maintain(
    contract: Contract,
    spark: SparkSession,
    destination: Destination,
    *,
    optimize: bool = True,
    vacuum: bool = True,
    retention_hours: float | None = None,
    dry_run: bool = False,
) -> MaintenanceReport:
    """OPTIMIZE and VACUUM the target and the quarantine; a dry run only counts what would be removed."""
    hours = _retention(contract, retention_hours)
    session = driver_of(spark).new_session(spark)
    for name, value in _LISTING.items():
        session.conf.set(name, value)
    work = _Work(session, optimize, vacuum, hours, dry_run)
    report = MaintenanceReport("/".join(contract.key), hours, dry_run)
    places = {"target": destination.target, "quarantine": destination.quarantine}
    for kind, path in places.items():
        if delta_log.is_table(path):
            try:
                report.tables[kind] = work.on(path, contract.materialization.cluster_by if kind == "target" else ())
            except SparkFailure as error:
                raise EngineError(f"{contract.table}: the upkeep of {path} failed: {one_line(error)}") from error
    return report


def _retention(contract: Contract, asked: float | None) -> float:
    compaction = contract.materialization.compaction
    said = compaction.vacuum_retention_hours if compaction else None
    return asked if asked is not None else said if said is not None else SAFE_HOURS


@dataclass(frozen=True)
class _Work:
    spark: SparkSession
    optimize: bool
    vacuum: bool
    hours: float
    dry_run: bool

    def on(self, path: str, cluster_by: tuple[str, ...]) -> TableUpkeep:
        if self.hours < SAFE_HOURS and "://" in path:
            raise EngineError(f"{path} cannot be locked, so its files are kept for at least {SAFE_HOURS:g} hours.")
        with table_lock(path, jvm_pid(self.spark)):
            before = _size(path)
            ordered = self._optimized(path, cluster_by) if self.optimize and not self.dry_run else ()
            removed = self._vacuumed(path) if self.vacuum else 0
            leftovers = _sweep(path, dry_run=self.dry_run)
            after = _size(path)
        return TableUpkeep(
            path, before[0], after[0], before[1], after[1], before[2], after[2], removed, leftovers, ordered
        )

    def _optimized(self, path: str, cluster_by: tuple[str, ...]) -> tuple[str, ...]:
        """Liquid clustering orders rows by itself; elsewhere OPTIMIZE is told by what."""
        detail = self.spark.sql(f"DESCRIBE DETAIL delta.{quoted(path)}").collect()[0]
        there = self.spark.read.format("delta").load(path).columns
        fixed = {name.casefold() for name in detail["partitionColumns"]}
        named = [found for name in cluster_by if (found := find_name(there, name)) and found.casefold() not in fixed]
        order = tuple(named) if not detail["clusteringColumns"] else ()
        suffix = f" ZORDER BY ({', '.join(map(quoted, order))})" if order else ""
        self.spark.sql(f"OPTIMIZE delta.{quoted(path)}{suffix}").collect()
        return order or tuple(detail["clusteringColumns"])

    def _vacuumed(self, path: str) -> int:
        with _short_retention(self.spark, self.hours):
            if self.dry_run:
                return self.spark.sql(f"VACUUM delta.{quoted(path)} RETAIN {self.hours:g} HOURS DRY RUN").count()
            before = _data_files(path)
            self.spark.sql(f"VACUUM delta.{quoted(path)} RETAIN {self.hours:g} HOURS").collect()
            return before - _data_files(path)


@contextlib.contextmanager
def _short_retention(spark: SparkSession, hours: float) -> Iterator[None]:
    """Delta refuses what may harm a reader; the lock is held, so nobody of ours writes."""
    spark.conf.set(_CHECK, str(hours >= SAFE_HOURS).lower())
    try:
        yield
    finally:
        spark.conf.unset(_CHECK)


def _size(path: str) -> tuple[int, int, int]:
    table = DeltaTable(path)
    sizes = table.get_add_actions(flatten=True).column("size_bytes").to_pylist()
    return len(sizes), sum(sizes), table.version()


def _data_files(path: str) -> int:
    return sum(1 for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts)


def _sweep(path: str, *, dry_run: bool) -> int:
    """Drafts of commits that a killed process left; VACUUM does not look into the log."""
    log = Path(path) / "_delta_log"
    oldest = time.time() - _A_DAY
    left = [file for file in log.glob("*.tmp") if file.stat().st_mtime < oldest] if log.is_dir() else []
    for file in left:
        if not dry_run:
            file.unlink(missing_ok=True)
    return len(left)
