"""`lakelogic late`: past windows that rows or files have come for since they were built."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic_assets.cli.printing import counted, say, say_json
from lakelogic_assets.cli.selecting import chosen, name_left_out
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.cli.summary import print_table

if TYPE_CHECKING:
    from lakelogic_assets.plan.window import Window
    from lakelogic_assets.spark.late import LateReport, LateWindow
    from lakelogic_assets.spark.late_tables import Arrived

_COLUMNS = ("asset", "window", "rows", "files", "gone", "arrived with", "built at")


def late(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None, typer.Argument(metavar="[SELECT]...", help="Contracts; without them, all with partitions.")
    ] = None,
) -> None:
    """Say which past windows have to be built again because of what arrived since; nothing is run.

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
    if settings.as_json:
        say_json([report.as_dict() for report in reports])
    else:
        _print(reports)
    raise typer.Exit(name_left_out(meant.left_out, meant.project, as_json=settings.as_json))


def _print(reports: Sequence[LateReport]) -> None:
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
        if report.late:
            first, last = _days([each.window for each in report.late])
            say(f"rebuild with: lakelogic reprocess {name} --from {first} --to {last}")
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


def _days(windows: Sequence[Window]) -> tuple[str, str]:
    """The first and the last day of some windows in their zone, both included."""
    starts = [each.local_start for each in windows if each.local_start]
    ends = [each.local_end - timedelta(microseconds=1) for each in windows if each.local_end]
    none = datetime.now(UTC)
    return min(starts, default=none).date().isoformat(), max(ends, default=none).date().isoformat()
