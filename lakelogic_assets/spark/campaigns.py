"""A request becomes tasks: which windows of which contracts, decided by calendars, folders and run logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.resources import PartitionSet
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.errors import RequestError
from lakelogic_assets.plan.calendar import Days, Granularity, cut, windows_between
from lakelogic_assets.plan.campaign import Campaign, Task, plan_tasks
from lakelogic_assets.plan.request import PipelineRequest, refuse_future
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.sources.arrivals import arrivals
from lakelogic_assets.spark.time_range import days_of_table
from lakelogic_assets.spark.window_states import WENT_WELL, History, WindowState, history, is_logged, window_states
from lakelogic_assets.spark.windows import is_cut_by_place, time_candidates
from lakelogic_assets.spark.workspace import Workspace

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_A_MOMENT, _A_DAY = timedelta(microseconds=1), timedelta(days=1)
_TIMES = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Planner:
    """Decides with what is known now; nothing is read from tables and nothing is written."""

    registry: Registry
    workspace: Workspace
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def campaign(self, request: PipelineRequest, keys: Iterable[Key]) -> Campaign:
        """The tasks of a request for these contracts, in graph order."""
        if request.days:
            refuse_future(request.days[1], max(self.now.astimezone(ZoneInfo(each)).date() for each in self._zones))
        chosen = [key for key in keys if self.registry.contracts[key].place.enabled]
        planned: dict[Key, list[Task]] = {}
        for key in chosen:
            planned[key] = self._tasks(request, key, planned)
        planned = {key: self._ordered(tasks, request) for key, tasks in planned.items()}
        self._refuse_uncut(request, planned)
        if request.window == "last_success":
            planned = self._without_missing_upstreams(planned)
        if request.days and planned and not any(planned.values()):
            first, last = request.days
            raise RequestError(f"There is no partition from {first} to {last}; one is there when its time is over.")
        return self.plan(planned)

    def plan(self, planned: dict[Key, list[Task]]) -> Campaign:
        """Tasks with what they wait for: the windows of their upstreams that they read from."""
        contracts = self.registry.contracts
        return plan_tasks(planned, self.registry.graph.upstream, lambda t: read_window(contracts[t.key], t.window))

    @cached_property
    def _zones(self) -> frozenset[str]:
        """The zones that the project's partition sets are in."""
        declared = self.workspace.declarations.partitions.values()
        return frozenset(each.timezone for each in declared) or frozenset(("UTC",))

    @property
    def _zone(self) -> str:
        """Whose days a contract without partitions goes by: those of all the others, where they agree."""
        return next(iter(self._zones)) if len(self._zones) == 1 else "UTC"

    def partitions(self, contract: Contract) -> PartitionSet | None:
        """The set that the contract is made by, where it is made by one."""
        name = settings_of(contract).partitions
        return self.workspace.declarations.partitions.get(name) if name else None

    def windows(self, contract: Contract, first: date, last: date) -> list[Window]:
        """The contract's partitions that touch these days."""
        declared = self.partitions(contract)
        return windows_between(declared, first, last, self.now) if declared else []

    def unbuilt(self, key: Key) -> list[Task]:
        """Partitions that the source has rows of and that were never tried: what a first load has still to do."""
        contract = self.registry.contracts[key]
        days = self._days_of_source(contract)
        if days is None:
            return []
        known = window_states(self.workspace.destination(contract).run_log, "/".join(key))
        if any(state.window.is_full and state.succeeded for state in known.values()):
            return []
        windows = [window for window in self.windows(contract, *days) if window.key not in known]
        return [Task(key, window, "its source has rows of it") for window in windows]

    def _tasks(self, request: PipelineRequest, key: Key, planned: Mapping[Key, Sequence[Task]]) -> list[Task]:
        contract = self.registry.contracts[key]
        if request.window == "full" and self.partitions(contract) is None:
            return [Task(key, FULL, "full")]
        if request.window in ("full", "last_success"):
            # Everything at once would be written beside the partitions that are there.
            return self._since_success(contract, planned, warns=request.window == "last_success")
        if request.days is None:
            return []
        by = request.by if request.window == "backfill" else None
        found, why = self.dated(contract, request.days, by)
        warns = self._knows_no_days(contract)
        return [Task(key, window, why, rebuilds=request.window == "reprocess", warns=warns) for window in found]

    def _ordered(self, tasks: list[Task], request: PipelineRequest) -> list[Task]:
        if request.direction != "reverse":
            return tasks
        # What is new goes before any window also when these are turned.
        windows = [task for task in tasks if not task.window.is_full]
        return [*(task for task in tasks if task.window.is_full), *reversed(windows)]

    def dated(self, contract: Contract, days: Days, by: Granularity | None = None) -> tuple[list[Window], str]:
        """A contract by partitions keeps to them; another is cut as asked, where a window of it can be told apart."""
        declared = self.partitions(contract)
        if declared is not None:
            return self.windows(contract, *days), f"its `{declared.name}` partitions from {days[0]} to {days[1]}"
        if self._knows_no_days(contract):
            return [FULL], "its source has no days to tell it by, so only what is new is read"
        if not follows_windows(contract):
            return [FULL], "made as a whole, after what it is made from"
        first = self._news_of(contract)
        if first is None:
            return [FULL], "none of it is loaded yet, so everything is"
        if by is None:
            found = [Window.range(days[0].isoformat(), days[1].isoformat(), self._zone)]
            return [*first, *found], f"{days[0]} to {days[1]}"
        return [*first, *cut(days, by, self._zone)], f"{days[0]} to {days[1]} by {by}"

    def _knows_no_days(self, contract: Contract) -> bool:
        """Whether some days of an incremental contract cannot be told from the others."""
        is_incremental = contract.source is not None and contract.source.load_mode != "full"
        return is_incremental and self.partitions(contract) is None and not follows_windows(contract)

    def _news_of(self, contract: Contract) -> list[Window] | None:
        """What is run before some days of a contract: rows that are appended by what is new would come once more after
        a window that has read them already. None where no day of such a table may be loaded alone for that reason.
        """
        if contract.materialization.strategy != "append":
            return []
        states = window_states(self.workspace.destination(contract).run_log, "/".join(contract.key))
        done = [state.window for state in states.values() if state.succeeded]
        return [window for window in done if window.is_full] if done else None

    def _refuse_uncut(self, request: PipelineRequest, planned: Mapping[Key, Sequence[Task]]) -> None:
        """Days that nothing of what is asked for can be cut by would be left as they are, and said to be done."""
        first = [self.registry.contracts[key] for key in planned if not set(self._upstream(key)) & planned.keys()]
        if request.days and first and all(map(self._knows_no_days, first)):
            names = ", ".join(contract.table for contract in first)
            raise RequestError(
                f"{names} cannot be cut into days: name a column of time in `source.watermark_field` or "
                "`materialization.reprocess_date_column`, run it without days for what is new, or `lakelogic reload` it"
                "."
            )

    def _since_success(self, contract: Contract, planned: Mapping[Key, Sequence[Task]], *, warns: bool) -> list[Task]:
        """Windows since the first that succeeded that none did, and those whose newest attempt did not.

        Without any, everything is loaded; `warns` where that is more than was asked for.
        """
        key, run_log = contract.key, self.workspace.destination(contract).run_log
        told = history(run_log, "/".join(key))
        states = told.states
        if not any(state.succeeded for state in states.values()):
            there = "has no success of it" if is_logged(run_log) else "is not there yet"
            why = f"the run log {there}, so everything is loaded"
            return [Task(key, window, why, warns=warns) for window in self._everything(contract, planned)]
        declared = self.partitions(contract)
        if declared is None:
            newest = max(state.succeeded for state in states.values() if state.succeeded)
            return [Task(key, FULL, f"since the success of {newest:%Y-%m-%d %H:%M:%S} UTC")]
        return [Task(key, window, why) for window, why in self._open_windows(declared, told)]

    def _open_windows(self, declared: PartitionSet, told: History) -> Iterable[tuple[Window, str]]:
        done = [state for state in told.states.values() if state.succeeded]
        newest = max(state.window.end or state.succeeded or _BEGINNING for state in done)
        for window in windows_between(declared, now=self.now):
            state = told.states.get(window.key)
            if state is not None and state.status not in WENT_WELL:
                yield window, f"it was {state.status} when it was last tried"
            elif state is not None or any(_took_in(each, window) for each in done):
                continue
            elif window.start and told.begun and told.begun <= window.start < newest:
                yield window, "no run of it succeeded, though one of a window before or beside it did"
            elif window.end and window.end > newest:
                yield window, f"after the last success, which ended {newest:%Y-%m-%d %H:%M} UTC"

    def _everything(self, contract: Contract, planned: Mapping[Key, Sequence[Task]]) -> list[Window]:
        """All of the source: by partition where it can be told which there are, else in one go."""
        declared = self.partitions(contract)
        if declared is None:
            return [FULL]
        return self._windows_of_tables(contract, planned) or self._windows_of_folders(contract, declared) or [FULL]

    def _windows_of_tables(self, contract: Contract, planned: Mapping[Key, Sequence[Task]]) -> list[Window]:
        """The partitions that the source has rows of, and those that its upstreams are about to bring."""
        coming = [t.window for up in self.registry.graph.upstream[contract.key] for t in planned.get(up, ())]
        days = [window.local_start.date() for window in coming if window.local_start]
        days += [(window.local_end - _A_MOMENT).date() for window in coming if window.local_end]
        days += self._days_of_source(contract) or ()
        if not days or (contract.source is not None and contract.source.table is None):
            return []
        return self.windows(contract, min(days), max(days))

    def _days_of_source(self, contract: Contract) -> Days | None:
        source, declared = contract.source, self.partitions(contract)
        if source is None or source.table is None or declared is None:
            return None
        path = self.workspace.lakehouse(contract).table_path(source.path or "")
        days = days_of_table(path, time_candidates(contract, FULL))
        if days is None or declared.timezone == "UTC":
            return days
        # A day more on both sides, because days of a zone are not days of UTC.
        return days[0] - _A_DAY, days[1] + _A_DAY

    def _windows_of_folders(self, contract: Contract, declared: PartitionSet) -> list[Window]:
        found = arrivals(contract, self.workspace.lakehouse(contract))
        spans = [arrival.span for arrival in found if arrival.span is not None]
        if not spans or len(spans) < len(found):
            return []
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        return [
            window
            for window in windows_between(declared, first.date(), last.date(), self.now)
            if any(_touches(window, span) for span in spans)
        ]

    def _without_missing_upstreams(self, planned: dict[Key, list[Task]]) -> dict[Key, list[Task]]:
        """A contract below one that never succeeded, and is not about to, is skipped with that as the reason."""
        coming: set[Key] = set()
        kept: dict[Key, list[Task]] = {}
        for key, tasks in planned.items():
            missing = [up for up in self._upstream(key) if up not in coming and not self._has_succeeded(up)]
            if missing:
                names = ", ".join("/".join(up) for up in missing)
                why = f"its upstream {names} has no success in the run log; run that first"
                kept[key] = [Task(key, FULL, "", skipped=why)]
            else:
                coming |= {key} if tasks else set()
                kept[key] = tasks
        return kept

    def _upstream(self, key: Key) -> Sequence[Key]:
        contracts = self.registry.contracts
        return [up for up in self.registry.graph.upstream[key] if contracts[up].place.enabled]

    def _has_succeeded(self, key: Key) -> bool:
        run_log = self.workspace.destination(self.registry.contracts[key]).run_log
        return any(state.succeeded for state in window_states(run_log, "/".join(key)).values())


