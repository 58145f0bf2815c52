"""How far each window of a contract has come, by the run log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.delta_log import is_table
from lakelogic_assets.spark.run_log import read_runs, standing_reports

WENT_WELL = ("success", "no_new_data", "unchanged")
"""How a run ends whose window needs no other one."""
_SAY_NOTHING = ("skipped",)


@dataclass(frozen=True, slots=True)
class WindowState:
    """The newest attempt at a window, and when one last succeeded."""

    window: Window
    status: str
    succeeded: datetime | None = None


def is_logged(run_log: str) -> bool:
    return is_table(run_log)


def window_states(run_log: str, contract: str) -> dict[str, WindowState]:
    """The contract's windows that were ever tried, by key."""
    found: dict[str, WindowState] = {}
    for report in reversed([*standing_reports(run_log, contract)]):
        if report["status"] in _SAY_NOTHING:
            continue
        window = Window.from_dict(report["window"])
        before = found.get(window.key)
        ended = datetime.fromisoformat(report["ended_at"])
        succeeded = ended if report["status"] in WENT_WELL else before.succeeded if before else None
        found[window.key] = WindowState(window, report["status"], succeeded)
    return found


def succeeded_in(run_log: str, contract: str, pipeline_run_id: str) -> set[Window]:
    """The windows whose newest attempt in one pipeline run succeeded."""
    newest: dict[Window, str] = {}
    for row in read_runs(run_log, contract=contract, with_reports=True):
        if row["pipeline_run_id"] == pipeline_run_id and row["report"]:
            newest.setdefault(Window.from_dict(row["report"]["window"]), row["status"])
    return {window for window, status in newest.items() if status in WENT_WELL}
