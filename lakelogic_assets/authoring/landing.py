"""Landing files for a project that has none: made from its contracts, laid where their sources look for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from lakelogic_assets.authoring.landing_layout import Landing, NoLandingError, landing_of
from lakelogic_assets.authoring.synthetic.dice import Dice
from lakelogic_assets.authoring.synthetic.faults import Breaker, plan_breaker
from lakelogic_assets.authoring.synthetic.feeds import Feed, plan_feeds
from lakelogic_assets.authoring.synthetic.records import EPOCH, day_number
from lakelogic_assets.authoring.synthetic.rows import Row, RowMaker
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.project import Project

State = Literal["written", "unchanged", "archived"]


@dataclass(frozen=True, slots=True)
class LandedFile:
    """One file: how many rows it holds and how many of them are broken, counted by what is wrong with them."""

    contract: Key
    day: date
    path: Path
    rows: int
    faults: Mapping[str, int]
    state: State
    """`archived`: an earlier run has read this very file and put it away, so it was not written again."""

    @property
    def broken(self) -> int:
        return sum(self.faults.values())


@dataclass(frozen=True, slots=True)
class Skipped:
    """A contract that reads files and got none, or none for a day."""

    contract: Key
    why: str
    day: date | None = None


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What was made, file by file."""

    files: tuple[LandedFile, ...]
    skipped: tuple[Skipped, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def broken(self) -> int:
        return sum(file.broken for file in self.files)

    @property
    def written(self) -> int:
        return sum(file.state == "written" for file in self.files)

    def of(self, table: str) -> tuple[LandedFile, ...]:
        """The files of one contract, by day."""
        return tuple(file for file in self.files if file.contract[-1] == table)


def make_landing_data(
    registry: Registry,
    project: Project,
    *,
    storage_root: Path,
    rows: int = 200,
    days: Sequence[date],
    seed: int = 42,
    invalid: float = 0.02,
) -> LandingReport:
    """Write the files that every enabled contract's source describes, one a day, below `storage_root`.

    A file depends on the seed, `rows`, `invalid`, its contract and its day alone: it is the same whichever other days
    are made, and one that is there already keeps its bytes and its time. About `invalid` of the rows, at least one a
    file, are broken in ways that the contracts downstream notice.
    """
    if rows < 1 or not 0 <= invalid < 1:
        raise ProjectError(f"{rows} rows with {invalid:.0%} of them invalid cannot be made.")
    landings, skipped = _landings(registry, project, storage_root)
    feeds = plan_feeds(registry, [contract for contract, _ in landings])
    maker = RowMaker(feeds, rows=rows, invalid=invalid, seed=seed)
    files: list[LandedFile] = []
    for contract, landing in landings:
        feed = feeds[contract.key]
        breaker = plan_breaker(registry, feed, typed=landing.form.is_typed)
        for day in _days(feed, landing, days):
            if landing.admits(day):
                files.append(_land(feed, landing, breaker, maker, day, seed))
            else:
                skipped.append(Skipped(contract.key, "its source reads no files of that day", day))
    return LandingReport(tuple(files), tuple(skipped))


def _landings(
    registry: Registry, project: Project, storage_root: Path
) -> tuple[list[tuple[Contract, Landing]], list[Skipped]]:
    found: list[tuple[Contract, Landing]] = []
    skipped: list[Skipped] = []
    for contract in registry:
        if not contract.place.enabled or contract.source is None or contract.source.is_table:
            continue
        try:
            found.append((contract, landing_of(contract, project, storage_root)))
        except NoLandingError as reason:
            skipped.append(Skipped(contract.key, str(reason)))
    return found, skipped


def _days(feed: Feed, landing: Landing, days: Iterable[date]) -> list[date]:
    """The days that get a file: all, or the newest alone where a second file would only repeat the first."""
    ordered = sorted(set(days))
    return ordered if _is_daily(feed, landing) else ordered[-1:]


def _is_daily(feed: Feed, landing: Landing) -> bool:
    return landing.single is None and (landing.day_format is not None or feed.is_dated)


def _land(feed: Feed, landing: Landing, breaker: Breaker, maker: RowMaker, day: date, seed: int) -> LandedFile:
    # What says no day is the same on every day, its broken rows included.
    made_for = day if feed.is_dated else EPOCH
    sound, odd = maker.rows(feed, made_for)
    broken, faults = breaker.broken(odd, sound, day_number(made_for))
    content = landing.form.render(feed.columns, _in_order(feed, [*sound, *broken], made_for, seed))
    path = landing.file(day if _is_daily(feed, landing) else None)
    counted = dict(sorted(Counter(map(str, faults)).items()))
    state = _put(path, content, landing.archive)
    return LandedFile(feed.asset, day, path, len(sound) + len(broken), counted, state)


def _in_order(feed: Feed, rows: list[Row], day: date, seed: int) -> list[Row]:
    """Broken rows among the others; what belongs to one parent stays together."""
    dice = Dice(seed, *feed.asset, "order")
    parent = feed.key[0] if feed.lines else None
    firsts: dict[object, int] = {}
    groups = [firsts.setdefault(row[parent] if parent else place, place) for place, row in enumerate(rows)]
    order = sorted(range(len(rows)), key=lambda place: (dice.roll(day_number(day), groups[place]), place))
    return [rows[place] for place in order]


def _put(path: Path, content: bytes, archive: Path | None) -> State:
    """The file on disk; a file of the same bytes is not touched, so that no run takes it for a new one."""
    if _holds(path, content):
        return "unchanged"
    if archive is not None and not path.exists() and _holds(archive / path.name, content):
        return "archived"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under a name that readers ignore until it is whole.
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)
    return "written"


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
