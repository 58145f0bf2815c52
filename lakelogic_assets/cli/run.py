"""`lakelogic run`: contracts on Spark, in graph order, with a summary of where every row went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.printing import counted, say
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import RequestError

if TYPE_CHECKING:
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.plan.calendar import Days
    from lakelogic_assets.spark.frames import SparkSession
    from lakelogic_assets.spark.workspace import Workspace


EXAMPLE_DAYS = (date(2026, 2, 1), date(2026, 2, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall(options.HowToRun):
    """The options as they were given."""

    select: options.Select = None
    everything: options.Everything = False
    layer: options.Layer = None
    day: Annotated[str | None, typer.Option(metavar="DATE", help="Only the window of this day.")] = None
    window: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="full (the default), last_success, or range with --from and --to."),
    ] = None
    first: Annotated[str | None, typer.Option("--from", metavar="DATE", help="The first day of a range.")] = None
    last: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Its last day, included.")] = None
    example_data: Annotated[
        bool,
        typer.Option(
            "--example-data", help="First make landing files of the days asked for, else of 2026-02-01 to 2026-02-03."
        ),
    ] = False


@options.from_fields(RunCall)
def run(ctx: typer.Context, call: RunCall) -> None:
    """Run contracts: read, check, quarantine, publish, log.

    Contracts run in the order of their graph. What lies below a failed or blocked contract is held back, and the exit
    code is 1. A contract with errors, or a domain whose registry has some, is left out and named at the end: the exit
    code is 1 then, too.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.session import open_session
    from lakelogic_assets.spark.workspace import Workspace

    if call.day and (call.first or call.last):
        raise RequestError(f"--day {call.day} is a day by itself; leave it out, or --from and --to.")
    settings = settings_of(ctx)
    words = options.words_of(call.select, call.layer, everything=call.everything)
    days = days_between(call.day or call.first, call.last)
    request = request_for(call.window or ("range" if days else "full"), days, select=tuple(words))
    found = call.chosen(settings.project, words)
    workspace = Workspace(found.project)
    policy = call.policy(workspace)
    if call.example_data and not call.dry_run:
        spark = open_session(workspace.spark_conf)
        make_data(found.registry, workspace, spark, days or EXAMPLE_DAYS, quiet=settings.as_json)
    operation = Operation.of(found, workspace, request, policy, as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=call.dry_run))


def make_data(registry: Registry, workspace: Workspace, spark: SparkSession, days: Days, *, quiet: bool) -> None:
    """Landing files made from the contracts for each day, and a line that says so."""
    from lakelogic_assets.authoring.landing import make_landing_data
    from lakelogic_assets.cli.generate import name_kept

    first, last = days
    every = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    report = make_landing_data(registry, workspace.project, storage_root=workspace.root, days=every, spark=spark)
    if not quiet:
        files = counted(len(report.files) - len(report.kept), "landing file")
        say(f"made {report.rows:,} rows in {files}, {report.broken:,} of them broken on purpose")
        name_kept(report)
