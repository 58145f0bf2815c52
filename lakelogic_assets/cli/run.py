"""`lakelogic run`: contracts on Spark, in graph order, with a summary of where every row went."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption
from lakelogic_assets.cli.printing import counted, say
from lakelogic_assets.cli.selecting import chosen
from lakelogic_assets.cli.settings import settings_of

if TYPE_CHECKING:
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.spark.frames import SparkSession
    from lakelogic_assets.spark.workspace import Workspace


EXAMPLE_DAYS = tuple(date(2026, 2, day) for day in (1, 2, 3))


def run(
    ctx: typer.Context,
    select: options.Select = None,
    everything: options.Everything = False,
    layer: options.Layer = None,
    day: Annotated[str | None, typer.Option(metavar="DATE", help="Only the window of this day.")] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="full (the default), last_success, or range with --from and --to."),
    ] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="DATE", help="The first day of a range.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Its last day, included.")] = None,
    dry_run: options.DryRun = False,
    parallel: options.Parallel = None,
    ignore_gates: options.IgnoreGates = False,
    retries: options.Retries = None,
    timeout: options.Timeout = None,
    max_consecutive_failures: options.MaxFailures = None,
    approval_required: options.ApprovalRequired = False,
    approval_file: options.ApprovalFile = None,
    overrides: SetOption = None,
    packs: PackOption = None,
    pack_folder: PackFolderOption = None,
    example_data: Annotated[
        bool, typer.Option("--example-data", help="First make landing files from the contracts.")
    ] = False,
) -> None:
    """Run contracts: read, check, quarantine, publish, log.

    Contracts run in the order of their graph. What lies below a failed or blocked contract is held back, and the exit
    code is 1. A contract with errors, or a domain whose registry has some, is left out and named at the end: the exit
    code is 1 then, too.
    """
    from lakelogic_assets.cli.operating import Operation, carry_out
    from lakelogic_assets.plan.request import days_between, request_for
    from lakelogic_assets.spark.session import open_session
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    words = options.words_of(select, layer, everything=everything)
    days = days_between(day or first, last)
    request = request_for(window or ("range" if days else "full"), days, select=tuple(words))
    found = chosen(settings.project, words, overrides=overrides, packs=packs, pack_folder=pack_folder)
    workspace = Workspace(found.project)
    policy = options.policy_of(
        workspace, parallel=parallel, ignore_gates=ignore_gates, retries=retries, timeout=timeout,
        max_consecutive_failures=max_consecutive_failures, approval_required=approval_required,
        approval_file=approval_file,
    )  # fmt: skip
    if example_data and not dry_run:
        spark = open_session(workspace.spark_conf)
        make_data(found.registry, workspace, spark, EXAMPLE_DAYS, quiet=settings.as_json)
    operation = Operation.of(found, workspace, request, policy, as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=dry_run))


def make_data(
    registry: Registry, workspace: Workspace, spark: SparkSession, days: Sequence[date], *, quiet: bool
) -> None:
    """Landing files made from the contracts, and a line that says so."""
    from lakelogic_assets.authoring.landing import make_landing_data

    report = make_landing_data(registry, workspace.project, storage_root=workspace.root, days=days, spark=spark)
    if not quiet:
        files = counted(len(report.files), "landing file")
        say(f"made {report.rows:,} rows in {files}, {report.broken:,} of them broken on purpose")
