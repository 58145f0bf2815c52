"""`lakelogic backfill`: days of the past, window by window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.settings import settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillCall(options.HowToRun):
    """The options as they were given."""

    first: options.First
    select: options.Select = None
    last: options.Last = None
    everything: options.Everything = False
    layer: options.Layer = None
    by: Annotated[
        Literal["day", "week", "month"], typer.Option(help="How contracts without partitions of their own are cut.")
    ] = "day"
    reverse: Annotated[bool, typer.Option("--reverse", help="The newest window first.")] = False


@options.from_fields(BackfillCall)
def backfill(ctx: typer.Context, call: BackfillCall) -> None:
    """Load days of the past, each window through all layers; the windows of one table one after another.

    A contract by partitions keeps to its partitions, so that Dagster's backfill of the same days gives the same tables.
    What is made as a whole is made once, after all windows it is made from. `lakelogic resume` goes on where it ended.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(call.select, call.layer, everything=call.everything)
    direction: Literal["forward", "reverse"] = "reverse" if call.reverse else "forward"
    days = days_between(call.first, call.last)
    request = request_for("backfill", days, select=tuple(words), by=call.by, direction=direction)
    found = call.chosen(settings.project, words)
    workspace = Workspace(found.project)
    operation = Operation.of(found, workspace, request, call.policy(workspace), as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=call.dry_run))
