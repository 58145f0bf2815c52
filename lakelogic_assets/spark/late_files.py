"""Landed files that are newer than what each window of a contract was built from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import Source
from lakelogic_assets.spark.late_rows import CannotTell, Cut, Found, count_rows, read_landed
from lakelogic_assets.spark.late_tables import Arrived, Lateness, Seen
from lakelogic_assets.spark.sources.files import format_of
from lakelogic_assets.spark.sources.layout import DateLayout, Span
from lakelogic_assets.spark.sources.reader import option_texts
from lakelogic_assets.spark.sources.selection import keeps_files, select_files
from lakelogic_assets.spark.sources.snapshot import Boundary, FileStat, SourceSnapshot
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix, is_uri

_NAMED_FORMATS: Final = ("csv", "json", "parquet")


@dataclass(frozen=True)
class Landing:
    """A folder that files land in, as a run of the contract would look at it."""

    contract: Contract
    lakehouse: Lakehouse
    source: Source
    place: str
    started_at: datetime
    warn: Callable[[str], None]

    @property
    def root(self) -> str:
        return fixed_prefix(self.place).rstrip("/") + "/"

    @cached_property
    def layout(self) -> DateLayout | None:
        return DateLayout(self.source.partition.format) if self.source.partition else None

    def files(self, cut: Cut) -> tuple[FileStat, ...]:
        starts = [each.local_start for each in cut.windows if each.local_start]
        ends = [each.local_end for each in cut.windows if each.local_end]
        dated = self.layout is not None and starts and ends
        boundary = Boundary(from_date=min(starts), to_date=max(ends)) if dated else Boundary()
        return select_files(self, self.source, self.place, boundary)

    def counted(self, file: FileStat, cut: Cut) -> Found:
        """The rows of a file by window."""
        declared = self.source.format or (self.source.type if self.source.type in _NAMED_FORMATS else None)
        below = file.path.removeprefix(self.root).split("/")[:-1]
        fixed = dict(part.split("=", 1) for part in below if "=" in part)
        kind = format_of(declared, self.place, (file,))
        return count_rows(read_landed(file.path, kind, cut, option_texts(self.source.options), fixed), cut)


def late_in_files(landing: Landing, seen: Mapping[int, Seen], cut: Cut) -> tuple[dict[int, Lateness], list[str]]:
    """The windows, by their number, that files have come for since; and what could not be told."""
    if is_uri(landing.place):
        return {}, [f"{landing.place} is not on a disk, so its files are not looked at."]
    notes: list[str] = []
    files = landing.files(cut)
    look = _by_folder if landing.layout else _by_rows
    found = look(landing, files, seen, cut, notes)
    return found, list(dict.fromkeys(notes))


def _is_new(file: FileStat, seen: Seen) -> bool:
    if seen.files is not None:
        return file not in seen.files
    if seen.max_mtime is None or file.mtime > seen.max_mtime:
        return True
    return file.mtime == seen.max_mtime and file.path not in seen.files_at_max


def _by_folder(
    landing: Landing, files: Sequence[FileStat], seen: Mapping[int, Seen], cut: Cut, notes: list[str]
) -> dict[int, Lateness]:
    """The folders say which time a file is about."""
    clock = _Clock(landing, cut)
    found: dict[int, Lateness] = {}
    known: dict[int, list[FileStat]] = {number: [] for number in seen}
    for file in files:
        numbers = [number for number in clock.windows_of(file) if number in seen]
        new = [number for number in numbers if _is_new(file, seen[number])]
        for number in set(numbers).difference(new):
            known[number].append(file)
        for number, rows in _narrowed(landing, file, new, cut, notes).items():
            late = found.setdefault(number, Lateness())
            late.files += 1
            if rows is not None:
                late.rows = (late.rows or 0) + rows
            late.arrived[_arrival(file)] = None
    for number, theirs in known.items():
        if number not in found and keeps_files(landing.contract) and _differs(landing, theirs, seen[number]):
            key = cut.windows[number].key
            notes.append(f"The files of {key} are not those it was built from: some were removed or have older times.")
            found[number] = Lateness(files=1)
    return found


def _narrowed(
    landing: Landing, file: FileStat, numbers: Sequence[int], cut: Cut, notes: list[str]
) -> dict[int, int | None]:
    """Of windows that ask values of a column, those whose values are in the file, with their rows."""
    if not numbers or not cut.windows[0].values:
        return dict.fromkeys(numbers)
    chosen = Cut(
        tuple(replace(cut.windows[number], start=None, end=None) for number in numbers),
        filters=cut.filters,
        by_time=False,
    )
    try:
        counted = landing.counted(file, chosen)
    except CannotTell as why:
        notes.append(f"{file.path} counts for every value of `{cut.windows[0].values[0][0]}`: {why}.")
        return dict.fromkeys(numbers)
    rows: dict[int, int | None] = {}
    for (index, _), count in counted.items():
        rows[numbers[index]] = count
    return rows


def _differs(landing: Landing, files: Sequence[FileStat], seen: Seen) -> bool:
    """Whether the files are others than the look had found: nothing less than their list tells of old times."""
    if seen.identity is None:
        return False
    return SourceSnapshot(files=tuple(files), description=landing.place).identity != seen.identity


def _by_rows(
    landing: Landing, files: Sequence[FileStat], seen: Mapping[int, Seen], cut: Cut, notes: list[str]
) -> dict[int, Lateness]:
    """Nothing but the rows says which time they are about."""
    found: dict[int, Lateness] = {}
    for file in files:
        new = {number for number, each in seen.items() if _is_new(file, each)}
        if not new:
            continue
        try:
            counted = landing.counted(file, cut)
        except CannotTell as why:
            notes.append(f"Which windows {file.path} is about cannot be told: {why}.")
            continue
        for (number, _), rows in counted.items():
            if number in new:
                late = found.setdefault(number, Lateness())
                late.files += 1
                late.rows = (late.rows or 0) + rows
                late.arrived[_arrival(file)] = None
    return found


def _arrival(file: FileStat) -> Arrived:
    return Arrived(at=datetime.fromtimestamp(file.mtime, UTC).isoformat(), file=file.path)


@dataclass(frozen=True)
class _Clock:
    """Windows by the wall clock of those who land files, which names the folders."""

    landing: Landing
    cut: Cut

    @cached_property
    def _ordered(self) -> list[tuple[datetime, datetime, int]]:
        bounds = [
            (each.local_start.replace(tzinfo=UTC), each.local_end.replace(tzinfo=UTC), number)
            for number, each in enumerate(self.cut.windows)
            if each.local_start and each.local_end
        ]
        return sorted(bounds)

    @cached_property
    def _longest(self) -> int:
        """How many windows may begin at one time: one for each value."""
        return len(self._ordered) // max(1, len({start for start, _, _ in self._ordered}))

    def windows_of(self, file: FileStat) -> Iterator[int]:
        layout = self.landing.layout
        if layout is None:
            return
        below = file.path.removeprefix(self.landing.root)
        span = layout.span(below)
        if span is None:
            yield from (n for start, end, n in self._ordered if layout.admits(below, Span(start, end)))
            return
        first = bisect_right(self._ordered, (span[0], span[0], -1)) - self._longest
        for start, end, number in self._ordered[max(0, first - 1) :]:
            if start >= span[1]:
                return
            if end > span[0]:
                yield number
