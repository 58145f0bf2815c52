"""A small disk of its own needs the right to mount: root's, or that of a user namespace in which one is root."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_NAMESPACE: Final = ("unshare", "--map-root-user", "--mount")
CANNOT_MOUNT: Final = (
    "The disk faults fill a small tmpfs, and neither this user nor a user namespace may mount one: "
    "run `make faults` as root, or choose other kinds with `--only`."
)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """Over a folder, as long as it is needed."""
    subprocess.run([*_mount(folder), "-o", f"size={megabytes}m"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return _works(_mount(Path(folder))) and _works(["umount", folder])


def may_mount_in_a_namespace() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return _works([*_NAMESPACE, *_mount(Path(folder))])


def again_in_a_namespace(words: Sequence[str]) -> int:
    """The whole battery once more, as the root of a namespace of its own."""
    return subprocess.run([*_NAMESPACE, sys.executable, "-m", "faults", *words], check=False).returncode


def _mount(folder: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "tmpfs", str(folder)]


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
