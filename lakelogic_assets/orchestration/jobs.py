"""Jobs that people start from the UI: a selection and a window in words, upkeep, and what is in quarantine."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Iterator, Sequence
from datetime import date

import dagster as dg
from pydantic import Field

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration import events
from lakelogic_assets.orchestration.engine import Asked, Engine
from lakelogic_assets.orchestration.generate import generate_data_job
from lakelogic_assets.orchestration.metadata import run_metadata
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.spark.maintenance import MaintenanceReport, maintain
from lakelogic_assets.spark.quarantined import quarantined

SELECT = (
    "Contracts by table, glob, `layer:silver`, `domain:retail` or `system:crm`; "
    "`+name` adds what it needs, `name+` what needs it. Empty: all."
)


class Selection(dg.Config):
    select: list[str] = Field(default=[], description=SELECT)


class DaysOfSelection(Selection):
    first_day: str | None = Field(default=None, description="First day, such as 2026-02-01, for contracts by day.")
    last_day: str | None = Field(default=None, description="Last day, included; the first day when left out.")


class RunContracts(DaysOfSelection):
    """What `run_contracts` takes, in the words of the command line."""

    ignore_gates: bool = Field(default=False, description="Go on although a gate holds an upstream back.")


class Reprocess(dg.Config):
    select: list[str] = Field(description=f"{SELECT} What needs them is rebuilt too.")
    first_day: str = Field(description="First day to rebuild, such as 2026-02-01.")
    last_day: str = Field(description="Last day to rebuild, included.")
    ignore_gates: bool = Field(default=False, description="Go on although a gate holds an upstream back.")


class Maintenance(Selection):
    optimize: bool = Field(default=True, description="Put small files together.")
    vacuum: bool = Field(default=True, description="Remove files that no reader needs any more.")
    retention_hours: float | None = Field(
        default=None, description="Keep files this long; the contract's `compaction`, or 168, when left out."
    )
    dry_run: bool = Field(default=False, description="Only count what would be done.")


def build_jobs(products: Sequence[Product], engine: Engine) -> list[dg.JobDefinition]:
    """The project's jobs; each does with Spark what its name says and needs no daemon."""
    return [
        _run_contracts(products, engine),
        _reprocess(products, engine),
        _check_contracts(products, engine),
        _maintenance(products, engine),
        _quarantine_report(products, engine),
        generate_data_job(engine),
    ]


