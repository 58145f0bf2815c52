"""What a run is about to commit, noted before it does, so that the next run can finish or forget it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakelogic_assets.spark import locks

_FOREIGN_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Intent:
    """One evaluation of one window: `app` names contract and window, `generation` the evaluation."""

    app: str
    generation: int
    target: str
    report: dict[str, Any]
    is_in_hand: bool = False
    """Whether the process that noted it is another one and still there."""


class Intents:
    """The open intents of one table, as files that are synced to disk."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder = folder / hashlib.sha256(target.encode()).hexdigest()[:16]
        self.target = target

    def note(self, intent: Intent) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(intent.app)
        # Without a lock two processes may note the same window: each writes a file of its own.
        draft = path.with_suffix(f".{socket.gethostname()}.{os.getpid()}.tmp")
        noted = {"app": intent.app, "generation": intent.generation, "report": intent.report, "owner": _owner()}
        with draft.open("w", encoding="utf-8") as file:
            json.dump(noted, file, default=str)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(self.folder)

    def forget(self, app: str) -> None:
        self._path(app).unlink(missing_ok=True)

    def open(self) -> Iterator[Intent]:
        """Intents whose run did not come to its end.

        Who holds the table's lock knows that. Without a lock the run may go on beside us: it is left its note.
        """
        ours = (intent for _, intent in self._noted() if intent is not None)
        return (intent for intent in ours if locks.has_lock(self.target) or not intent.is_in_hand)

    def damaged(self) -> list[Path]:
        """Notes that the disk has spoilt, for they are synced before they get their name; nobody knows their run."""
        return [path for path, intent in self._noted() if intent is None]

    def _noted(self) -> Iterator[tuple[Path, Intent | None]]:
        for path in sorted(self.folder.glob("*.json")):
            try:
                noted = json.loads(path.read_text(encoding="utf-8"))
                in_hand = _is_another(noted.get("owner"), time.time() - path.stat().st_mtime)
                yield path, Intent(noted["app"], int(noted["generation"]), self.target, noted["report"], in_hand)
            except FileNotFoundError:
                continue  # forgotten by its own run since the folder was listed
            except (ValueError, KeyError, TypeError):
                yield path, None

    def _path(self, app: str) -> Path:
        return self.folder / f"{hashlib.sha256(app.encode()).hexdigest()[:24]}.json"


def _owner() -> list[int | str]:
    return [os.getpid(), _began(os.getpid()), socket.gethostname(), _boot()]


def _is_another(owner: list[int | str] | None, age: float) -> bool:
    """Process ids are used again; one that began at the same moment is the same process.

    Nobody sees the processes of another machine: they have a day.
    """
    if not owner or owner == _owner():
        return False
    pid, began, *machine = owner
    if machine and machine[0] != socket.gethostname():
        return age < _FOREIGN_SECONDS
    if machine and machine[1] != _boot():
        return False
    return began != "" and _began(int(pid)) == began


def _boot() -> str:
    """What a machine is called from one start to the next; nothing, where nobody can tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _began(pid: int) -> str:
    """When a process began, in the kernel's own count; nothing, where it is no more or nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _sync_folder(folder: Path) -> None:
    """A file that was renamed survives a power cut once its folder is on the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
