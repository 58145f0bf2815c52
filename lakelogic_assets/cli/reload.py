"""`lakelogic reload`: tables emptied and loaded anew in one go."""

from __future__ import annotations

from typing import Annotated

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.confirming import confirm
from lakelogic_assets.cli.printing import counted, say
from lakelogic_assets.cli.reset import empty, planned, print_plan
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of


def reload(
    ctx: typer.Context,
    select: options.Select = None,
    layer: options.Layer = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go and what would be run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    parallel: options.Parallel = None,
) -> None:
    """Reset tables and load everything that their sources hold.

    The way back is `lakelogic restore`. What is made from these tables is rebuilt only where it is selected too.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import PipelineRequest
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(select, layer)
    found = chosen(settings.project, words)
    workspace = Workspace(found.project)
    plans = [planned(key, found.keys, found.registry, workspace) for key in found.keys]
    if not settings.as_json:
        for plan in plans:
            print_plan(plan)
    if not dry_run:
        confirm(f"All rows of {counted(len(plans), 'table')} will be deleted and loaded anew.", yes=yes)
        empty(found.keys, found.registry, workspace, quiet=settings.as_json)
    # Nothing has succeeded since the reset, so everything is loaded.
    request = PipelineRequest(tuple(words), "last_success")
    policy = options.policy_of(workspace, parallel=parallel)
    operation = Operation.of(found, workspace, request, policy, as_json=settings.as_json)
    if dry_run and not settings.as_json:
        say("then everything that their sources hold is loaded")
        raise typer.Exit(name_left_out(found.left_out, found.project))
    raise typer.Exit(carry_out(operation, dry_run=dry_run))
