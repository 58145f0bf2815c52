"""Contracts times windows, in an order that respects both the graph and the calendar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic_assets.plan.window import FULL, Window

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One window of one contract, and why it is to be run."""

    key: Key
    window: Window = FULL
    why: str = field(default="", compare=False)
    skipped: str | None = field(default=None, compare=False)
    """Why it is not to be run after all; that is recorded like a run."""
    rebuilds: bool = field(default=False, compare=False)
    """Whether rows of the window that its source no longer has give way."""
    warns: bool = field(default=False, compare=False)
    """Whether `why` is not what was asked for, so that somebody should know."""

    def __str__(self) -> str:
        return f"{'/'.join(self.key)} {self.window.key}"

    def as_dict(self) -> dict[str, Any]:
        said = {"contract": list(self.key), "window": self.window.as_dict(), "why": self.why}
        return said | {"skipped": self.skipped, "rebuilds": self.rebuilds, "warns": self.warns}

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> Task:
        window = Window.from_dict(said["window"])
        rebuilds, warns = bool(said.get("rebuilds")), bool(said.get("warns"))
        return Task(tuple(said["contract"]), window, said.get("why") or "", said.get("skipped"), rebuilds, warns)


@dataclass(frozen=True)
class Campaign:
    """Tasks, what each waits for, and which tasks of the same table come before it."""

    tasks: tuple[Task, ...]
    upstream: Mapping[Task, tuple[Task, ...]]
    after: Mapping[Task, tuple[Task, ...]]

    def without(self, done: Iterable[Task]) -> Campaign:
        """What is left when some tasks need not be run again."""
        gone = frozenset(done)
        left = tuple(task for task in self.tasks if task not in gone)
        return Campaign(
            left, {task: self.upstream[task] for task in left}, {task: self.after.get(task, ()) for task in left}
        )


def plan_tasks(
    planned: Mapping[Key, Sequence[Task]],
    upstream: Mapping[Key, Sequence[Key]],
    reads: Callable[[Task], Window],
) -> Campaign:
    """Every task waits for the windows of its upstreams that it reads from, and for the one before it in its table.

    `planned` holds the contracts in the order of their graph, each with its tasks in the order they are to be run.
    """
    waits: dict[Task, tuple[Task, ...]] = {}
    after: dict[Task, tuple[Task, ...]] = {}
    for key, tasks in planned.items():
        for earlier, task in zip((None, *tasks), tasks, strict=False):
            read = reads(task)
            waits[task] = tuple(
                other for up in upstream.get(key, ()) for other in planned.get(up, ()) if other.window.overlaps(read)
            )
            after[task] = (earlier,) if earlier is not None else ()
    return Campaign(_by_time(planned), waits, after)


def _by_time(planned: Mapping[Key, Sequence[Task]]) -> tuple[Task, ...]:
    """Window by window through all layers, so that the first days are there before the last ones begin."""
    longest = max(map(len, planned.values()), default=0)
    rounds = ([tasks[index] for tasks in planned.values() if index < len(tasks)] for index in range(longest))
    return tuple(task for each in rounds for task in each)
