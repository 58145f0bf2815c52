"""`lakelogic backfill`: days of the past, window by window."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption
from lakelogic_assets.cli.selecting import chosen
from lakelogic_assets.cli.settings import settings_of


def backfill(
    ctx: typer.Context,
    first: options.First,
    select: options.Select = None,
    last: options.Last = None,
    everything: options.Everything = False,
    layer: options.Layer = None,
    by: Annotated[
        Literal["day", "week", "month"], typer.Option(help="How contracts without partitions of their own are cut.")
    ] = "day",
    reverse: Annotated[bool, typer.Option("--reverse", help="The newest window first.")] = False,
    dry_run: options.DryRun = False,
    parallel: options.Parallel = None,
    ignore_gates: options.IgnoreGates = False,
    retries: options.Retries = None,
    timeout: options.Timeout = None,
    approval_required: options.ApprovalRequired = False,
    approval_file: options.ApprovalFile = None,
    max_consecutive_failures: options.MaxFailures = None,
    overrides: SetOption = None,
    packs: PackOption = None,
    pack_folder: PackFolderOption = None,
) -> None:
    """Load days of the past, each window through all layers; the windows of one table one after another.

    A contract by partitions keeps to its partitions, so that Dagster's backfill of the same days gives the same tables.
    What is made as a whole is made once, after all windows it is made from. `lakelogic resume` goes on where it ended.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(select, layer, everything=everything)
    direction: Literal["forward", "reverse"] = "reverse" if reverse else "forward"
    request = request_for("backfill", days_between(first, last), select=tuple(words), by=by, direction=direction)
    found = chosen(settings.project, words, overrides=overrides, packs=packs, pack_folder=pack_folder)
    workspace = Workspace(found.project)
    policy = options.policy_of(
        workspace, parallel=parallel, ignore_gates=ignore_gates, retries=retries, timeout=timeout,
        max_consecutive_failures=max_consecutive_failures, approval_required=approval_required,
        approval_file=approval_file,
    )  # fmt: skip
    operation = Operation.of(found, workspace, request, policy, as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=dry_run))
