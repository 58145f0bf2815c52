"""Rows that a run brings may belong to other days of the tables below: those days are found and rebuilt too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.calendar import Days, days_of, spans
from lakelogic_assets.plan.campaign import Campaign, Task
from lakelogic_assets.plan.request import PipelineRequest
from lakelogic_assets.plan.schedule import Progress
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.late import LateReport, LateWindow, late_windows
from lakelogic_assets.spark.pipeline import Done, Pipeline, Told
from lakelogic_assets.spark.run_log import runs_of
from lakelogic_assets.spark.workspace import Workspace

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def late_of(planner: Planner, contract: Contract) -> LateReport | None:
    """What came late for a contract that is made by partitions; None for others."""
    if planner.partitions(contract) is None or not contract.place.enabled:
        return None

    def windows(start: datetime, end: datetime) -> list[Window]:
        # A day more on both sides, because days of a zone are not days of UTC.
        day = timedelta(days=1)
        return planner.windows(contract, (start - day).date(), (end + day).date())

    return late_windows(contract, planner.workspace, windows, planner.now)


def run_to_the_end(
    pipeline: Pipeline,
    campaign: Campaign,
    keys: Collection[Key],
    tell: Told = lambda _: None,
    plan: Callable[[Campaign], None] = lambda _: None,
    before: Iterable[Task] = (),
) -> dict[Task, Done]:
    """Run the tasks, then the windows of these contracts that rows came for meanwhile, until there are none.

    So the order in which days are run does not matter; `plan` is told of each round before it begins. `before` are
    tasks that an earlier attempt has done: what they made late is looked for too.
    """
    finished: dict[Task, Done] = {}
    earlier: dict[Task, Done] = {task: Progress(task, "done") for task in before}
    more: Campaign | None = campaign
    for _ in range(most_rounds(pipeline.registry)):
        if more is None:
            break
        plan(more)
        finished |= pipeline.run(more, tell) if more.tasks else {}
        all_done = earlier | finished
        more = what_is_left(pipeline.request, pipeline.registry, pipeline.workspace, keys, all_done, pipeline.run_id)
    return finished


def most_rounds(registry: Registry) -> int:
    """A rebuilt window has seen the newest version of its source, so after a round for each layer nothing is late."""
    return 1 + len(registry.graph.levels)


def what_is_left(
    request: PipelineRequest,
    registry: Registry,
    workspace: Workspace,
    keys: Iterable[Key],
    done: Mapping[Task, Any],
    pipeline_run_id: str,
) -> Campaign | None:
    """The windows that became late by what was just run, or that a first load has only now seen; None without any.

    What was late before is left to who asks for it, which `last_success` does.
    """
    planner = Planner(registry, workspace)
    ran = {task.key for task, progress in done.items() if progress.state == "done"}
    found: dict[Key, list[Task]] = {}
    for key in keys if request.window != "full" else ():
        if ran & set(registry.graph.upstream[key]):
            takes_all = request.window == "last_success"
            first = planner.unbuilt(key) if takes_all else []
            by = None if takes_all else _runs_above(planner, key, pipeline_run_id)
            tasks = [task for task in (*_late_tasks(planner, key, by), *first) if _may_be_run(task, done)]
            found |= {key: tasks} if tasks else {}
    return planner.plan(found) if found else None


def _may_be_run(task: Task, done: Mapping[Task, Any]) -> bool:
    """What went well may have to be built again; what did not is for a person to look at."""
    return task not in done or done[task].state == "done"


def _runs_above(planner: Planner, key: Key, pipeline_run_id: str) -> Collection[str]:
    """The runs by which one pipeline run has written what a contract reads."""
    registry = planner.registry
    upstream = (registry.contracts[up] for up in registry.graph.upstream[key])
    logs = {planner.workspace.destination(contract).run_log for contract in upstream}
    return {run for log in logs for run in runs_of(log, pipeline_run_id)}


def _late_tasks(planner: Planner, key: Key, by: Collection[str] | None) -> list[Task]:
    """Late windows, where runs are named only those that one of them may have made late."""
    report = late_of(planner, planner.registry.contracts[key])
    return [_rebuilt(key, each.window) for each in report.late if by is None or _is_by(each, by)] if report else []


def _is_by(late: LateWindow, runs: Collection[str]) -> bool:
    """Rows that do not say which run brought them, and rows that have gone, may be anybody's."""
    came = {each.run_id for each in late.arrived}
    return not came or None in came or not came.isdisjoint(runs)


def _rebuilt(key: Key, window: Window, why: str = "rows came for it after it was built") -> Task:
    return Task(key, window, why, rebuilds=True)


def tasks_of_late(planner: Planner, late: Mapping[Key, Iterable[Window]], keys: Iterable[Key]) -> list[Task]:
    """These windows and, of what is made from them among `keys`, those that read from them; `keys` are in graph order.

    Days between two late windows are not touched.
    """
    planned: dict[Key, list[Task]] = {}
    days: dict[Key, list[Days]] = {}
    for key in keys:
        upstream = [up for up in planner.registry.graph.upstream[key] if up in planned]
        own = {window: _rebuilt(key, window) for window in late.get(key, ())}
        read = _reading(planner, key, [task for up in upstream for task in planned[up]], [days[up] for up in upstream])
        tasks = {window: _rebuilt(key, window, "made from windows that rows came for") for window in read} | own
        if tasks:
            planned[key] = sorted(tasks.values(), key=lambda task: (task.window.start or _BEGINNING, task.window.key))
            touched = [each for each in map(days_of, own) if each is not None]
            days[key] = spans([*touched, *(span for up in upstream for span in days[up])])
    return [task for tasks in planned.values() for task in tasks]


def _reading(planner: Planner, key: Key, rebuilt: Sequence[Task], days: Iterable[Sequence[Days]]) -> list[Window]:
    """The windows of a contract that read from some that are rebuilt; all of it where these have no days."""
    contract = planner.registry.contracts[key]
    whole = [FULL] if rebuilt and planner.partitions(contract) is None else []
    found = [w for span in spans(chain.from_iterable(days)) for w in planner.dated(contract, span)[0]] or whole
    return [w for w in found if any(task.window.overlaps(read_window(contract, w)) for task in rebuilt)]
