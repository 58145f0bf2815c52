"""Landing files for a project that has none: made from its contracts, laid where their sources look for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakelogic_assets.authoring.documents import document, document_lines
from lakelogic_assets.authoring.landing_layout import Landing, NoLandingError, landing_of
from lakelogic_assets.authoring.landing_report import LandedFile, LandingReport, Skipped, State
from lakelogic_assets.authoring.made_files import MadeFiles
from lakelogic_assets.authoring.synthetic.edges import plan_edges
from lakelogic_assets.authoring.synthetic.far_rules import far_rules
from lakelogic_assets.authoring.synthetic.faults import plan_breaker
from lakelogic_assets.authoring.synthetic.feeds import plan_feeds
from lakelogic_assets.authoring.synthetic.sizes import Wish, hour_of, plan_sizes
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.left_out import sort_contracts
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.plan.synthetic import EPOCH, Batch, Fault, Feed, Reference
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.spark.frames import SparkSession
    from lakelogic_assets.spark.synthetic.frame import FilePlace, Rows

ROWS_OF_A_FILE: Final = 500_000
"""More rows than this are spread over several files, so that several tasks write them."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be made."""

    days: Sequence[date]
    rows: int = 200
    seed: int = 42
    invalid: float = 0.02
    thorough: bool = False
    """Whether the days together break each rule that rows can break, though that be more than `invalid` of them."""
    edge_cases: bool = False
    locale: str = "en_US"
    only: Collection[Key] | None = None
    """The contracts to write files for; all of them when left out."""
    overwrite: bool = False
    """Whether files that were not made here give way, too."""

    def __post_init__(self) -> None:
        if self.rows < 1 or not 0 <= self.invalid < 1:
            raise ProjectError(f"{self.rows} rows with {self.invalid:.0%} of them invalid cannot be made.")


def requested_days(first: str | None, last: str | None, count: int) -> list[date]:
    """The days between two, both included; `count` of them, the last one yesterday, where one or both are not said."""
    try:
        start, end = (date.fromisoformat(day) if day else None for day in (first, last))
    except ValueError as error:
        raise ProjectError(f"{error}; write days as 2026-02-01.") from error
    span = timedelta(days=count - 1)
    end = end or (start + span if start else datetime.now(UTC).date() - timedelta(days=1))
    start = start or end - span
    if end < start:
        raise ProjectError(f"The last day {end} is before the first day {start}.")
    return [start + timedelta(days=number) for number in range((end - start).days + 1)]


def make_landing_data(
    registry: Registry,
    project: Project,
    *,
    storage_root: Path,
    days: Sequence[date],
    rows: int = 200,
    seed: int = 42,
    invalid: float = 0.02,
    overwrite: bool = False,
    spark: SparkSession | None = None,
) -> LandingReport:
    """Write the files that every enabled contract's source describes, one a day, below `storage_root`."""
    request = Request(days, rows, seed, invalid, overwrite=overwrite)
    return LandingPlan(registry, project, storage_root, request).land(spark)


@dataclass(frozen=True, slots=True)
class _Window:
    """A file's time: a day and a slot of it."""

    day: date
    slot: int


