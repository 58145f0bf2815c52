"""Many runs in graph order: side by side where nothing waits, held back below what did not succeed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Key = tuple[str, ...]
R = TypeVar("R")
State = Literal["started", "done", "failed", "held"]


@dataclass(frozen=True, slots=True)
class Progress(Generic[R]):
    """What just happened to one node."""

    key: Key
    state: State
    result: R | None = None
    error: Exception | None = None
    waits_for: tuple[Key, ...] = ()


def run_in_order(
    upstream: Mapping[Key, Sequence[Key]],
    run: Callable[[Key], R],
    *,
    releases: Callable[[R], bool],
    parallel: int = 1,
    tell: Callable[[Progress[R]], None] = lambda _: None,
) -> dict[Key, Progress[R]]:
    """Run every node once its upstreams are done; a node below one that did not release it is held.

    Upstreams that are not among the nodes count as done: a selection runs on what is already there.
    """
    waiting = {key: {up for up in ups if up in upstream} for key, ups in upstream.items()}
    finished: dict[Key, Progress[R]] = {}
    running: dict[Future[R], Key] = {}

    def settle(progress: Progress[R]) -> None:
        finished[progress.key] = progress
        tell(progress)

    with ThreadPoolExecutor(max_workers=max(1, parallel)) as pool:
        while waiting or running:
            for key in [key for key, ups in waiting.items() if ups <= finished.keys()]:
                blockers = tuple(sorted(up for up in waiting.pop(key) if finished[up].state != "done"))
                if blockers:
                    settle(Progress(key, "held", waits_for=blockers))
                else:
                    tell(Progress(key, "started"))
                    running[pool.submit(run, key)] = key
            if not running:
                if waiting and not any(ups <= finished.keys() for ups in waiting.values()):
                    raise ValueError(f"These wait for each other: {sorted(waiting)}")
                continue
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                settle(_outcome(running.pop(future), future, releases))
    return finished


def _outcome(key: Key, future: Future[R], releases: Callable[[R], bool]) -> Progress[R]:
    error = future.exception()
    if error is not None:
        if not isinstance(error, Exception):
            raise error
        return Progress(key, "failed", error=error)
    result = future.result()
    return Progress(key, "done" if releases(result) else "failed", result)
