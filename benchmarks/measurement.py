"""The one shape of all measurements: jobs that take turns, what they are held against, and what is kept of them."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchmarks.machine import ROOT, commit, described, user_seconds

RESULTS = ROOT / "benchmarks" / "results"
SCRATCH = ROOT / ".cache" / "benchmarks"
FULL_ROWS = 4_000_000
Clock = Literal["wall", "cpu", "memory_mb"]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: all sizes follow the number of rows, of which four million are the full measure."""

    rows: int = FULL_ROWS
    rounds: int | None = None

    def of(self, full: int, least: int = 1) -> int:
        return max(least, round(full * self.rows / FULL_ROWS))

    @property
    def is_full(self) -> bool:
        return self.rows == FULL_ROWS


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one job; a job that gives none is clocked from outside."""

    wall: float = 0.0
    cpu: float = 0.0
    memory_mb: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)


Job: TypeAlias = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Bar:
    """`job` takes at most `limit` times what `against` takes."""

    job: str
    against: str
    limit: float
    clock: Clock = "wall"


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact of a job is at most so much, whatever the clocks say."""

    job: str
    fact: str
    at_most: float


@dataclass(frozen=True)
class Measurement:
    """Jobs that are run in turn, so that a slow minute of the machine hits all of them."""

    title: str
    jobs: Mapping[str, Job]
    bars: tuple[Bar, ...] = ()
    claims: tuple[Claim, ...] = ()
    rounds: int = 3
    warm_up: int = 1
    """Rounds that are run and not counted: they warm a JVM up."""
    before_each: Callable[[], None] = lambda: None
    """Clears away what the job before has left; not measured."""
    facts: Mapping[str, Any] = field(default_factory=dict)


Prepared: TypeAlias = Callable[[Size], AbstractContextManager[Measurement]]


@dataclass(frozen=True)
class Result:
    """What was measured, and whether each bar was met by it."""

    name: str
    measurement: Measurement
    size: Size
    samples: Mapping[str, tuple[Sample, ...]]
    load: tuple[float, float]

    def least(self, job: str, clock: Clock) -> float:
        """The least of the rounds: what disturbs only ever adds."""
        return float(min(getattr(sample, clock) for sample in self.samples[job]))

    def ratio(self, bar: Bar, clock: Clock) -> float:
        return self.least(bar.job, clock) / max(self.least(bar.against, clock), 1e-9)

    def fact(self, claim: Claim) -> float:
        """The worst of the rounds."""
        return float(max(sample.facts[claim.fact] for sample in self.samples[claim.job]))

    @property
    def verdicts(self) -> Iterator[bool]:
        yield from (self.ratio(bar, bar.clock) <= bar.limit for bar in self.measurement.bars)
        yield from (self.fact(claim) <= claim.at_most for claim in self.measurement.claims)

    @property
    def met(self) -> bool:
        return all(self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.name,
            "title": self.measurement.title,
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "rows": self.size.rows,
            "full": self.size.is_full,
            "load": {"before": round(self.load[0], 2), "after": round(self.load[1], 2)},
            **self.measurement.facts,
            "jobs": {name: _summed_up(samples) for name, samples in self.samples.items()},
            "bars": [self._judged(bar) for bar in self.measurement.bars],
            "claims": [
                {**asdict(claim), "found": self.fact(claim), "met": self.fact(claim) <= claim.at_most}
                for claim in self.measurement.claims
            ],
            "machine": described(),
        }

    def _judged(self, bar: Bar) -> dict[str, Any]:
        ratios = {f"{clock}_ratio": round(self.ratio(bar, clock), 3) for clock in ("wall", "cpu")}
        found = self.ratio(bar, bar.clock)
        return {
            **asdict(bar),
            "limit": round(bar.limit, 3),
            "ratio": round(found, 3),
            **ratios,
            "met": found <= bar.limit,
        }

    def write(self, keep: bool) -> Path:
        """Only the full measure is kept with the code, unless one asks for it."""
        folder = RESULTS if keep or self.size.is_full else SCRATCH
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(self.as_dict(), indent=2) + "\n")
        return path


def measure(name: str, prepared: Prepared, size: Size) -> Result:
    """Prepare, run all jobs in turn for as many rounds as there are, and clear away."""
    before = os.getloadavg()[0]
    with prepared(size) as measurement:
        samples: dict[str, list[Sample]] = {job: [] for job in measurement.jobs}
        for round_ in range(measurement.warm_up + (size.rounds or measurement.rounds)):
            for job, run in measurement.jobs.items():
                measurement.before_each()
                sample = clocked(run)
                if round_ >= measurement.warm_up:
                    samples[job].append(sample)
        kept = {job: tuple(taken) for job, taken in samples.items()}
        return Result(name, measurement, size, kept, (before, os.getloadavg()[0]))


def clocked(run: Callable[[], Any]) -> Sample:
    """One run of it by both clocks, unless it has brought its own."""
    worked, started = user_seconds(), time.perf_counter()
    found = run()
    wall = time.perf_counter() - started
    return found if isinstance(found, Sample) else Sample(wall, user_seconds() - worked)


def _summed_up(samples: tuple[Sample, ...]) -> dict[str, Any]:
    clocks: dict[str, Any] = {}
    for clock in ("wall", "cpu", "memory_mb"):
        taken = [getattr(sample, clock) for sample in samples]
        if any(taken):
            clocks[clock] = {
                "min": round(min(taken), 4),
                "median": round(statistics.median(taken), 4),
                "all": [round(each, 4) for each in taken],
            }
    return {**clocks, "facts": dict(samples[-1].facts)}
