"""Which files all runs of a contract have read, summed up beside its log, so that few reports need be asked.

The log alone always suffices: a note that is not there, is spoilt, or does not fit the log is not believed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic_assets.spark.holds import write_note
from lakelogic_assets.spark.run_log import Mark


@dataclass(frozen=True, slots=True)
class Note:
    """What runs up to a place in a log have read, as if one run had read it all."""

    of: tuple[str | None, ...]
    """Whose runs they are, and in which log."""
    mark: Mark
    state: Mapping[str, Any]

    def keep(self, path: Path) -> None:
        """A disk that does not take it costs the next run time, and this one nothing."""
        said = {"of": self.of, "run_id": self.mark.run_id, "rows": self.mark.rows, "state": self.state}
        with contextlib.suppress(OSError):
            write_note(path, said)


def noted(path: Path, of: tuple[str | None, ...]) -> Note | None:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        state = {**said["state"], "max_mtime": float(said["state"]["max_mtime"])}
        note = Note(tuple(said["of"]), Mark(str(said["run_id"]), int(said["rows"])), state)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if note.of == of else None


def summed_up(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How far several runs have come together; without their files where one of them did not name its own."""
    newest = max(states, key=lambda state: float(state["max_mtime"]))
    told = {name: newest[name] for name in ("max_mtime", "files_at_max") if name in newest}
    if any(state.get("files") is None for state in states):
        return told
    return told | {"files": sorted({(path, size, mtime) for state in states for path, size, mtime in state["files"]})}
