"""Bring a contract's tables back to an earlier version, and the memory of its runs with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError, NotFoundError
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.boundaries import list_as_done, listed_as_done
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.quarantined import quarantined
from lakelogic_assets.spark.recovery import recover
from lakelogic_assets.spark.reset import Deed, owner_sql, refuse_unfit
from lakelogic_assets.spark.run_log import RESET, RESTORED, read_runs
from lakelogic_assets.spark.session import jvm_pid
from lakelogic_assets.spark.tables import Lakehouse

_MARK = "lakelogic_restore"


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """Where a restore goes back to, and what it undoes."""

    contract: str
    target: str
    version_now: int
    version: int
    quarantine: str
    quarantine_version: int | None
    """None where nothing was in quarantine at that time."""
    undone: tuple[str, ...]
    """Runs, resets and restores whose commits are taken back, the newest first."""
    holds: tuple[dict[str, Any], ...] = ()
    manifest_backup: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_restore(
    contract: Contract, destination: Destination, *, version: int | None = None, to: datetime | None = None
) -> RestorePlan:
    """Where a restore would go: to a version, to what was there at a moment, or to before the last reset."""
    refuse_unfit(contract, destination)
    newest = delta_log.version(destination.target)
    if newest is None:
        raise NotFoundError(f"There is no table at {destination.target} to restore.")
    rows = read_runs(destination.run_log, contract="/".join(contract.key), with_reports=True)
    reports = _not_undone([row["report"] for row in rows if row["report"]])
    aside: int | None
    if version is None and to is None:
        version, aside = _before_last_reset(contract, reports)
    else:
        version = version if version is not None else _version_at(destination.target, to)
        if version is None or not 0 <= version < newest:
            raise NotFoundError(
                f"{contract.table} has no version {version if to is None else f'as old as {to.isoformat()}'} to go "
                f"back to; it has versions 0 to {newest}."
            )
        aside = _version_at(destination.quarantine, to or _committed_at(destination.target, version))
    gone = [each for each in reports if each.get("versions_written", {}).get("target", -1) > version]
    resets = [each for each in gone if each["status"] == RESET]
    first = resets[-1]["watermark"] if resets else {}
    return RestorePlan(
        contract="/".join(contract.key),
        target=destination.target,
        version_now=newest,
        version=version,
        quarantine=destination.quarantine,
        quarantine_version=aside,
        undone=tuple(f"{each['status']} of {each['window']['key']} at {each['ended_at']}" for each in gone),
        holds=tuple(hold for each in resets for hold in each["watermark"].get("holds", ())),
        manifest_backup=first.get("manifest_backup"),
    )


def _not_undone(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest first, all that no restore has taken back, resets and what lies behind them among it."""
    kept, newest = [], math.inf
    for report in reports:
        if report.get("versions_written", {}).get("target", -1) > newest:
            continue
        kept.append(report)
        if report["status"] == RESTORED:
            newest = min(newest, report["versions_read"]["target"])
    return kept


def _before_last_reset(contract: Contract, reports: Sequence[dict[str, Any]]) -> tuple[int, int | None]:
    found = next((each for each in reports if each["status"] == RESET and "target" in each["versions_written"]), None)
    if found is None:
        raise NotFoundError(f"{contract.table} was not reset; say --version or --to.")
    return int(found["versions_read"]["target"]), found["versions_read"].get("quarantine")


def _version_at(path: str, moment: datetime | None) -> int | None:
    """The newest version that was there at a moment."""
    if moment is None:
        return None
    found = [commit for commit in delta_log.commits(path) if _time_of(commit) <= moment]
    return max((int(commit["version"]) for commit in found), default=None)


def _committed_at(path: str, version: int) -> datetime | None:
    return next((_time_of(commit) for commit in delta_log.commits(path) if commit["version"] == version), None)


def _time_of(commit: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(commit["timestamp"] / 1000, UTC)


def restore_contract(
    contract: Contract,
    spark: SparkSession,
    lakehouse: Lakehouse,
    destination: Destination,
    *,
    version: int | None = None,
    to: datetime | None = None,
    environment: str | None = None,
    pipeline_run_id: str | None = None,
) -> tuple[RestorePlan, RunReport]:
    """Make the tables what they were; runs that are undone no longer count, those before them count again."""
    deed = Deed(contract, spark, destination, environment, pipeline_run_id)
    with table_lock(destination.target, jvm_pid(spark)):
        recover(contract, lakehouse, destination, environment)
        plan = plan_restore(contract, destination, version=version, to=to)
        written = _quarantine_restored(deed, plan)
        now = deed.change(plan.target, _MARK, lambda table: table.restoreToVersion(plan.version))
        if now is None or now <= plan.version_now:
            # Delta commits nothing where the versions hold the same files.
            raise EngineError(f"{contract.table} is already what it was at version {plan.version}.")
        warnings = _manifest_restored(contract, lakehouse, plan)
        for each in plan.holds:
            Holds(destination.holds).note(Hold.from_dict(contract.key, each))
        read = {"target": plan.version}
        if plan.quarantine_version is not None:
            read["quarantine"] = plan.quarantine_version
        report = deed.report(
            RESTORED,
            versions_read=read,
            versions_written={"target": now, **written},
            reasons=(f"back to version {plan.version}", *(f"undone: {each}" for each in plan.undone)),
            warnings=warnings,
        )
        return plan, deed.log(report)


def _quarantine_restored(deed: Deed, plan: RestorePlan) -> dict[str, int]:
    """The contract's own rows as they were; those of others in the same table stay as they are."""
    path, owner = plan.quarantine, owner_sql(deed.contract)
    if not delta_log.is_table(path):
        return {}
    reader = deed.spark.read.format("delta")
    old = plan.quarantine_version
    then = (reader.option("versionAsOf", old) if old is not None else reader).load(path).where(owner)
    if old is None and not quarantined(path, deed.key).count:
        return {}
    writer = (then if old is not None else then.limit(0)).write.format("delta").mode("overwrite")
    writer = writer.option("replaceWhere", owner).option("userMetadata", deed.metadata(_MARK))
    try:
        with table_lock(path, jvm_pid(deed.spark)):
            writer.save(path)
            version = delta_log.version(path)
    except SparkFailure as error:
        raise EngineError(f"{deed.contract.table}: {one_line(error)}") from error
    return {"quarantine": version} if version is not None else {}


def _manifest_restored(contract: Contract, lakehouse: Lakehouse, plan: RestorePlan) -> tuple[str, ...]:
    source = contract.source
    if source is None or source.watermark_strategy != "manifest" or not source.manifest_path:
        return ()
    file = Path(lakehouse.file_path(source.manifest_path))
    if plan.manifest_backup is None:
        return (f"{file} still lists the files of runs that were undone: take them out to have them read again.",)
    backup = Path(plan.manifest_backup)
    if not backup.is_file():
        return (f"{backup} is gone, so {file} does not list the files that are in the table again.",)
    list_as_done(file, listed_as_done(backup))
    return ()
