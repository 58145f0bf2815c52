"""What has changed in a Delta table since each window of a contract was built from it, told from its log.

A row that this engine stamps carries the moment of its run, and so does the commit of that run. This tells a row that
is new from one that a MERGE or an OPTIMIZE has only copied into a new file.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from lakelogic_assets import names
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.late_rows import Cut, Found, count_rows, micros, read_parquet
from lakelogic_assets.spark.sources.snapshot import FileStat

_RESTORE: Final = "RESTORE"
_PHYSICAL: Final = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class Arrived:
    """What brought late rows: a run of the source, or a file."""

    run_id: str | None = None
    at: str | None = None
    version: int | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a window's last look at its source had seen."""

    run_id: str
    started_at: str
    version: int | None = None
    max_mtime: float | None = None
    files_at_max: frozenset[str] = frozenset()
    files: frozenset[FileStat] | None = None
    """All that it read; None where it does not name them."""
    identity: str | None = None
    """Of all files that it read, where it read nothing but this window."""


@dataclass(slots=True)
class Lateness:
    """What has come for one window, and what has gone, since it was last looked at."""

    rows: int | None = None
    files: int = 0
    gone: int = 0
    arrived: dict[Arrived, None] = field(default_factory=dict)

    @property
    def is_late(self) -> bool:
        return bool(self.rows or self.files or self.gone > 0)


@dataclass(frozen=True)
class _Commit:
    version: int
    operation: str
    committed: int
    """When, in microseconds."""
    metadata: Mapping[str, Any]
    added: Mapping[str, dict[str, Any]]
    removed: Mapping[str, dict[str, Any]]

    @property
    def at(self) -> str | None:
        return self.metadata.get("at")


@dataclass(frozen=True)
class _History:
    """The commits after a version, and the files that came and went with them."""

    path: str
    commits: tuple[_Commit, ...]
    lost: int | None
    """The newest version whose commit is no longer in the log."""

    @cached_property
    def events(self) -> dict[str, list[tuple[int, bool]]]:
        """File → when it came (True) and went (False)."""
        found: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        for commit in self.commits:
            for path in commit.removed:
                found[path].append((commit.version, False))
            for path in commit.added:
                found[path].append((commit.version, True))
        return found

    @cached_property
    def actions(self) -> dict[str, dict[str, Any]]:
        """File → what the log says of it last."""
        found: dict[str, dict[str, Any]] = {}
        for commit in self.commits:
            found.update({path: {**found.get(path, {}), **action} for path, action in commit.removed.items()})
            found.update(commit.added)
        return found

    @cached_property
    def births(self) -> dict[int | None, _Commit]:
        """The moment that rows are stamped with → the commit that brought them."""
        return {micros(datetime.fromisoformat(commit.at)): commit for commit in self.commits if commit.at}

    def is_there(self, file: str, version: int) -> bool:
        events = self.events[file]
        before = [came for at, came in events if at <= version]
        return before[-1] if before else not events[0][1]

    def brought_by(self, file: str) -> _Commit | None:
        return next((commit for commit in reversed(self.commits) if file in commit.added), None)

    def without_rewrites(self) -> _History:
        """As if files had never been put together: OPTIMIZE changes no row."""
        kept = tuple(
            replace(each, added=_changing(each.added), removed=_changing(each.removed)) for each in self.commits
        )
        return _History(self.path, kept, self.lost)


