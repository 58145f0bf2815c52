"""Which files are there: folders, globs and single files of a local disk."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.sources.snapshot import FileStat
from lakelogic_assets.spark.tables import fixed_prefix

TAKEN_ASIDE: Final = ".lakelogic-read"
HALF_COPIED: Final = ".lakelogic-part"
"""Endings of what a clean-up has in hand, which is no data whatever a path spells."""
_BRACES = re.compile(r"\{([^{}]*)\}")


def list_files(path: str, *, pattern: str | None = None, recursive: bool = False) -> list[FileStat]:
    """The files that a path stands for, sorted by path; an absent path stands for none.

    A folder means the files in it, and those in `key=value` folders below; all files below it if `recursive`.
    Names that begin with `.` or `_` are not data unless the path itself spells them.
    """
    found: dict[str, FileStat] = {}
    for match in _matches(path):
        entries = _below(match, recursive) if match.is_dir() else iter([match])
        for file in entries:
            if file.name.endswith((TAKEN_ASIDE, HALF_COPIED)) or (pattern and not _fits(file, match, pattern)):
                continue
            if stat := _stat(file):
                found[stat.path] = stat
    return [found[key] for key in sorted(found)]


def refuse_strangers(files: Iterable[FileStat], holds: Callable[[Path], bool]) -> None:
    """No file may be a link, or lie behind one, that leads to a place which does not hold data of the project."""
    real: dict[Path, bool] = {}
    for file in files:
        path = Path(file.path)
        if path.parent not in real:
            real[path.parent] = os.path.realpath(path.parent) == str(path.parent)
        if (path.is_symlink() or not real[path.parent]) and not holds(path):
            raise SourceError(f"{file.path} is a link that leads out of the project's roots: remove it.", file.path)


def changed_files(files: Iterable[FileStat]) -> list[str]:
    """The files that are not what they were when they were listed."""
    return [file.path for file in files if "://" not in file.path and _stat(Path(file.path)) != file]


def has_folders_left_out(path: str) -> bool:
    """Whether files may lie in subfolders that a look at the folder alone does not see."""
    folder = Path(path)
    return folder.is_dir() and any(each.is_dir() and not _is_keyed(each.name) for each in _entries(folder))


def _matches(path: str) -> Iterator[Path]:
    """What a path or a glob stands for; a name that exists is never taken for a glob."""
    if os.path.lexists(path):
        yield Path(path)
        return
    for plain in _without_braces(path):
        prefix = fixed_prefix(plain)
        if prefix == plain:
            if os.path.lexists(plain):
                yield Path(plain)
            continue
        rest = PurePosixPath(plain).relative_to(prefix).parts
        yield from _globbed(Path(prefix), rest)


def _without_braces(path: str) -> Iterator[str]:
    """`a/{x,y}.csv` → `a/x.csv`, `a/y.csv`."""
    found = _BRACES.search(path)
    if not found:
        yield path
        return
    for choice in found.group(1).split(","):
        yield from _without_braces(path[: found.start()] + choice + path[found.end() :])


def _globbed(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    if not parts:
        yield folder
        return
    first, rest = parts[0], parts[1:]
    if first == "**":
        yield from _globbed(folder, rest) if rest else iter([folder])
        for each in _entries(folder):
            if each.is_dir() and not each.is_symlink():
                yield from _globbed(each, parts)
        return
    spelled = first[0] in "._"
    for each in _entries(folder, hidden=spelled):
        if fnmatchcase(each.name, first) and (not rest or each.is_dir()):
            yield from _globbed(each, rest)


def _fits(file: Path, base: Path, pattern: str) -> bool:
    """A pattern with a slash is held against the path below the folder, any other against the name."""
    if "/" not in pattern:
        return any(fnmatchcase(file.name, plain) for plain in _without_braces(pattern))
    relative = file.relative_to(base).as_posix() if base != file else file.name
    return any(_glob_regex(plain).fullmatch(relative) for plain in _without_braces(pattern))


def _glob_regex(pattern: str) -> re.Pattern[str]:
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern):
        known = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}.get(piece)
        is_class = piece.startswith("[") and piece.endswith("]")
        parts.append(known or (piece.replace("[!", "[^") if is_class else re.escape(piece)))
    return re.compile("".join(parts))


def _below(folder: Path, recursive: bool) -> Iterator[Path]:
    for each in _entries(folder):
        if not each.is_dir():
            yield each
        elif (recursive or _is_keyed(each.name)) and not _leads_up(each):
            yield from _below(each, recursive)


def _leads_up(folder: Path) -> bool:
    """A link to a folder above itself, which would never end."""
    return folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())


def _is_keyed(name: str) -> bool:
    return "=" in name


def _entries(folder: Path, *, hidden: bool = False) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError as error:
        raise SourceError(f"{folder} cannot be listed: permission denied.", str(folder)) from error
    for name in names:
        if hidden or name[0] not in "._" or (name[0] == "_" and _is_keyed(name)):
            yield folder / name


def _stat(file: Path) -> FileStat | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None  # gone since the folder was listed, or a link to nothing
    return FileStat(str(file), status.st_size, status.st_mtime)
