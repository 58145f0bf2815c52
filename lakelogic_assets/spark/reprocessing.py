"""Rows that a run brings may belong to other days of the tables below: those days are found and rebuilt too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.plan.campaign import Campaign, Task
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.late import LateReport, late_windows
from lakelogic_assets.spark.pipeline import Done, Pipeline, Told
from lakelogic_assets.spark.workspace import Workspace


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
) -> dict[Task, Done]:
    """Run the tasks, then the windows of these contracts that rows came for meanwhile, until there are none.

    So the order in which days are run does not matter; `plan` is told of each round before it begins.
    """
    finished: dict[Task, Done] = {}
    more: Campaign | None = campaign
    while more is not None and more.tasks:
        plan(more)
        finished |= pipeline.run(more, tell)
        dated = pipeline.request.window != "full"
        more = rebuilt_below(pipeline.registry, pipeline.workspace, keys, finished) if dated else None
    return finished


def rebuilt_below(
    registry: Registry, workspace: Workspace, keys: Iterable[Key], done: dict[Task, Done]
) -> Campaign | None:
    """The windows that became late by what was just run; None when there are none.

    Only those that were not tried yet: a window that failed is not tried for ever.
    """
    planner = Planner(registry, workspace)
    ran = {task.key for task, progress in done.items() if progress.state == "done"}
    found = {key: _late_tasks(planner, key, done) for key in keys if ran & set(registry.graph.upstream[key])}
    found = {key: tasks for key, tasks in found.items() if tasks}
    return planner.plan(found) if found else None


def _late_tasks(planner: Planner, key: Key, done: Collection[Task]) -> list[Task]:
    report = late_of(planner, planner.registry.contracts[key])
    late = [each.window for each in report.late] if report else []
    tasks = [Task(key, window, "rows came for it after it was built", rebuilds=True) for window in late]
    return [task for task in tasks if task not in done]
