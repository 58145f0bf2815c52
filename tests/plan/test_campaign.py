"""Contracts times windows, in an order that respects graph and calendar."""

from datetime import date, timedelta

from lakelogic_assets.plan.campaign import Task, plan_tasks
from lakelogic_assets.plan.window import FULL, Window

BRONZE, SILVER, GOLD = ("bronze",), ("silver",), ("gold",)
UPSTREAM = {BRONZE: (), SILVER: (BRONZE,), GOLD: (SILVER,)}
DAYS = [Window.day(date(2026, 2, 1) + timedelta(days=number)) for number in range(3)]


def tasks(key: tuple[str, ...], *windows: Window) -> list[Task]:
    return [Task(key, window) for window in windows]


def test_a_window_waits_for_the_windows_it_reads_and_follows_the_one_before_it() -> None:
    planned = {BRONZE: tasks(BRONZE, *DAYS), SILVER: tasks(SILVER, *DAYS), GOLD: tasks(GOLD, FULL)}
    campaign = plan_tasks(planned, UPSTREAM, lambda task: task.window)
    assert campaign.upstream[Task(SILVER, DAYS[1])] == (Task(BRONZE, DAYS[1]),)
    assert campaign.after[Task(SILVER, DAYS[1])] == (Task(SILVER, DAYS[0]),)
    assert campaign.upstream[Task(GOLD, FULL)] == tuple(tasks(SILVER, *DAYS))
    assert campaign.tasks[:3] == (Task(BRONZE, DAYS[0]), Task(SILVER, DAYS[0]), Task(GOLD, FULL))


def test_a_read_that_looks_back_waits_for_the_days_before_too() -> None:
    planned = {BRONZE: tasks(BRONZE, *DAYS), SILVER: tasks(SILVER, *DAYS)}
    campaign = plan_tasks(planned, UPSTREAM, lambda task: task.window.widened(86_400))
    assert campaign.upstream[Task(SILVER, DAYS[2])] == tuple(tasks(BRONZE, *DAYS[1:]))


def test_what_is_done_is_left_out_and_the_rest_keeps_its_order() -> None:
    planned = {BRONZE: tasks(BRONZE, *DAYS), SILVER: tasks(SILVER, *DAYS)}
    left = plan_tasks(planned, UPSTREAM, lambda task: task.window).without(tasks(BRONZE, *DAYS))
    assert left.tasks == tuple(tasks(SILVER, *DAYS))


def test_a_task_comes_back_from_the_log_as_it_was() -> None:
    task = Task(SILVER, DAYS[0], "because", skipped="not now", rebuilds=True, warns=True)
    again = Task.from_dict(task.as_dict())
    assert (again, again.why, again.skipped, again.rebuilds, again.warns) == (task, "because", "not now", True, True)
