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
from lakelogic_assets.spark.run_log import DATA_CAME, standing_reports
from lakelogic_assets.spark.sources.snapshot import SourceSnapshot, files_of

BATCH: Final = "batch:"
"""How the name of a window begins that is what was new at the time."""


@dataclass(frozen=True)
class FormerRuns:
    """The runs that stand in the table and share rows with a window, by the names that their rows carry.

    The log is read when somebody asks.
    """

    run_log: str
    contract: Contract
    window: Window
    snapshot: SourceSnapshot

    @cached_property
    def within(self) -> tuple[str, ...]:
        """Those all of whose rows are the window's."""
        return tuple(dict.fromkeys(name for other, name, _ in self._others if self._holds_all_of(other)))

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """Those with rows of the window and others."""
        read = {file.path for file in self.snapshot.files}
        return tuple(dict.fromkeys(name for other, name, report in self._others if self._touches(other, report, read)))

    def _touches(self, other: Window, report: dict[str, Any], read: set[str]) -> bool:
        if other.is_full:
            return _shares(report.get("watermark") or {}, read)
        return other.overlaps(self.window) and not self._holds_all_of(other)

    def _holds_all_of(self, other: Window) -> bool:
        return not other.is_full and self.window.covers(other)

    @cached_property
    def _others(self) -> tuple[tuple[Window, str, dict[str, Any]], ...]:
        if self.window.is_full:
            return ()
        found = []
        for report in standing_reports(self.run_log, "/".join(self.contract.key), DATA_CAME):
            window = Window.from_dict(report["window"])
            name = f"{BATCH}{(report.get('watermark') or {}).get('identity')}" if window.is_full else window.key
            if name != self.window.key:
                found.append((window, name, report))
        return tuple(found)


def _shares(watermark: dict[str, Any], read: set[str]) -> bool:
    """Whether a run without a window has read some of the files, as far as it names its own."""
    files = files_of(watermark)
    if files is None:
        return watermark.get("max_mtime") is not None or not read
    return any(file.path in read for file in files)
