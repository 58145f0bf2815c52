"""The job that makes landing files from contracts, for projects and days that have none."""

# Dagster reads the types of `config` parameters when a function is decorated, so they cannot be texts here.

import dagster as dg
from pydantic import Field

from lakelogic_assets.authoring.landing import LandingPlan, Request, requested_days
from lakelogic_assets.authoring.landing_report import LandingReport
from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.orchestration.engine import Engine


class Generate(dg.Config):
    """What `generate_data` takes, in the words of the command line."""

    select: list[str] = Field(
        default=[], description="Contracts by table, glob, `domain:retail` or `system:crm`. Empty: all that read files."
    )
    rows: int = Field(default=200, ge=1, description="Rows of a contract and day.")
    days: int = Field(default=3, ge=1, description="How many days, the last of them yesterday or `last_day`.")
    first_day: str | None = Field(default=None, description="First day, such as 2026-02-01.")
    last_day: str | None = Field(default=None, description="Last day, included.")
    seed: int = Field(default=42, description="The same seed gives the same bytes.")
    invalid: float = Field(default=0.0, ge=0, lt=1, description="Share of broken rows, such as 0.02.")
    edge_cases: bool = Field(default=False, description="Add empty, extreme, hostile and doubled rows.")
    locale: str = Field(default="en_US", description="Names and addresses of this place, such as de_DE.")
    overwrite: bool = Field(default=False, description="Replace files that are there and were not made here.")


def generate_data_job(engine: Engine) -> dg.JobDefinition:
    """Landing files where the contracts' sources look for them; sensors and schedules find them there."""

    @dg.op(name="make_files", required_resource_keys={"spark"})
    def make_files(context: dg.OpExecutionContext, config: Generate) -> None:
        try:
            report = _landed(engine, config, context)
        except LakeLogicError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        context.add_output_metadata(
            {
                "rows": report.rows,
                "files": len(report.files),
                "broken": report.broken,
                "kept": [str(path) for path in report.kept],
                "contracts": dg.MetadataValue.md(_table(report)),
            }
        )

    @dg.job(
        description="Make landing files from contracts: rows that pass their rules and, if asked for, some that do not."
    )
    def generate_data() -> None:
        make_files()

    return generate_data


def _landed(engine: Engine, config: Generate, context: dg.OpExecutionContext) -> LandingReport:
    registry, workspace = engine.registry, engine.workspace
    only = frozenset(registry.select(config.select)) if config.select else None
    days = requested_days(config.first_day, config.last_day, config.days)
    request = Request(
        days, config.rows, config.seed, config.invalid, thorough=True, edge_cases=config.edge_cases,
        locale=config.locale, only=only, overwrite=config.overwrite,
    )  # fmt: skip
    plan = LandingPlan(registry, workspace.project, workspace.root, request)
    return plan.land(context.resources.spark.spark_session)


def _table(report: LandingReport) -> str:
    lines = ["| asset | rows | files | broken | rules broken on purpose |", "|---|---:|---:|---:|---|"]
    for key in dict.fromkeys(file.contract for file in report.files):
        files = [file for file in report.files if file.contract == key]
        rules = ", ".join(f"{rule} ({number})" for rule, number in report.broken_rules(key).items())
        rows, broken = sum(file.rows for file in files), sum(file.broken for file in files)
        lines.append(f"| {'/'.join(key)} | {rows:,} | {len(files)} | {broken:,} | {rules.replace('|', '/')} |")
    return "\n".join(lines)