def follows_windows(contract: Contract) -> bool:
    """Whether a contract without partitions can take in some days by themselves."""
    source = contract.source
    if source is None or source.load_mode == "full":
        return False
    return is_cut_by_place(contract) or any(_may_be_time(contract, each) for each in time_candidates(contract, FULL))


def _may_be_time(contract: Contract, name: str) -> bool:
    """Texts hold times too, but a text that a table is partitioned by alone is rather a country."""
    declared = contract.model.field(name)
    kind = declared.spark_type.casefold() if declared else None
    only_partitions = name in contract.materialization.partition_by and name not in (
        contract.materialization.reprocess_date_column,
        contract.source.watermark_field if contract.source else None,
    )
    return kind is None or kind in _TIMES or (kind == "string" and not only_partitions)


def _took_in(done: WindowState, window: Window) -> bool:
    """Whether a success of another window has read this one too; one without bounds has read what was over by then."""
    until = done.window.end or done.succeeded
    return done.window.covers(window) and window.end is not None and until is not None and window.end <= until


def _touches(window: Window, span: tuple[datetime, datetime]) -> bool:
    """Folders are named by the clock of the window's zone."""
    start, end = window.local_start, window.local_end
    begin, after = (moment.replace(tzinfo=None) for moment in span)
    return (start is None or after > start) and (end is None or begin < end)


def below(registry: Registry, keys: Iterable[Key]) -> list[Key]:
    """These contracts and everything that is made from them, in graph order."""
    found = set(keys)
    order = [key for level in registry.graph.levels for key in level]
    for key in order:
        if found & set(registry.graph.upstream[key]):
            found.add(key)
    return [key for key in order if key in found]
