"""Jobs that people start from the UI: what operators run, checks alone, upkeep, and what is in quarantine."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

from collections.abc import Sequence

import dagster as dg
from pydantic import Field

from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration import events
from lakelogic_assets.orchestration.engine import Asked, Engine
from lakelogic_assets.orchestration.generate import generate_data_job
from lakelogic_assets.orchestration.operating import operator_jobs
from lakelogic_assets.orchestration.product import Product
from lakelogic_assets.orchestration.resetting import reset_jobs
from lakelogic_assets.orchestration.selecting import DaysOfSelection, Selection, chosen_days, chosen_products
from lakelogic_assets.spark.maintenance import MaintenanceReport, maintain
from lakelogic_assets.spark.quarantined import quarantined


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
        *operator_jobs(products, engine),
        *reset_jobs(products, engine),
        _check_contracts(products, engine),
        _maintenance(products, engine),
        _quarantine_report(products, engine),
        generate_data_job(engine),
    ]


def _check_contracts(products: Sequence[Product], engine: Engine) -> dg.JobDefinition:
    """Dagster's UI runs the checks of a partitioned asset only together with the asset."""

    @dg.op(name="judge", required_resource_keys={"spark"}, out=dg.Out(dg.Nothing, is_required=False))
    def judge(context: dg.OpExecutionContext, config: DaysOfSelection):  # type: ignore[no-untyped-def]
        asked = Asked(context.run_id, lambda: context.resources.spark.spark_session, say=context.log.info)
        troubles: list[str] = []
        for product in chosen_products(products, engine, config.select):
            for partition in product.partitions_between(chosen_days(config.first_day, config.last_day)):
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
        for product in chosen_products(products, engine, config.select):
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
        for product in chosen_products(products, engine, config.select):
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