class LandingPlan:
    """The files to be, decided but not made.

    A file depends on the seed, the numbers of the request, its contract and its day: it is the same whichever other
    days are made, unless they share the ways to break rows, and one that is there keeps its bytes and its time. A file
    that was not made here, or was changed since, is kept.
    """

    def __init__(
        self, registry: Registry, project: Project, storage_root: Path, request: Request, *, output: Path | None = None
    ) -> None:
        """`output` is the folder to lay files below, in the same layout, instead of the storage root."""
        self._request = request
        self._lake = storage_root.absolute()
        self._root = output.absolute() if output else self._lake
        self._made = MadeFiles(self._root)
        found, self._skipped = _landings(registry, project, storage_root)
        self._landings = {contract.key: landing for contract, landing in found}
        self._contracts = registry.contracts
        feeds = plan_feeds(registry, [contract for contract, _ in found])
        breakers = {
            key: plan_breaker(registry, feed, typed=self._landings[key].form.is_typed) for key, feed in feeds.items()
        }
        edges = {
            key: plan_edges(feed, self._landings[key].form) if request.edge_cases else () for key, feed in feeds.items()
        }
        wish = Wish(request.rows, request.invalid, request.thorough)
        hourly = frozenset(key for key, landing in self._landings.items() if landing.is_hourly and feeds[key].is_dated)
        days = {key: len(self._days(key, feed)) for key, feed in feeds.items()}
        sizes = plan_sizes(feeds, wish, {key: each.faults for key, each in breakers.items()}, edges, hourly, days)
        self._breakers = breakers
        self._batches = {
            key: Batch(
                feeds[key],
                sizes[key],
                breakers[key].faults,
                edges[key],
                breakers[key].admitted,
                self._only_day(key, feeds),
                self._first_day(key, feeds),
            )
            for key in _parents_first(feeds)
        }
        self._far = far_rules(registry, self._chosen) if request.invalid else {}

    def land(self, spark: SparkSession | None = None) -> LandingReport:
        """Write all files."""
        return self._report([file for key in self._chosen for file in self._land(key, self._windows(key), spark)])

    def stream(self, spark: SparkSession | None = None) -> Iterator[LandingReport]:
        """Write the files of one window after another, oldest first; the caller says what lies between."""
        waiting: dict[datetime, list[tuple[Key, _Window]]] = {}
        for key in self._chosen:
            for window in self._windows(key):
                hour = hour_of(window.slot, self._batches[key].size.slots)
                moment = datetime.combine(window.day, time(hour), UTC)
                waiting.setdefault(moment, []).append((key, window))
        for moment in sorted(waiting):
            yield self._report([file for key, window in waiting[moment] for file in self._land(key, [window], spark)])

    def explained(self) -> Iterator[str]:
        """The SQL of every column of every contract, sound and broken."""
        from lakelogic_assets.spark.synthetic.rendering import text_columns

        for key in self._chosen:
            yield from text_columns(self._rows(key))

    @property
    def _chosen(self) -> list[Key]:
        only = self._request.only
        return [key for key in self._batches if only is None or key in only]

    def _windows(self, key: Key) -> list[_Window]:
        batch = self._batches[key]
        return [_Window(day, slot) for day in self._days(key, batch.feed) for slot in range(batch.size.slots)]

    def _days(self, key: Key, feed: Feed) -> list[date]:
        """The days that get files: all, or the newest alone where a second file would only repeat the first."""
        days = sorted(set(self._request.days))
        chosen = days if self._is_daily(key, feed) else days[-1:]
        return [day for day in chosen if self._landings[key].admits(day)]

    def _is_daily(self, key: Key, feed: Feed) -> bool:
        landing = self._landings[key]
        return landing.single is None and (landing.day_format is not None or feed.says_day)

    def _only_day(self, key: Key, feeds: Mapping[Key, Feed]) -> int | None:
        feed = feeds[key]
        if not feed.is_dated:
            return 0  # what says no day is the same on every day
        days = self._days(key, feed)
        return (days[0] - EPOCH).days if days and not self._is_daily(key, feed) else None

    def _first_day(self, key: Key, feeds: Mapping[Key, Feed]) -> int | None:
        if not self._request.thorough:
            return None
        days = self._days(key, feeds[key])
        return (days[0] - EPOCH).days if days and feeds[key].is_dated else 0

    def _report(self, files: Sequence[LandedFile]) -> LandingReport:
        chosen = self._chosen
        late = [
            Skipped(key, "its source reads no files of that day", day)
            for key in chosen
            for day in (sorted(set(self._request.days)) if self._is_daily(key, self._batches[key].feed) else ())
            if not self._landings[key].admits(day)
        ]
        only = self._request.only
        skipped = [each for each in self._skipped if only is None or each.contract in only]
        unbroken = {**{key: self._breakers[key].unbroken for key in chosen}, **self._far}
        return LandingReport(tuple(files), (*skipped, *late), unbroken)

    def _land(self, key: Key, windows: Sequence[_Window], spark: SparkSession | None) -> list[LandedFile]:
        try:
            return list(self._landed(key, windows, spark))
        finally:
            self._made.save()

    def _landed(self, key: Key, windows: Sequence[_Window], spark: SparkSession | None) -> Iterator[LandedFile]:
        if not windows:
            return
        from lakelogic_assets.spark.session import local_session
        from lakelogic_assets.spark.synthetic.files import written

        landing = self._landings[key]
        rows = self._rows(key)
        planned = [(window, part, place) for window in windows for part, place in enumerate(self._places(key, window))]
        places = [place for _, _, place in planned]
        session = spark or local_session()
        if landing.form.format == "pdf":
            yield from self._land_documents(rows, planned, session)
            return
        with written(session, rows, landing.form, places, self._root) as made:
            for (window, part, place), new in zip(planned, made, strict=True):
                path = self._moved(landing.file(self._moment(key, window), part))
                state = self._put(path, new, landing)
                yield _file(key, window, path, place.rows, state, *rows.broken(place))

    def _rows(self, key: Key) -> Rows:
        from lakelogic_assets.spark.synthetic.frame import Rows
        from lakelogic_assets.spark.synthetic.values import Values

        seed = self._request.seed
        return Rows(self._batches[key], Values(self._batches, seed, self._request.locale), seed)

    def _land_documents(
        self, rows: Rows, planned: Sequence[tuple[_Window, int, FilePlace]], spark: SparkSession
    ) -> Iterator[LandedFile]:
        """A document for every row."""
        from lakelogic_assets.spark.synthetic.files import collected

        key = rows.batch.feed.asset
        contract, landing = self._contracts[key], self._landings[key]
        lines = document_lines(contract)
        texts = iter(collected(spark, rows, [place for _, _, place in planned]))
        new = self._root / f".made-{key[-1]}.pdf"
        for window, _, place in planned:
            wrong = rows.each_broken(place)
            for number in range(place.rows):
                new.parent.mkdir(parents=True, exist_ok=True)
                new.write_bytes(document(contract.info.title or key[-1], lines, next(texts)))
                path = self._moved(landing.file(self._moment(key, window), number))
                state = self._put(path, new, landing)
                yield _file(key, window, path, 1, state, *wrong.get(number, ((), ())))
        new.unlink(missing_ok=True)

    def _put(self, path: Path, new: Path, landing: Landing) -> State:
        """The file on disk; a file of the same bytes is not touched, so that no run takes it for a new one."""
        if landing.archive is not None and not path.exists() and _same(landing.archive / path.name, new):
            return "archived"
        state: State = "unchanged" if _same(path, new) else "written"
        if state == "written":
            if path.exists() and not self._request.overwrite and not self._made.holds(path):
                return "kept"
            path.parent.mkdir(parents=True, exist_ok=True)
            new.replace(path)
        self._made.note(path)
        return state

    def _moved(self, path: Path) -> Path:
        return self._root / path.absolute().relative_to(self._lake) if self._root != self._lake else path

    def _moment(self, key: Key, window: _Window) -> datetime | None:
        if not self._is_daily(key, self._batches[key].feed):
            return None
        return datetime.combine(window.day, time(hour_of(window.slot, self._batches[key].size.slots)))

    def _places(self, key: Key, window: _Window) -> list[FilePlace]:
        """The rows of a window, in as many files as they need."""
        from lakelogic_assets.spark.synthetic.frame import FilePlace

        size, feed = self._batches[key].size, self._batches[key].feed
        day = (window.day - EPOCH).days if feed.is_dated else 0
        first = -(-window.slot * size.rows // size.slots)
        count = -(-(window.slot + 1) * size.rows // size.slots) - first
        parts = 1 if self._landings[key].single else max(1, -(-count // ROWS_OF_A_FILE))
        cuts = [first + count * part // parts for part in range(parts + 1)]
        return [FilePlace(day, window.slot, low, high - low) for low, high in pairwise(cuts)]


def _landings(
    registry: Registry, project: Project, storage_root: Path
) -> tuple[list[tuple[Contract, Landing]], list[Skipped]]:
    found: list[tuple[Contract, Landing]] = []
    skipped: list[Skipped] = []
    for contract in sort_contracts(registry, project).sound:
        if contract.source is None or contract.source.is_table:
            continue
        try:
            found.append((contract, landing_of(contract, project, storage_root)))
        except NoLandingError as reason:
            skipped.append(Skipped(contract.key, str(reason)))
    return found, skipped


def _parents_first(feeds: Mapping[Key, Feed]) -> list[Key]:
    """What others refer to, then what refers to it; a circle is entered where it is met first."""
    ordered: dict[Key, None] = {}
    entered: set[Key] = set()

    def enter(key: Key) -> None:
        if key in entered:
            return
        entered.add(key)
        for column in feeds[key].columns:
            if isinstance(column.strategy, Reference):
                enter(column.strategy.contract)
        ordered[key] = None

    for key in feeds:
        enter(key)
    return list(ordered)


def _file(
    key: Key, window: _Window, path: Path, rows: int, state: State, faults: Sequence[Fault], edges: Sequence[Fault]
) -> LandedFile:
    """What is said of a file; of one that somebody else made nothing is known."""
    if state == "kept":
        return LandedFile(key, window.day, path, 0, {}, state)
    return LandedFile(key, window.day, path, rows, _counted(faults), state, _counted(edges), _rules(faults))


def _counted(faults: Sequence[Fault]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, faults)).items()))


def _rules(faults: Sequence[Fault]) -> dict[str, int]:
    return dict(sorted(Counter(name for fault in faults for name in fault.noticed_by).items()))


def _same(path: Path, new: Path) -> bool:
    return path.is_file() and path.stat().st_size == new.stat().st_size and path.read_bytes() == new.read_bytes()
