"""`lakelogic late`: past windows that rows or files have come for since they were built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli import options
from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.selecting import Chosen, chosen, name_left_out, with_all_below
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.summary import print_table

if TYPE_CHECKING:
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.plan.request import RunPolicy
    from lakelogic_assets.spark.campaigns import Planner
    from lakelogic_assets.spark.late import LateReport, LateWindow
    from lakelogic_assets.spark.late_tables import Arrived

_COLUMNS = ("asset", "window", "rows", "files", "gone", "arrived with", "built at")


def late(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts; without them, all with partitions.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--run", help="Rebuild exactly these windows, and what is made from them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --run: only say what would be run, in order.")
    ] = False,
    parallel: options.Parallel = None,
    ignore_gates: options.IgnoreGates = False,
) -> None:
    """Say which past windows have to be built again because of what arrived since; without --run, nothing is run.

    Rows are told apart by the contract's own column of time, so that a line of Monday that is delivered on Thursday
    names Monday. Windows that were never built are listed apart.
    """
    from lakelogic_assets.spark.campaigns import Planner
    from lakelogic_assets.spark.reprocessing import late_of
    from lakelogic_assets.spark.workspace import Workspace

    settings = settings_of(ctx)
    meant = chosen(settings.project, select or ())
    planner = Planner(meant.registry, Workspace(meant.project))
    found = (late_of(planner, meant.registry.contracts[key]) for key in meant.keys)
    reports = [report for report in found if report is not None]
    is_rebuilt = rebuild and any(report.late for report in reports)
    if not settings.as_json:
        _print(reports, with_hints=not rebuild)
    elif not is_rebuilt:
        say_json([report.as_dict() for report in reports])
    if not is_rebuilt:
        raise typer.Exit(name_left_out(meant.left_out, meant.project, as_json=settings.as_json))
    from lakelogic_assets.cli.operating import carry_out

    policy = options.policy_of(planner.workspace, parallel=parallel, ignore_gates=ignore_gates)
    operation = _rebuilding(reports, meant, planner, policy, as_json=settings.as_json)
    raise typer.Exit(carry_out(operation, dry_run=dry_run))


def _rebuilding(
    reports: Sequence[LateReport], meant: Chosen, planner: Planner, policy: RunPolicy, *, as_json: bool
) -> Operation:
    """The found windows as the tasks of a rebuild; the log keeps which they were."""
    from lakelogic_assets.cli.operating import Operation
    from lakelogic_assets.plan.request import PipelineRequest
    from lakelogic_assets.spark.reprocessing import tasks_of_late

    late = {report.contract: [each.window for each in report.late] for report in reports if report.late}
    rebuilt = with_all_below(meant, late)
    # The log keeps which they were: its words are those of a rebuild, but there is more than one span of days.
    windows = [f"{'/'.join(key)} {window.key}" for key, found in late.items() for window in found]
    rebuilt = replace(rebuilt, said=rebuilt.said | {"late": windows})
    request = PipelineRequest(tuple("/".join(key) for key in rebuilt.keys), "reprocess")
    operation = Operation.of(rebuilt, planner.workspace, request, policy, as_json=as_json)
    return replace(operation, tasks=tasks_of_late(planner, late, rebuilt.keys))


def _print(reports: Sequence[LateReport], *, with_hints: bool) -> None:
    found = [(report, window) for report in reports for window in report.late]
    if found:
        print_table(_COLUMNS, [_row(report, window) for report, window in found])
    for report in reports:
        name = "/".join(report.contract)
        if report.missing:
            keys = [window.key for window in report.missing]
            say(f"{name}: never built: {', '.join(keys[:10])}{' …' if len(keys) > 10 else ''}")
        for note in report.notes:
            say(f"{name}: {note}")
        for hint in _hints(name, report) if with_hints and report.late else ():
            say(f"rebuild with: lakelogic {hint}")
    say(f"{counted(len(found), 'window')} late in {counted(len(reports), 'contract')} with partitions")


def _row(report: LateReport, late: LateWindow) -> tuple[str, ...]:
    shown = [_arrival(each) for each in late.arrived]
    arrived = f"{shown[-1]}{f' and {len(shown) - 1} more' if len(shown) > 1 else ''}" if shown else ""
    numbers = ("-" if late.rows is None else f"{late.rows:,}", str(late.files or "-"), str(late.gone or "-"))
    return ("/".join(report.contract), late.window.key, *numbers, arrived, late.built_at[:19])


def _arrival(arrived: Arrived) -> str:
    if arrived.file:
        return arrived.file.rsplit("/", 1)[-1]
    when = (arrived.at or "")[:19]
    who = arrived.run_id[:8] if arrived.run_id else f"version {arrived.version}"
    return f"{who} {when}".strip()


def _hints(name: str, report: LateReport) -> list[str]:
    """A command for each span of days that follow each other; windows without days are only rebuilt by name."""
    from lakelogic_assets.plan.calendar import days_of, spans

    days = [days_of(each.window) for each in report.late]
    found = spans(each for each in days if each is not None)
    by_days = [f"reprocess {name} --from {first} --to {last}" for first, last in found]
    return by_days if None not in days else [f"late {name} --run"]
