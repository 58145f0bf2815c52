"""Where Spark puts rows while it works: folders of this user alone, which are swept once their process is dead.

A MERGE keeps rows in there before they are masked, and a JVM that is killed removes nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from lakelogic_assets.errors import ProjectError

LOCAL_DIR: Final = "spark.local.dir"
LOCAL_DIRS_VARIABLE: Final = "SPARK_LOCAL_DIRS"
_OWNER: Final = "owner"
_YOUNG_SECONDS: Final = 60.0
"""A folder is a moment older than the owner in it."""


def bases(conf: Mapping[str, str]) -> list[Path]:
    """The disks Spark may use: those of its variable, which wins in Spark too, of the settings, else the system's."""
    said = os.environ.get(LOCAL_DIRS_VARIABLE) or conf.get(LOCAL_DIR) or tempfile.gettempdir()
    return [Path(each.strip()) for each in said.split(",") if each.strip()]


def private_folder(base: Path) -> Path:
    """A new folder that is this process's until it ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=_parent(base)))
    # Locked before it gets its name: an owner without a lock is a dead one.
    draft = folder / f"{_OWNER}.tmp"
    descriptor = os.open(draft, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    draft.rename(folder / _OWNER)
    atexit.register(_remove_own, folder, os.getpid())
    return folder


def note_jvm(folders: Iterable[Path], pid: int) -> None:
    """A JVM outlives a Python that is killed by a moment, in which it still writes."""
    for folder in folders:
        (folder / _OWNER).write_text(str(pid), encoding="utf-8")


def abandoned(places: Iterable[Path]) -> list[Path]:
    """Folders whose process has died before it could remove them."""
    return [folder for folder in _folders(places) if _if_abandoned(folder, lambda _: None)]


def sweep(places: Iterable[Path]) -> list[Path]:
    """Removes what dead processes have left, and says what that was."""
    return [folder for folder in _folders(places) if _if_abandoned(folder, _remove)]


def _folders(places: Iterable[Path]) -> list[Path]:
    found = []
    for base in places:
        with contextlib.suppress(OSError):
            found += sorted(_named(base).iterdir())
    return found


def _named(base: Path) -> Path:
    return base / f"lakelogic-{os.getuid()}"


def _parent(base: Path) -> Path:
    folder = _named(base)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = folder.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid():
        raise ProjectError(f"{folder} belongs to somebody else, so no rows are put there: remove it, or set TMPDIR.")
    folder.chmod(0o700)
    return folder


def _if_abandoned(folder: Path, act: Callable[[Path], None]) -> bool:
    """Whether nobody owns a folder; if so, something is done to it while nobody else may."""
    try:
        with (folder / _OWNER).open("r+", encoding="utf-8") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            jvm = file.read().strip()
            if jvm and _is_java(jvm):
                return False
            act(folder)
            return True
    except BlockingIOError:
        return False
    except OSError:
        if not _is_old(folder):
            return False
    act(folder)
    return True


def _is_old(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > _YOUNG_SECONDS
    except OSError:
        return False


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _is_java(pid: str) -> bool:
    try:
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _remove_own(folder: Path, pid: int) -> None:
    if os.getpid() == pid:  # a fork ends before what it was forked from
        _remove(folder)
