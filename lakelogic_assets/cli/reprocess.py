"""`lakelogic reprocess`: known bad or late days, rebuilt together with everything that is made from them."""

from __future__ import annotations

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption
from lakelogic_assets.cli.selecting import chosen
from lakelogic_assets.cli.settings import settings_of


def reprocess(
    ctx: typer.Context,
    first: options.First,
    select: options.Select = None,
    last: options.Last = None,
    everything: options.Everything = False,
    layer: options.Layer = None,
    dry_run: options.DryRun = False,
    parallel: options.Parallel = None,
    ignore_gates: options.IgnoreGates = False,
    retries: options.Retries = None,
    timeout: options.Timeout = None,
    approval_required: options.ApprovalRequired = False,
    approval_file: options.ApprovalFile = None,
    overrides: SetOption = None,
    packs: PackOption = None,
    pack_folder: PackFolderOption = None,
) -> None:
    """Rebuild days of some contracts and of everything made from them; other windows are not touched.

    Rows that the source no longer has give way, by the contract's `reprocess_policy`. When the rebuilt rows belong to
    other days of a table below, those days are found and rebuilt too, as after every run by days.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.contract.left_out import sort_contracts
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.campaigns import below
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(select, layer, everything=everything)
    request = request_for("reprocess", days_between(first, last), select=tuple(words))
    found = chosen(settings.project, words, overrides=overrides, packs=packs, pack_folder=pack_folder)
    workspace = Workspace(found.project)
    policy = options.policy_of(
        workspace, parallel=parallel, ignore_gates=ignore_gates, retries=retries, timeout=timeout,
        approval_required=approval_required, approval_file=approval_file,
    )  # fmt: skip
    rebuilt, sorted_out = below(found.registry, found.keys), sort_contracts(found.registry, found.project)
    sound = {contract.key for contract in sorted_out.sound}
    operation = Operation(
        found.registry,
        workspace,
        [key for key in rebuilt if key in sound],
        request,
        policy,
        said=found.said,
        as_json=settings.as_json,
        left_out=[each for each in sorted_out.left_out if each.key in rebuilt or not words],
    )
    raise typer.Exit(carry_out(operation, dry_run=dry_run))
