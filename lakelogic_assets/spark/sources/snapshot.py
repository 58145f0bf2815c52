"""What a run may read, what it found there, and the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from lakelogic_assets.plan.window import Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SOURCE_PATH: Final = "__ll_source"
"""The hidden column that holds the file a row came from."""
CORRUPT: Final = "__ll_corrupt"
"""The hidden column that holds what could not be read as a row."""


@dataclass(frozen=True, slots=True)
class FileStat:
    path: str
    size: int
    mtime: float


def files_of(watermark: Mapping[str, Any], root: str | None = None) -> frozenset[FileStat] | None:
    """The files that a run has read by its own account; None where it does not name them.

    `root` is where their source is by now, since a project may have moved; without it, where it was.
    """
    listed = watermark.get("files")
    if listed is None:
        return None
    base = str(watermark.get("root", "") if root is None else root).rstrip("/")
    return frozenset(
        FileStat(path if is_whole(path) else f"{base}/{path}", size, mtime) for path, size, mtime in listed
    )


def is_whole(path: str) -> bool:
    return path.startswith("/") or "://" in path


@dataclass(frozen=True, slots=True)
class Boundary:
    """The part of a source that a run may read; without arguments all of it.

    A `date` as end includes that day, a `datetime` is the first moment that is no longer read. Versions are inclusive.
    """

    after_mtime: float | None = None
    seen_at_mtime: frozenset[str] = frozenset()
    """Files that are as new as `after_mtime` and were read already."""
    known: frozenset[FileStat] | None = None
    """Files that were read already, whatever the clock said; None where no log tells."""
    where: tuple[str | Column, ...] = ()
    window: Window | None = None
    cut_by: tuple[str, ...] = ()
    """The columns of time that may cut the window out of the rows, best first."""
    from_version: int | None = None
    to_version: int | None = None
    from_date: date | datetime | None = None
    to_date: date | datetime | None = None
    excluded: frozenset[str] = frozenset()
    """Files or folders that are not read, as full paths or relative to the source's path."""


@dataclass(frozen=True)
class SourceSnapshot:
    """What was there when the run looked."""

    files: tuple[FileStat, ...] = ()
    version: int | None = None
    first_version: int | None = None
    """Set where only the changes since a version are read."""
    table_id: str | None = None
    """What a table keeps as long as it lives: one that was made anew counts its versions anew."""
    description: str = ""
    listed: bool = True
    """False where Spark looks for the files itself, so that nobody here knows what it will find."""

    @cached_property
    def max_mtime(self) -> float | None:
        return max((file.mtime for file in self.files), default=None)

    @property
    def is_empty(self) -> bool:
        if self.version is not None and self.first_version is not None:
            return self.first_version > self.version
        return self.listed and self.version is None and not self.files

    @cached_property
    def identity(self) -> str:
        """The same for two looks at an unchanged source, different after any change of it."""
        digest = hashlib.sha256(f"{self.description}\0{self.table_id}\0{self.version}\0{self.first_version}".encode())
        for file in sorted(self.files, key=lambda each: each.path):
            digest.update(f"\0{file.path}\0{file.size}\0{file.mtime!r}".encode(errors="surrogateescape"))
        return digest.hexdigest()[:32]


@dataclass(frozen=True)
class SourceRead:
    """The rows, lazily, and what is known about where they come from."""

    frame: DataFrame
    name: str
    snapshot: SourceSnapshot
    rereadable: bool = True
    row_source: Column | None = None
    """The file of each row; None where all rows come from `name`."""
    corrupt: str | None = None
    """The column that holds malformed input; None where the format knows no such thing."""
    rows: int | None = None
    """How many rows there are by the account of the files themselves; None where only reading tells."""
