"""`lakelogic reset`: empty tables so that they are loaded anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.confirming import confirm
from lakelogic_assets.cli.printing import complain, counted, say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.spark.reset import ResetPlan, ResetReport
    from lakelogic_assets.spark.workspace import Workspace


def reset(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts: a name, layer:silver, name+, a glob.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="Only the contracts of this layer.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete all rows of tables and their quarantine, and let the next run start from nothing.

    Tables keep their history: `lakelogic restore` brings the rows back until VACUUM removes their files.
    """
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = [*(select or ()), *([f"layer:{layer}"] if layer else [])]
    if not words:
        complain("Say what to reset: a contract or --layer NAME.")
        raise typer.Exit(2)
    found = chosen(settings.project, words)
    workspace, registry, keys = Workspace(found.project), found.registry, found.keys
    plans = [planned(key, keys, registry, workspace) for key in keys]
    if not settings.as_json:
        for plan in plans:
            print_plan(plan)
    if dry_run:
        if settings.as_json:
            say_json([plan.as_dict() for plan in plans])
        raise typer.Exit(name_left_out(found.left_out, found.project, as_json=settings.as_json))
    confirm(f"All rows of {counted(len(plans), 'table')} will be deleted.", yes=yes)
    reports = empty(keys, registry, workspace, quiet=settings.as_json)
    if settings.as_json:
        say_json([report.as_dict() for report in reports])
    raise typer.Exit(name_left_out(found.left_out, found.project, as_json=settings.as_json))


def planned(key: Key, keys: list[Key], registry: Registry, workspace: Workspace) -> ResetPlan:
    from lakelogic_assets.spark.reset import plan_reset, refuse_unfit

    contract = registry.contracts[key]
    destination = workspace.destination(contract)
    refuse_unfit(contract, destination)
    return plan_reset(contract, workspace.lakehouse(contract), destination, _stale(key, keys, registry))


def _stale(key: Key, keys: list[Key], registry: Registry) -> list[str]:
    """Who keeps what was made of these rows; those that are reset as well do not."""
    below = registry.graph.around([key], down=True) - set(keys)
    return sorted("/".join(each) for each in below)


def empty(keys: list[Key], registry: Registry, workspace: Workspace, *, quiet: bool) -> list[ResetReport]:
    """Reset the tables, and say so unless somebody else does."""
    from lakelogic_assets.spark.reset import reset_contract
    from lakelogic_assets.spark.session import open_session

    spark = open_session(workspace.spark_conf)
    reports = []
    # From the bottom of the graph up: a run that starts meanwhile finds no half of it.
    for key in reversed(keys):
        contract = registry.contracts[key]
        report = reset_contract(
            contract, spark, workspace.lakehouse(contract), workspace.destination(contract),
            environment=workspace.project.environment, downstream=_stale(key, keys, registry),
        )  # fmt: skip
        reports.append(report)
        if not quiet:
            say(f"  ✓ {report.plan.contract}: {'nothing to reset' if report.run is None else 'emptied'}")
    if not quiet:
        say("back with: lakelogic restore SELECT")
    return reports


def print_plan(plan: ResetPlan) -> None:
    rows = "rows of an unknown number" if plan.rows is None else counted(plan.rows, "row")
    say(f"{plan.contract}: {rows} in {counted(plan.files, 'file')}, {plan.bytes:,} bytes, version {plan.version}")
    if plan.quarantined:
        say(f"  quarantine {counted(plan.quarantined, 'row')} in {plan.quarantine}")
    for hold in plan.holds:
        say(f"  hold       {hold}")
    if plan.watermark:
        told = {name: value for name, value in plan.watermark.items() if value is not None and "files" not in name}
        say(f"  watermark  {', '.join(f'{name} {value}' for name, value in told.items())}")
    if plan.manifest_files:
        say(f"  manifest   {counted(plan.manifest_files, 'file')} in {plan.manifest}, copied beside it")
    if plan.downstream:
        say(f"  stale      {', '.join(plan.downstream)}")
    for warning in plan.warnings:
        say(f"  warning    {warning}")