def _changing(actions: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {path: action for path, action in actions.items() if action.get("dataChange", True)}


def late_in_table(path: str, seen: Mapping[int, Seen], cut: Cut) -> tuple[dict[int, Lateness], list[str]]:
    """The windows, by their number, for which rows have come or gone; and what could not be told for certain."""
    if "://" in path:
        return {}, [f"{path} is not on a disk, so its log is not read."]
    newest = delta_log.version(path)
    versions = {number: each.version for number, each in seen.items() if each.version is not None}
    if newest is None or not versions:
        return {}, []
    notes: list[str] = []
    if any(version > newest for version in versions.values()):
        notes.append(f"{path} has fewer versions than were read from it: it was made anew, and all windows are stale.")
    history = _read_history(path, min(versions.values()) + 1, newest)
    table = _Table(path, DeltaTable(path), cut)
    blind = {n for n, version in versions.items() if history.lost is not None and version < history.lost}
    if blind:
        notes.append(
            f"Commits of {path} up to version {history.lost} are gone from its log: rows count by the moment in them."
            if table.has_stamps
            else f"Commits of {path} up to version {history.lost} are gone from its log: all of its rows count."
        )
    found = _found_in_commits(history, table, {n: v for n, v in versions.items() if n not in blind}, newest, notes)
    found |= _found_by_moment(table, {number: seen[number] for number in blind}, notes)
    return found, list(dict.fromkeys(notes))


def _read_history(path: str, first: int, last: int) -> _History:
    commits: list[_Commit] = []
    lost: int | None = None
    for version in range(first, last + 1):
        file = Path(path) / "_delta_log" / f"{version:020d}.json"
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            lost = version
            continue
        commits.append(_commit(version, [json.loads(line) for line in lines if line.strip()]))
    return _History(path, tuple(commits), lost)


def _commit(version: int, actions: Sequence[dict[str, Any]]) -> _Commit:
    info: dict[str, Any] = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    return _Commit(
        version,
        str(info.get("operation", "")),
        int(info.get("timestamp", 0)) * 1000,
        delta_log.metadata_of(info.get("userMetadata")) or {},
        {each["add"]["path"]: each["add"] for each in actions if "add" in each},
        {each["remove"]["path"]: each["remove"] for each in actions if "remove" in each},
    )


@dataclass(frozen=True)
class _Table:
    """The source table's files, read by the columns that matter and never twice."""

    path: str
    table: DeltaTable
    cut: Cut
    _counted: dict[str, Found | None] = field(default_factory=dict)

    @cached_property
    def _physical(self) -> dict[str, str]:
        """Column → its name inside of the files."""
        fields = json.loads(self.table.schema().to_json())["fields"]
        return {each["name"]: each.get("metadata", {}).get(_PHYSICAL, each["name"]) for each in fields}

    @property
    def has_stamps(self) -> bool:
        return names.PROCESSED_AT_COLUMN in self._physical

    def counted(self, file: str, action: Mapping[str, Any]) -> Found | None:
        """The rows of a file by window and stamp; None where the file is gone."""
        if file not in self._counted:
            self._counted[file] = self._count(file, action.get("partitionValues") or {})
        return self._counted[file]

    def _count(self, file: str, partition: Mapping[str, str | None]) -> Found | None:
        place = Path(self.path) / unquote(file)
        if not place.is_file():
            return None
        wanted = [*self.cut.names([*self._physical]), *([names.PROCESSED_AT_COLUMN] if self.has_stamps else [])]
        stored = {name: self._physical[name] for name in wanted}
        fixed = {name: partition[inside] for name, inside in stored.items() if inside in partition}
        inside = {name: found for name, found in stored.items() if name not in fixed}
        return count_rows(read_parquet(str(place), inside, fixed), self.cut, names.PROCESSED_AT_COLUMN)

    def files(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The files of the newest version."""
        partitions = self.table.metadata().partition_columns
        for action in pa.table(self.table.get_add_actions(flatten=True)).to_pylist():
            values = {self._physical[name]: action.get(f"partition.{name}") for name in partitions}
            texts = {name: None if value is None else str(value) for name, value in values.items()}
            yield action["path"], {"partitionValues": texts}


def _found_in_commits(
    history: _History, table: _Table, versions: Mapping[int, int], newest: int, notes: list[str]
) -> dict[int, Lateness]:
    if not versions or not history.commits:
        return {}
    told = table.has_stamps and any(commit.at for commit in history.commits)
    if not told:
        notes.append(f"{table.path} does not say when its rows came: all rows of files that were added count.")
        history = history.without_rewrites()
    if any(action.get("deletionVector") for action in history.actions.values()):
        notes.append(f"{table.path} has deletion vectors: rows that are only marked as deleted still count.")
    found: dict[int, Lateness] = {}
    kept: Counter[int] = Counter()
    for file, action in history.actions.items():
        counted = table.counted(file, action)
        if counted is None:
            if not history.is_there(file, newest):
                notes.append(f"Files that left {table.path} are no longer on the disk: rows that went are not told.")
            continue
        _weigh(file, counted, history, versions, newest, found, kept)
    for number, rows in kept.items():
        if number in found:
            found[number].gone = max(0, found[number].gone - rows)
    return {number: lateness for number, lateness in found.items() if lateness.is_late}


def _weigh(
    file: str,
    counted: Found,
    history: _History,
    versions: Mapping[int, int],
    newest: int,
    found: dict[int, Lateness],
    kept: Counter[int],
) -> None:
    """Rows of one file that are new for their windows, that only moved, and that were there when a window was built."""
    there = history.is_there(file, newest)
    for (number, stamp), rows in counted.items():
        version = versions.get(number)
        if version is None:
            continue
        before = history.is_there(file, version)
        if there == before:
            continue
        late = found.setdefault(number, Lateness())
        if before:
            late.gone += rows
            continue
        birth = _birth(file, stamp, history)
        if birth is None or birth.version <= version:
            kept[number] += rows
            continue
        late.rows = (late.rows or 0) + rows
        late.arrived[Arrived(birth.metadata.get("run_id"), birth.at, birth.version)] = None


def _birth(file: str, stamp: int | None, history: _History) -> _Commit | None:
    """The commit that brought a row of a file; None for one that was there before all of them."""
    brought = history.brought_by(file)
    if brought is None or brought.operation == _RESTORE:
        return brought
    if stamp in history.births:
        return history.births[stamp]
    # A copy of an old row was stamped before the first of these commits.
    is_copy = stamp is not None and stamp < history.commits[0].committed
    return None if is_copy or not brought.added[file].get("dataChange", True) else brought


def _found_by_moment(table: _Table, seen: Mapping[int, Seen], notes: list[str]) -> dict[int, Lateness]:
    """For windows whose version is no longer in the log: rows that came after the run that built them."""
    found: dict[int, Lateness] = {}
    built = {number: micros(datetime.fromisoformat(each.started_at)) for number, each in seen.items()}
    for file, action in table.files() if built else ():
        counted = table.counted(file, action)
        if counted is None:
            notes.append(f"{file} is missing from {table.path}.")
            continue
        for (number, stamp), rows in counted.items():
            if number in built and (stamp is None or stamp > built[number]):
                late = found.setdefault(number, Lateness())
                late.rows = (late.rows or 0) + rows
    return found
