"""One writer per table across processes: Delta on a local disk is not safe for two.

The lock is the kernel's, so it goes with its owner. A Python that is killed or interrupted leaves its JVM running for a
moment, which may still commit: the next owner waits until that JVM is gone too.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from lakelogic_assets.errors import LockedError

_POLL_SECONDS = 0.05
_JVM_PATIENCE_SECONDS = 60.0


def has_lock(table: str) -> bool:
    """Whether there is a kernel that keeps writers apart; on an object store the commit alone decides."""
    return "://" not in table


@contextlib.contextmanager
def table_lock(table: str, jvm_pid: int | None, timeout: float = 600.0) -> Iterator[None]:
    """Hold the table's lock; a LockedError names the owner when it does not come free in time."""
    if not has_lock(table):
        yield
        return
    path = Path(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("a+", encoding="utf-8") as file:
        _acquire(file.fileno(), path, timeout)
        _wait_for_orphan(_content(file.name), jvm_pid, min(timeout, _JVM_PATIENCE_SECONDS))
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "jvm": jvm_pid}))
        file.flush()
        try:
            yield
        except Exception:
            file.truncate(0)
            raise
        # An interrupt is no Exception and leaves the note: it ends Python's part of a commit, not yet that of the JVM.
        file.truncate(0)


def _acquire(descriptor: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                owner = _owner(_content(str(path.parent / f".{path.name}.lock")))
                raise LockedError(f"{path} is being written by process {owner.get('pid')}; try again later.") from None
            time.sleep(_POLL_SECONDS)
        else:
            return


def _wait_for_orphan(content: str, own: int | None, patience: float) -> None:
    """What stands in a free lock was left by an owner that died or was interrupted: wait for its JVM.

    Inside of one JVM Delta keeps writers apart, so nobody waits for the JVM that is his own.
    """
    jvm = _owner(content).get("jvm")
    deadline = time.monotonic() + patience
    while jvm and jvm != own and _is_java(jvm):
        if time.monotonic() > deadline:
            raise LockedError(
                f"A run that died or was interrupted left its JVM {jvm} behind, which may still write; "
                "end it and run again."
            )
        time.sleep(_POLL_SECONDS)


def _owner(content: str) -> dict[str, int]:
    try:
        found = json.loads(content) if content.strip() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _is_java(pid: int) -> bool:
    """Process ids are used again; only a JVM counts as the one that was noted."""
    try:
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
