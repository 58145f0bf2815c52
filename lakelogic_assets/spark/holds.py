"""Windows that a gate held back, noted until they succeed, so that nothing downstream goes on without them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic_assets.plan.window import Window

Key = tuple[str, ...]


@dataclass(frozen=True)
class Hold:
    """A window of a contract that was evaluated and not published."""

    key: Key
    window: Window
    reasons: tuple[str, ...]
    run_id: str
    at: str
    asks: Mapping[str, Any] | None = None
    """What a person may sign so that it goes on, where that is what it waits for."""
    pipeline_run_id: str | None = None
    """The call that the run belonged to: that of the command line, or the run of Dagster."""

    def is_of(self, run_id: str) -> bool:
        """Whether a run is the one that asked, or the call it belonged to; the beginning of an id is enough."""
        return any(each.startswith(run_id) for each in (self.run_id, self.pipeline_run_id or "")) and bool(run_id)

    def as_dict(self) -> dict[str, Any]:
        """All but whose it is, as files and the run log keep it."""
        said = {"window": self.window.as_dict(), "reasons": list(self.reasons), "run_id": self.run_id, "at": self.at}
        more = {"asks": self.asks, "pipeline_run_id": self.pipeline_run_id}
        return said | {name: value for name, value in more.items() if value is not None}

    @classmethod
    def from_dict(cls, key: Key, said: Mapping[str, Any]) -> Hold:
        window, reasons = Window.from_dict(said["window"]), tuple(said["reasons"])
        return cls(key, window, reasons, said["run_id"], said["at"], said.get("asks"), said.get("pipeline_run_id"))

    def __str__(self) -> str:
        why = "; ".join(self.reasons) or "a gate is closed"
        return f"{'/'.join(self.key)} is held back for {self.window.key}: {why}"


class Holds:
    """The holds of a lakehouse: a folder for each contract, a file for each window."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, hold: Hold) -> None:
        write_note(self._path(hold.key, hold.window), hold.as_dict())

    def release(self, key: Key, window: Window, *, exactly: bool = False) -> None:
        """Forget the holds that a success of the window covers completely; `exactly`, only that of this very window."""
        for hold in self.of(key):
            if hold.window == window if exactly else window.covers(hold.window):
                self._path(key, hold.window).unlink(missing_ok=True)

    def of(self, key: Key) -> list[Hold]:
        """The contract's holds, oldest first."""
        found = [_read(key, path) for path in self.folder.joinpath(*key).glob("*.json")]
        return sorted((hold for hold in found if hold is not None), key=lambda hold: hold.at)

    def over(self, keys: Iterable[Key], window: Window) -> list[Hold]:
        """The holds of several contracts that overlap a window."""
        return [hold for key in keys for hold in self.of(key) if hold.window.overlaps(window)]

    def _path(self, key: Key, window: Window) -> Path:
        named = json.dumps(window.as_dict(), sort_keys=True).encode()
        return self.folder.joinpath(*key) / f"{hashlib.sha256(named).hexdigest()[:24]}.json"


def _read(key: Key, path: Path) -> Hold | None:
    """None for a hold that was released meanwhile."""
    try:
        return Hold.from_dict(key, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def write_note(path: Path, said: Mapping[str, Any]) -> None:
    """Write a small file so that a reader sees all of it or nothing, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(said, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
