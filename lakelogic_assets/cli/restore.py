"""`lakelogic restore`: tables as they were before a reset, at a version, or at a moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.confirming import confirm
from lakelogic_assets.cli.printing import complain, counted, say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.spark.restore import RestorePlan


def restore(
    ctx: typer.Context,
    select: Annotated[list[str] | None, typer.Argument(metavar="SELECT...", help="Contracts to restore.")] = None,
    version: Annotated[int | None, typer.Option(min=0, help="The version of the table to go back to.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TIMESTAMP", help="The moment to go back to; UTC unless it says.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be undone; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Bring tables and quarantine back to what they were; without a version or a moment, before the last reset.

    Runs that are undone no longer count for where the next run starts, those before them count again. The history is
    kept, so a restore can be undone by another one.
    """
    from lakelogic_assets.spark.restore import plan_restore, restore_contract
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    if not select or (version is not None and to is not None):
        complain("Say what to restore." if not select else "Say --version or --to, not both.")
        raise typer.Exit(2)
    moment = _moment(to) if to else None
    found = chosen(settings.project, select)
    workspace = Workspace(found.project)
    contracts = [found.registry.contracts[key] for key in found.keys]
    plans = [plan_restore(each, workspace.destination(each), version=version, to=moment) for each in contracts]
    if settings.as_json and dry_run:
        say_json([plan.as_dict() for plan in plans])
    elif not settings.as_json:
        for plan in plans:
            _print(plan)
    if dry_run:
        raise typer.Exit(name_left_out(found.left_out, found.project, as_json=settings.as_json))
    confirm(f"{counted(len(plans), 'table')} will go back.", yes=yes)
    from lakelogic_assets.spark.session import open_session

    spark = open_session(workspace.spark_conf)
    reports = []
    for contract in contracts:
        _, report = restore_contract(
            contract, spark, workspace.lakehouse(contract), workspace.destination(contract),
            version=version, to=moment, environment=found.project.environment,
        )  # fmt: skip
        reports.append(report)
        if not settings.as_json:
            say(f"  ✓ {report.contract}: {report.reasons[0]}")
            for warning in report.warnings:
                say(f"    {warning}")
    if settings.as_json:
        say_json([report.as_dict() for report in reports])
    raise typer.Exit(name_left_out(found.left_out, found.project, as_json=settings.as_json))


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        complain(f"{text!r} is not a moment; write 2026-02-03T12:00:00.")
        raise typer.Exit(2) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _print(plan: RestorePlan) -> None:
    say(f"{plan.contract}: from version {plan.version_now} back to version {plan.version}")
    for each in plan.undone:
        say(f"  undoes {each}")
    if plan.holds:
        say(f"  holds  {counted(len(plan.holds), 'window')} again")
