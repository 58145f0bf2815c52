"""What earlier runs have read of a place that windows are cut from.

Where folders cut a window, no column tells which rows are the window's: a row may say any day, whatever folder it came
in. Then the runs tell, by their names and files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.run_log import DATA_CAME, standing_reports
from lakelogic_assets.spark.sources.layout import DateLayout, span_of
from lakelogic_assets.spark.sources.selection import below
from lakelogic_assets.spark.sources.snapshot import FileStat, SourceSnapshot, files_of
from lakelogic_assets.spark.tables import fixed_prefix
from lakelogic_assets.spark.windows import is_cut_by_place

BATCH: Final = "batch:"
"""How the name of a window begins that is what was new at the time."""


@dataclass(frozen=True)
class FormerRuns:
    """The runs that stand in the table and share rows with one, by the names that their rows carry.

    The log is read when somebody asks.
    """

    run_log: str
    contract: Contract
    window: Window
    snapshot: SourceSnapshot
    takes_back: bool = False
    """Whether files of the window that are gone were taken back, and their rows with them."""

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files of the window: those that are there, and those that were taken back."""
        return frozenset(file.path for file in (*self.snapshot.files, *self._gone))

    @cached_property
    def has_read(self) -> bool:
        """Whether some run may have brought rows of the window."""
        named = Window.from_dict
        by_place = is_cut_by_place(self.contract)
        return any(self._touches(each) or (named(each["window"]).is_full and not by_place) for _, each in self._others)

    @cached_property
    def _gone(self) -> frozenset[FileStat]:
        """Files in the window's folders that runs have read and that are no longer there."""
        layout = self.contract.source.partition if self.contract.source else None
        if not self.takes_back or layout is None:
            return frozenset()
        folders, span = DateLayout(layout.format), span_of(self.window.local_start, self.window.local_end)
        here, root = {file.path for file in self.snapshot.files}, fixed_prefix(self.snapshot.description)
        read = {file for _, former in self._others for file in self._read_by(former)[1] or ()}
        gone = (file for file in read if file.path not in here)
        return frozenset(file for file in gone if folders.admits(below(file.path, root), span))

    @cached_property
    def within(self) -> tuple[str, ...]:
        """Those all of whose rows are the window's."""
        return tuple(dict.fromkeys(name for name, former in self._others if self._holds_all_of(former)))

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """Those with rows of the window and others."""
        touched = (name for name, former in self._others if self._touches(former) and not self._holds_all_of(former))
        return tuple(dict.fromkeys(touched))

    def _holds_all_of(self, former: dict[str, Any]) -> bool:
        window, files = self._read_by(former)
        if window.is_full:
            # Of a file, a window of a value means some rows alone.
            if self.window.values or not files:
                return False
            return files <= self._gone.union(self.snapshot.files)
        return not self.window.is_full and self.window.covers(window)

    def _touches(self, former: dict[str, Any]) -> bool:
        window, files = self._read_by(former)
        if not window.is_full:
            return window.overlaps(self.window)
        if files is None:
            return former["watermark"].get("max_mtime") is not None or not self.snapshot.files
        # A file that was replaced since is the same place, where rows are told by it.
        return not {file.path for file in files}.isdisjoint(self.paths)

    def _read_by(self, former: dict[str, Any]) -> tuple[Window, frozenset[FileStat] | None]:
        """What a run has read, which with `lookback` is more than its window."""
        window = read_window(self.contract, Window.from_dict(former["window"]))
        return window, files_of(former.get("watermark") or {})

    @cached_property
    def _others(self) -> list[tuple[str, dict[str, Any]]]:
        reports = standing_reports(self.run_log, "/".join(self.contract.key), DATA_CAME)
        named = ((_name_of(report), report) for report in reports)
        return [(name, report) for name, report in named if name != self.window.key]


def _name_of(report: dict[str, Any]) -> str:
    window = Window.from_dict(report["window"])
    return f"{BATCH}{(report.get('watermark') or {}).get('identity')}" if window.is_full else window.key
