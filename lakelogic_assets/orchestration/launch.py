"""Runs started from a command line, recorded by Dagster as if they had been started from its UI."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.orchestration.dashboard import KEY as DASHBOARD
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.project import Project
from lakelogic_assets.spark.workspace import Workspace

PROGRESS_LOGGER = "progress"
_RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
Days = tuple[date, date]


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one asset, over all of its windows."""

    asset: str
    source: int = 0
    good: int = 0
    quarantined: int = 0
    dropped: int = 0
    checks_passed: int = 0
    checks: int = 0
    seconds: float = 0.0
    status: str = "not run"


@dataclass(frozen=True, slots=True)
class Batch:
    """Products that fit into one run: those of one partition set, and those that have none."""

    products: tuple[Product, ...]
    partitions: PartitionSet | None


def batches(products: Iterable[Product]) -> Iterator[Batch]:
    """Cut products that stand in the order of their graph into runs, keeping the order."""
    held: list[Product] = []
    shared: PartitionSet | None = None
    for product in products:
        if product.partitions is not None and shared is not None and product.partitions != shared:
            yield Batch(tuple(held), shared)
            held, shared = [], None
        held.append(product)
        shared = shared or product.partitions
    if held:
        yield Batch(tuple(held), shared)


def newest_days(count: int) -> Days:
    """The last complete days."""
    today = datetime.now(UTC).date()
    return today - timedelta(days=count), today - timedelta(days=1)


def instance_of(project: Project) -> dg.DagsterInstance:
    """The instance of `DAGSTER_HOME`, of the project's own `dagster_home/`, or of a folder beside its tables."""
    own = project.root / "dagster_home"
    home = Path(os.environ.get("DAGSTER_HOME") or (own if own.is_dir() else _beside_tables(project)))
    if not home.is_dir():
        raise ProjectError(f"There is no folder {home}; set DAGSTER_HOME to one that Dagster may write to.")
    return dg.DagsterInstance.from_config(str(home.absolute()))


def _beside_tables(project: Project) -> Path:
    """For a project that knows nothing of Dagster, and may not even be written to."""
    home = Workspace(project).root / "_dagster"
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists():
        settings.write_text("telemetry:\n  enabled: false\n")
    return home


def materialize(
    definitions: dg.Definitions, products: Sequence[Product], days: Days, instance: dg.DagsterInstance
) -> list[Line]:
    """Run the products for these days, one run a batch; a batch that fails does not keep the others from running."""
    # Only here: a logger of its own would have Dagster copy every job of the location when it loads.
    telling = dg.Definitions.merge(definitions, dg.Definitions(loggers={PROGRESS_LOGGER: progress_logger()}))
    return [line for batch in batches(products) for line in _run(telling, batch, days, instance)]


def write_dashboard(definitions: dg.Definitions, instance: dg.DagsterInstance) -> str:
    """The page over all products, after everything else is recorded; where it is."""
    job = definitions.resolve_implicit_job_def_def_for_assets([DASHBOARD])
    if job is None:
        raise ProjectError("The project has no dashboard.")
    quiet = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
    result = job.execute_in_process(asset_selection=[DASHBOARD], instance=instance, run_config=quiet)
    (event,) = result.get_asset_materialization_events()
    return str(event.materialization.metadata["page"].value)


def _run(definitions: dg.Definitions, batch: Batch, days: Days, instance: dg.DagsterInstance) -> list[Line]:
    keys = [product.asset_key for product in batch.products]
    job = definitions.resolve_implicit_job_def_def_for_assets(keys)
    if job is None:
        raise ProjectError("These contracts have partitions that do not go into one run; select fewer.")
    result = job.execute_in_process(
        asset_selection=keys,
        instance=instance,
        tags=_tags(batch, days),
        run_config={"loggers": {PROGRESS_LOGGER: {}}},
        raise_on_error=False,
    )
    return [_line(product, result, len(product.partitions_between(days))) for product in batch.products]


def _tags(batch: Batch, days: Days) -> dict[str, str]:
    if batch.partitions is None:
        return {}
    first = next(product for product in batch.products if product.partitions is not None)
    keys = [key for key in first.partitions_between(days) if key is not None]
    if not keys:
        raise ProjectError(f"The partition set `{batch.partitions.name}` has none from {days[0]} to {days[1]}.")
    return dict(zip(_RANGE_TAGS, (keys[0], keys[-1]), strict=True))


def _line(product: Product, result: dg.ExecuteInProcessResult, windows: int) -> Line:
    events = result.get_asset_materialization_events()
    found = [event.materialization for event in events if event.asset_key == product.asset_key]
    checks = [each for each in result.get_asset_check_evaluations() if each.asset_key == product.asset_key]
    failed = any(
        event.step_key == product.op_name and (event.is_step_failure or event.is_step_skipped)
        for event in result.all_events
    )
    return Line(
        asset="/".join(product.key),
        source=_sum(found, "rows_read"),
        good=_sum(found, "rows_good"),
        quarantined=_sum(found, "rows_quarantined"),
        dropped=_sum(found, "rows_dropped"),
        checks_passed=sum(each.passed for each in checks),
        checks=len(checks),
        seconds=_sum(found, "seconds"),
        status="success" if len(found) == windows and not failed else "failed" if found or failed else "not run",
    )


def _sum(found: Iterable[dg.AssetMaterialization], name: str) -> Any:
    return sum(each.metadata[name].value for each in found if name in each.metadata)


def progress_logger(tell: Callable[[str], None] = print) -> dg.LoggerDefinition:
    """Only what our steps say, a line each: Dagster's own events are in its UI."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said: dict[str, Any] = getattr(record, "dagster_meta", {})
            if said.get("dagster_event") is None:
                tell(f"  {'✗' if record.levelno >= logging.ERROR else '✓'} {said.get('orig_message', record.msg)}")

    def progress(_: dg.InitLoggerContext) -> logging.Logger:
        made = logging.Logger("lakelogic.progress", level=logging.INFO)
        made.addHandler(Lines())
        return made

    return dg.LoggerDefinition(progress, description="One line for each window that a step has done.")