def _run_contracts(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="run_selection", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def run_selection(context: dg.OpExecutionContext, config: RunContracts):  # type: ignore[no-untyped-def]
        chosen = _chosen(products, engine, config.select)
        days = _days(config.first_day, config.last_day)
        yield from _run(context, engine, chosen, days, ignore_gates=config.ignore_gates)

    @dg.job(description="Run a layer, an entity or any selection, for the days you name, in graph order.")
    def run_contracts() -> None:
        run_selection()

    return run_contracts


def _reprocess(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="rebuild", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def rebuild(context: dg.OpExecutionContext, config: Reprocess):  # type: ignore[no-untyped-def]
        below = [f"{word.rstrip('+')}+" for word in config.select]
        days = _days(config.first_day, config.last_day)
        yield from _run(context, engine, _chosen(products, engine, below), days, ignore_gates=config.ignore_gates)

    @dg.job(description="Rebuild some days of some contracts and of everything that is made from them.")
    def reprocess() -> None:
        rebuild()

    return reprocess


def _check_contracts(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    """Dagster's UI runs the checks of a partitioned asset only together with the asset."""

    @dg.op(name="judge", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def judge(context: dg.OpExecutionContext, config: DaysOfSelection):  # type: ignore[no-untyped-def]
        asked = Asked(context.run_id, lambda: context.resources.spark.spark_session, say=context.log.info)
        troubles: list[str] = []
        for product in _chosen(products, engine, config.select):
            for partition in product.partitions_between(_days(config.first_day, config.last_day)):
                attempt = engine.look(product, product.window(partition), asked)
                target = events.latest(context.instance, product.asset_key, partition)
                yield from events.evaluations(product, attempt.outcomes, partition, target, holding=False)
                troubles += [attempt.trouble] if attempt.trouble else []
        if troubles:
            raise dg.Failure("; ".join(troubles), allow_retries=False)

    @dg.job(description="Judge what is in the tables, for the days you name; nothing is written.")
    def check_contracts() -> None:
        judge()

    return check_contracts


def _maintenance(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="upkeep", required_resource_keys={"spark"})
    def upkeep(context: dg.OpExecutionContext, config: Maintenance) -> None:
        reports: list[MaintenanceReport] = []
        troubles: list[str] = []
        for product in _chosen(products, engine, config.select):
            destination = engine.workspace.destination(product.contract)
            try:
                reports.append(
                    maintain(
                        product.contract, context.resources.spark.spark_session, destination,
                        optimize=config.optimize, vacuum=config.vacuum, retention_hours=config.retention_hours,
                        dry_run=config.dry_run,
                    )
                )  # fmt: skip
            except LakeLogicError as error:
                # One table in use must not keep the others waiting.
                context.log.error(str(error))
                troubles.append(str(error))
        context.add_output_metadata({"tables": dg.MetadataValue.md(_upkeep_table(reports))})
        if troubles:
            raise dg.Failure("; ".join(troubles), allow_retries=False)

    @dg.job(description="OPTIMIZE and VACUUM tables and their quarantine, never below the safe retention unlocked.")
    def maintenance() -> None:
        upkeep()

    return maintenance


def _quarantine_report(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    @dg.op(name="count_by_rule")
    def count_by_rule(context: dg.OpExecutionContext, config: Selection) -> None:
        lines = ["| asset | rows | rule | of them |", "|---|---:|---|---:|"]
        total = 0
        for product in _chosen(products, engine, config.select):
            name = "/".join(product.key)
            found = quarantined(engine.workspace.destination(product.contract).quarantine, name)
            total += found.count
            for rule, rows in found.by_rule.items():
                lines.append(f"| {name} | {found.count:,} | {_cell(rule)} | {rows:,} |")
        context.add_output_metadata({"rows": total, "by_rule": dg.MetadataValue.md("\n".join(lines))})

    @dg.job(description="Which rows are held back, by asset and rule.")
    def quarantine_report() -> None:
        count_by_rule()

    return quarantine_report


def _chosen(products: Sequence[Product], engine: Engine, words: Sequence[str]) -> list[Product]:
    """The products meant, in the order of the graph."""
    graph = engine.registry.graph
    try:
        keys = engine.registry.select(words) if words else frozenset(graph.nodes)
    except LakeLogicError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    by_key = {product.key: product for product in products}
    return [by_key[key] for level in graph.levels for key in level if key in keys and key in by_key]


def _days(first: str | None, last: str | None) -> tuple[date, date] | None:
    try:
        start = date.fromisoformat(first) if first else None
        end = date.fromisoformat(last) if last else start
    except ValueError as error:
        raise dg.Failure(f"{error}; write days as 2026-02-01.", allow_retries=False) from error
    if start is None or end is None:
        if end is not None:
            raise dg.Failure("`last_day` needs a `first_day`.", allow_retries=False)
        return None
    if end < start:
        raise dg.Failure(f"The last day {end} is before the first day {start}.", allow_retries=False)
    return start, end


def _run(
    context: dg.OpExecutionContext,
    engine: Engine,
    chosen: Sequence[Product],
    days: tuple[date, date] | None,
    *,
    ignore_gates: bool,
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Every product's windows; what lies below a window that was not published is held by the engine itself."""
    asked = Asked(context.run_id, lambda: context.resources.spark.spark_session, ignore_gates, context.log.info)
    by_day = [] if days else ["/".join(product.key) for product in chosen if product.partitions is not None]
    if by_day:
        raise dg.Failure(f"{', '.join(by_day)} are made by partitions: name a `first_day`.", allow_retries=False)
    troubles: dict[str, str] = {}
    failed: set[tuple[str, ...]] = set()
    for product in chosen:
        name = "/".join(product.key)
        waits = sorted("/".join(key) for key in product.upstream if key in failed)
        if waits:
            failed.add(product.key)
            troubles[name] = f"held back, waits for {', '.join(waits)}"
            continue
        for partition in product.partitions_between(days):
            attempt = engine.run(product, product.window(partition), asked)
            if attempt.trouble is not None:
                troubles[f"{name} {partition or 'full'}"] = attempt.trouble
                if attempt.report is None:
                    failed.add(product.key)
            elif attempt.report is not None:
                yield dg.AssetMaterialization(
                    product.asset_key,
                    partition=partition,
                    metadata=run_metadata(attempt.report, partitioned=partition is not None),
                    tags={"dagster/data_version": attempt.version},
                )
            target = events.latest(context.instance, product.asset_key, partition) if attempt.published else None
            yield from events.evaluations(product, attempt.outcomes, partition, target, holding=False)
    if troubles:
        told = "; ".join(f"{name}: {why}" for name, why in troubles.items())
        raise dg.Failure(f"{len(troubles)} windows were not published: {told}", allow_retries=False)


def _upkeep_table(reports: Sequence[MaintenanceReport]) -> str:
    lines = ["| table | files | MB | removed |", "|---|---|---|---:|"]
    for report in reports:
        for name, table in report.tables.items():
            files = f"{table.files_before} → {table.files_after}"
            size = f"{table.bytes_before / 1e6:.2f} → {table.bytes_after / 1e6:.2f}"
            lines.append(f"| {report.contract} {name} | {files} | {size} | {table.files_removed} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
