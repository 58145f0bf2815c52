"""Empty the tables of a contract so that they are loaded anew, and bring back what was there.

Rows are deleted, never folders: the table gets a new version and keeps its history, by which it can be restored. The
names of its transactions stay too, so a window that is run again takes a higher generation and is not dropped.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta.tables import DeltaTable as SparkTable
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.boundaries import list_as_done, listed_as_done
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.identifiers import text_literal
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.quarantined import quarantined
from lakelogic_assets.spark.recovery import recover
from lakelogic_assets.spark.reporting import Identity, blank_report
from lakelogic_assets.spark.run_log import RESET, append_run, last_success
from lakelogic_assets.spark.session import jvm_pid
from lakelogic_assets.spark.tables import Lakehouse

_TRANSACTION = "spark.databricks.delta.write.txn"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """What a reset of one contract takes away."""

    contract: str
    target: str
    version: int | None = None
    rows: int | None = None
    """None where the files do not say how many they hold."""
    files: int = 0
    bytes: int = 0
    quarantine: str = ""
    quarantine_version: int | None = None
    quarantined: int = 0
    """Rows of this contract alone; others may use the same table."""
    holds: tuple[Hold, ...] = ()
    watermark: Mapping[str, Any] | None = None
    """What the next run would have gone on from."""
    manifest: str | None = None
    manifest_files: int = 0
    downstream: tuple[str, ...] = ()
    """Contracts that keep what they made of these rows."""
    warnings: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        return not (self.files or self.quarantined or self.holds or self.watermark or self.manifest_files)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": [str(hold) for hold in self.holds]}


@dataclass(frozen=True, slots=True)
class ResetReport:
    """What went, and the row of the run log that says so; None where there was nothing."""

    plan: ResetPlan
    run: RunReport | None = None
    manifest_backup: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"plan": self.plan.as_dict(), "run": self.run.as_dict() if self.run else None}


def plan_reset(
    contract: Contract, lakehouse: Lakehouse, destination: Destination, downstream: Iterable[str] = ()
) -> ResetPlan:
    """What a reset would take away; nothing is changed and no Spark is needed."""
    key = "/".join(contract.key)
    manifest = _manifest(contract, lakehouse)
    rows, files, size = _size(destination.target)
    return ResetPlan(
        contract=key,
        target=destination.target,
        version=delta_log.version(destination.target),
        rows=rows,
        files=files,
        bytes=size,
        quarantine=destination.quarantine,
        quarantine_version=delta_log.version(destination.quarantine),
        quarantined=quarantined(destination.quarantine, key).count,
        holds=tuple(Holds(destination.holds).of(contract.key)),
        watermark=_watermark(contract, lakehouse, destination),
        manifest=str(manifest) if manifest else None,
        manifest_files=len(listed_as_done(manifest)) if manifest else 0,
        downstream=tuple(downstream),
        warnings=tuple(_warnings(contract)),
    )


def _size(path: str) -> tuple[int | None, int, int]:
    if not delta_log.is_table(path):
        return 0, 0, 0
    actions = pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    counts = [action.get("num_records") for action in actions]
    rows = None if None in counts else sum(count for count in counts if count is not None)
    return rows, len(actions), sum(action["size_bytes"] for action in actions)


def _watermark(contract: Contract, lakehouse: Lakehouse, destination: Destination) -> Mapping[str, Any] | None:
    source = contract.source
    if source is None:
        return None
    log = lakehouse.table_path(source.pipeline_log_table) if source.pipeline_log_table else destination.run_log
    report = last_success(log, source.pipeline_name or contract.table, contract.layer, contract.domain, contract.system)
    return report.get("watermark") if report else None


def _warnings(contract: Contract) -> Iterable[str]:
    source = contract.source
    policy = (source.post_ingestion if source else None) or contract.server.post_ingestion
    if policy is not None and policy.action != "retain":
        done = "deleted" if policy.action == "delete" else f"moved to {policy.archive_path}"
        yield f"files that were read are {done}: a run after the reset does not find them"
    if source is not None and source.pipeline_log_table:
        yield f"where the next run starts is told by {source.pipeline_log_table}, which is not reset"


def _manifest(contract: Contract, lakehouse: Lakehouse) -> Path | None:
    source = contract.source
    if source is None or source.watermark_strategy != "manifest" or not source.manifest_path:
        return None
    return Path(lakehouse.file_path(source.manifest_path))


def refuse_unfit(contract: Contract, destination: Destination) -> None:
    """What cannot be emptied with a way back, said before anything is changed."""
    if contract.materialization.format == parquet_table.FORMAT or parquet_table.is_table(destination.target):
        raise EngineError(
            f"{contract.table} is a table of plain files, which have no history to go back to: run its windows again, "
            "or remove the folder by hand."
        )
    target = destination.target
    if delta_log.is_table(target):
        said = DeltaTable(target).metadata().configuration
        if str(said.get("delta.appendOnly", "")).lower() == "true":
            raise EngineError(f"{target} has `delta.appendOnly`, so no row of it can be deleted: unset that first.")


@dataclass(frozen=True)
class Deed:
    """One thing that is done to the tables of a contract outside of its runs."""

    contract: Contract
    spark: SparkSession
    destination: Destination
    environment: str | None = None
    pipeline_run_id: str | None = None
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def key(self) -> str:
        return "/".join(self.contract.key)

    def report(self, status: Status, **found: Any) -> RunReport:
        identity = Identity(self.contract, self.run_id, self.pipeline_run_id or self.run_id, self.started_at)
        return replace(blank_report(identity, self.destination, FULL), status=status, **found)

    def log(self, report: RunReport) -> RunReport:
        ended = replace(report, ended_at=datetime.now(UTC))
        append_run(self.destination.run_log, self.destination.run_files, ended, self.environment)
        return ended

    def metadata(self, mark: str) -> str:
        """What the commit says; not in the words of a run, which an audit would ask for its rows."""
        return json.dumps({mark: self.run_id, "contract": self.key, "at": self.started_at.isoformat()})

    def change(
        self, path: str, mark: str, act: Callable[[SparkTable], object], transaction: tuple[str, int] | None = None
    ) -> int | None:
        """Change a table in a session of its own: left in a shared one, a name would drop the next write silently."""
        driver = driver_of(self.spark)
        session = driver.new_session(self.spark)
        session.conf.set(_METADATA, self.metadata(mark))
        if transaction is not None:
            session.conf.set(f"{_TRANSACTION}AppId", transaction[0])
            session.conf.set(f"{_TRANSACTION}Version", str(transaction[1]))
        try:
            act(driver.delta_table(session, path))
        except SparkFailure as error:
            raise EngineError(f"{self.contract.table}: {one_line(error)}") from error
        return delta_log.version(path)


def reset_contract(
    contract: Contract,
    spark: SparkSession,
    lakehouse: Lakehouse,
    destination: Destination,
    *,
    environment: str | None = None,
    pipeline_run_id: str | None = None,
    downstream: Iterable[str] = (),
) -> ResetReport:
    """Delete the rows of the table and the contract's own in quarantine, and let the next run start from nothing."""
    refuse_unfit(contract, destination)
    deed = Deed(contract, spark, destination, environment, pipeline_run_id)
    with table_lock(destination.target, jvm_pid(spark)):
        recover(contract, lakehouse, destination, environment)
        plan = plan_reset(contract, lakehouse, destination, downstream)
        if plan.is_empty:
            return ResetReport(plan)
        written = _emptied(deed, plan)
        version = _without_quarantined(deed, plan)
        backup = _forget_manifest(plan, deed)
        Holds(destination.holds).release(contract.key, FULL)
        report = replace(
            _draft(deed, plan),
            versions_written={**({"target": written} if written is not None else {}), **version},
            watermark={**_draft(deed, plan).watermark, "manifest_backup": backup},
        )
        done = deed.log(report)
        Intents(destination.intents, destination.target).forget(_app(deed))
    return ResetReport(plan, done, backup)


