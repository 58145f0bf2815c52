"""Many runs in graph order: side by side where nothing waits, held back below what did not succeed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

N = TypeVar("N", bound=Hashable)
R = TypeVar("R")
State = Literal["started", "done", "failed", "held"]


@dataclass(frozen=True, slots=True)
class Progress(Generic[N, R]):
    """What just happened to one node."""

    key: N
    state: State
    result: R | None = None
    error: Exception | None = None
    waits_for: tuple[N, ...] = ()
    reason: str | None = None
    """Why it was not even started, where nothing that it waits for is to blame."""


@dataclass(frozen=True)
class Rules(Generic[N, R]):
    """What decides whether a node may begin."""

    state_of: Callable[[R], State]
    """What a result comes to: only below what is done others go on, and only what failed counts as a failure."""
    stands_in: Callable[[N, N], bool] = lambda _node, _blocker: False
    """Whether a node may begin although this one of its upstreams did not succeed."""
    after: Mapping[N, Sequence[N]] = field(default_factory=dict)
    """Nodes that come first, however they end."""
    max_consecutive_failures: int | None = None
    """After so many failures in a row nothing more is started."""


def run_in_order(
    upstream: Mapping[N, Sequence[N]],
    run: Callable[[N], R],
    rules: Rules[N, R],
    *,
    parallel: int = 1,
    tell: Callable[[Progress[N, R]], None] = lambda _: None,
) -> dict[N, Progress[N, R]]:
    """Run every node once its upstreams are done; how each of them ended."""
    finished: dict[N, Progress[N, R]] = {}
    for progress in follow_in_order(upstream, run, rules, parallel=parallel):
        if progress.state != "started":
            finished[progress.key] = progress
        tell(progress)
    return finished


def follow_in_order(
    upstream: Mapping[N, Sequence[N]], run: Callable[[N], R], rules: Rules[N, R], *, parallel: int = 1
) -> Iterator[Progress[N, R]]:
    """The same, step by step. A node below one that is not done is held.

    Upstreams that are not among the nodes count as done: a selection runs on what is already there.
    """
    return _Schedule(upstream, run, rules).progress(max(1, parallel))


class _Schedule(Generic[N, R]):
    """Nodes on their way from waiting over running to finished."""

    def __init__(
        self,
        upstream: Mapping[N, Sequence[N]],
        run: Callable[[N], R],
        rules: Rules[N, R],
    ) -> None:
        self.run, self.rules = run, rules
        self.upstream = {key: {up for up in ups if up in upstream} for key, ups in upstream.items()}
        after = {key: {each for each in rules.after.get(key, ()) if each in upstream} for key in upstream}
        self.waiting = {key: len(ups | after[key]) for key, ups in self.upstream.items()}
        self.below: dict[N, list[N]] = {key: [] for key in upstream}
        for key, ups in self.upstream.items():
            for up in ups | after[key]:
                self.below[up].append(key)
        self.ready = [key for key, count in self.waiting.items() if not count]
        self.finished: dict[N, Progress[N, R]] = {}
        self.failures = 0

    def progress(self, width: int) -> Iterator[Progress[N, R]]:
        running: dict[Future[R], N] = {}
        with ThreadPoolExecutor(max_workers=width) as pool:
            while self.ready or running:
                # No more than can run now: what comes later is decided by how these end.
                while self.ready and len(running) < width:
                    key = self.ready.pop(0)
                    held = self._held(key)
                    if held is not None:
                        yield self._settled(held)
                        continue
                    yield Progress(key, "started")
                    running[pool.submit(self.run, key)] = key
                if running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield self._settled(self._outcome(running.pop(future), future))
        stuck = [key for key in self.upstream if key not in self.finished]
        if stuck:
            raise ValueError(f"These wait for each other: {sorted(map(str, stuck))}")

    def _held(self, key: N) -> Progress[N, R] | None:
        limit = self.rules.max_consecutive_failures
        if limit is not None and self.failures >= limit:
            return Progress(key, "held", reason=f"not started after {limit} failures in a row")
        blockers = [up for up in self.upstream[key] if self.finished[up].state != "done"]
        blockers = [up for up in blockers if not self.rules.stands_in(key, up)]
        return Progress(key, "held", waits_for=tuple(sorted(blockers, key=str))) if blockers else None

    def _settled(self, progress: Progress[N, R]) -> Progress[N, R]:
        self.finished[progress.key] = progress
        if progress.state != "held":
            self.failures = self.failures + 1 if progress.state == "failed" else 0
        for key in self.below[progress.key]:
            self.waiting[key] -= 1
            if not self.waiting[key]:
                self.ready.append(key)
        return progress

    def _outcome(self, key: N, future: Future[R]) -> Progress[N, R]:
        error = future.exception()
        if error is not None:
            if not isinstance(error, Exception):
                raise error
            return Progress(key, "failed", error=error)
        result = future.result()
        return Progress(key, self.rules.state_of(result), result)
