"""How far each window of a contract has come, by the run log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.run_log import read_runs, reports, standing, standing_reports

WENT_WELL = ("success", "no_new_data", "unchanged")
"""How a run ends whose window needs no other one."""
_SAY_NOTHING = ("skipped",)
_TELLING = ("status", "window", "ended_at", "versions_written", "versions_read")
"""The parts of a report that are kept of all runs at once; the files of all of them are a lot."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """The newest attempt at a window, and when one last succeeded."""

    window: Window
    status: str
    succeeded: datetime | None = None


def is_logged(run_log: str) -> bool:
    return is_table(run_log)


@dataclass(frozen=True, slots=True)
class History:
    """What the log tells of a contract's windows."""

    states: Mapping[str, WindowState]
    """Those that were tried since the table was last emptied, by key."""
    begun: datetime | None = None
    """Where the first window begins that ever succeeded, also where a reset has emptied the table since."""


def history(run_log: str, contract: str) -> History:
    told = [{name: report.get(name) or {} for name in _TELLING} for report in reports(run_log, contract)]
    windows = (Window.from_dict(report["window"]) for report in told if report["status"] in WENT_WELL)
    begun = min((window.start for window in windows if window.start), default=None)
    return History(_states(standing(told)), begun)


def window_states(run_log: str, contract: str) -> Mapping[str, WindowState]:
    """The contract's windows that were tried since the table was last emptied, by key."""
    return _states(standing_reports(run_log, contract))


def _states(newest_first: Iterable[dict[str, Any]]) -> dict[str, WindowState]:
    found: dict[str, WindowState] = {}
    for report in reversed([*newest_first]):
        if report["status"] in _SAY_NOTHING:
            continue
        window = Window.from_dict(report["window"])
        before = found.get(window.key)
        ended = datetime.fromisoformat(report["ended_at"])
        succeeded = ended if report["status"] in WENT_WELL else before.succeeded if before else None
        found[window.key] = WindowState(window, report["status"], succeeded)
    return found


def went_well_at(run_log: str, contract: str) -> datetime | None:
    """When a table was last as new as its source, also where nothing had come; one that was emptied since never was."""
    newest = next(standing_reports(run_log, contract, WENT_WELL), None)
    return datetime.fromisoformat(newest["ended_at"]) if newest else None


def succeeded_in(run_log: str, contract: str, pipeline_run_id: str) -> set[Window]:
    """The windows whose newest attempt in one pipeline run succeeded."""
    newest: dict[Window, str] = {}
    for row in read_runs(run_log, contract=contract, with_reports=True):
        if row["pipeline_run_id"] == pipeline_run_id and row["report"]:
            newest.setdefault(Window.from_dict(row["report"]["window"]), row["status"])
    return {window for window, status in newest.items() if status in WENT_WELL}
