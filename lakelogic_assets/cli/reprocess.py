"""`lakelogic reprocess`: known bad or late days, rebuilt together with everything that is made from them."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.selecting import with_all_below
from lakelogic_assets.cli.settings import settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReprocessCall(options.HowToRun):
    """The options as they were given."""

    first: options.First
    select: options.Select = None
    last: options.Last = None
    everything: options.Everything = False
    layer: options.Layer = None


@options.from_fields(ReprocessCall)
def reprocess(ctx: typer.Context, call: ReprocessCall) -> None:
    """Rebuild days of some contracts and of everything made from them; other windows are not touched.

    Rows that the source no longer has give way, by the contract's `reprocess_policy`. When the rebuilt rows belong to
    other days of a table below, those days are found and rebuilt too, as after every run by days.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(call.select, call.layer, everything=call.everything)
    request = request_for("reprocess", days_between(call.first, call.last), select=tuple(words))
    found = call.chosen(settings.project, words)
    workspace = Workspace(found.project)
    rebuilt = with_all_below(found, found.keys)
    operation = Operation.of(rebuilt, workspace, request, call.policy(workspace), as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=call.dry_run))