def _app(deed: Deed) -> str:
    return f"{deed.key}|reset"


def _draft(deed: Deed, plan: ResetPlan) -> RunReport:
    """What the log will say, also where another run has to say it because this one died after its commit."""
    read = {"target": plan.version, "quarantine": plan.quarantine_version}
    return deed.report(
        RESET,
        versions_read={name: version for name, version in read.items() if version is not None},
        versions_written={"target": plan.version + 1} if plan.version is not None and plan.files else {},
        watermark={"forgotten": plan.watermark, "holds": [hold.as_dict() for hold in plan.holds]},
        reasons=(f"{'an unknown number of' if plan.rows is None else plan.rows} rows were deleted to load them anew",),
    )


def _emptied(deed: Deed, plan: ResetPlan) -> int | None:
    """The version without rows; None where there were none."""
    target = deed.destination.target
    if not plan.files:
        return None
    app = _app(deed)
    generation = 1 + (delta_log.transaction_version(target, app) or 0)
    draft = _draft(deed, plan).as_dict()
    Intents(deed.destination.intents, target).note(Intent(app, generation, target, draft))
    version = deed.change(target, delta_log.RESET_MARK, lambda table: table.delete(), (app, generation))
    if _size(target)[1] or delta_log.transaction_version(target, app) != generation:
        raise EngineError(f"{target} still holds files after all of its rows were deleted.")
    return version


def owner_sql(contract: Contract) -> str:
    """The contract's own rows of a quarantine that others may use too."""
    return f"{names.QUARANTINE_CONTRACT_COLUMN} = {text_literal('/'.join(contract.key))}"


def _without_quarantined(deed: Deed, plan: ResetPlan) -> dict[str, int]:
    if not plan.quarantined:
        return {}
    with table_lock(plan.quarantine, jvm_pid(deed.spark)):
        owner = owner_sql(deed.contract)
        version = deed.change(plan.quarantine, delta_log.RESET_MARK, lambda table: table.delete(owner))
    return {"quarantine": version} if version is not None else {}


def _forget_manifest(plan: ResetPlan, deed: Deed) -> str | None:
    """Empty the list of files that were read; the copy beside it is named after the moment."""
    if plan.manifest is None or not plan.manifest_files:
        return None
    file = Path(plan.manifest)
    backup = file.with_name(f"{file.stem}.before_reset_{deed.started_at:%Y%m%dT%H%M%S%fZ}{file.suffix}")
    shutil.copy2(file, backup)
    list_as_done(file, [])
    return str(backup)
