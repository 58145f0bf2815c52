"""Which faults there are, and which of them a seed draws."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, cycle, islice, product
from typing import Any, Final

from faults.points import APPEARANCES, BORDERS
from faults.scene import KEYED, STRATEGIES

KILLED: Final = ("kill python", "kill jvm", "kill both")
_SOMEBODY: Final = (None, "first", "second")
_CHANGES: Final = ("truncate", "replace", "remove", "add")
_CHANGED_AT: Final = ("after read", "after prepare", "before quarantine", "after quarantine", "before commit")
_DROPPED_AT: Final = ("after evaluate", "after prepare", "before commit", "after commit")
_STOPPED_AT: Final = (
    "after read", "after evaluate", "after prepare", "after intent", "before quarantine", "after quarantine",
    "before commit", "after commit", "before log",
)  # fmt: skip
_UPKEEP_DIES: Final = ("commit", "first data file", None)
"""As soon as it has made one of these, or at some moment."""
_CLOCKS: Final = (-90_000.0, -3_600.0, -1.0, 3_600.0, 90_000.0)
_JUMPS: Final = ("after read", "after evaluate", "after quarantine", "before commit", "after commit")


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong in one scene; the seed draws its rows."""

    kind: str
    strategy: str
    windowed: bool = True
    begins: str = "next"
    """The table is not there yet (`first`), holds a day (`next`), or the day itself is run again (`again`)."""
    seed: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def face(self) -> tuple[str, str, object]:
        """What no run of the full size may leave out: this kind, for this strategy, done in this way."""
        way = next((self.details[name] for name in ("act", "killed", "jumps") if name in self.details), None)
        return self.kind, self.strategy, way is not None if self.kind == "clock" else way

    def __str__(self) -> str:
        how = "by day" if self.windowed else "what is new"
        said = ", ".join(f"{name} {value}" for name, value in self.details.items() if value is not None)
        return f"{self.kind}: {self.strategy} ({how}, {self.begins}) {said}"


def draw(seed: int, count: int) -> list[Fault]:
    """`count` faults: one of each kind, one of each face, every border and every death in Dagster, others by chance.

    Where there is no room for all of these, the first of them.
    """
    rng = random.Random(seed)
    every = catalogue(rng)
    rng.shuffle(every)
    kinds = {fault.kind: fault for fault in every}.values()
    faces = {fault.face: fault for fault in every}.values()
    whole = [fault for fault in every if fault.kind in _WHOLE]
    in_turn = {id(fault): fault for fault in chain(kinds, faces, whole, every)}.values()
    chosen = list(islice(chain(in_turn, further(seed)), count))
    rng.shuffle(chosen)
    return chosen


def catalogue(rng: random.Random) -> list[Fault]:
    """All faults there are, each with rows and moments of its own."""
    return [fault for made in _KINDS.values() for fault in made(rng)]


def further(seed: int) -> Iterator[Fault]:
    """Kills at random moments without end, in place of faults that did not strike."""
    rng = random.Random(seed + 1)
    while True:
        yield from _moments(rng)


def _begins(rng: random.Random, strategy: str, windowed: bool) -> str:
    possible = ["first", "next", "next"] + (["again"] if windowed and strategy != "overwrite" else [])
    return rng.choice(possible)


def _fault(rng: random.Random, kind: str, strategy: str, windowed: bool | None = None, **details: Any) -> Fault:
    by_day = rng.random() < 0.6 if windowed is None else windowed
    begins = details.pop("begins", None) or _begins(rng, strategy, by_day)
    return Fault(kind, strategy, by_day, begins, rng.getrandbits(32), details)


def _borders(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for border in BORDERS:
            for act in ("kill python", "kill jvm"):
                yield _fault(rng, "border", strategy, border=border, act=act)


def _appearances(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for appearance in APPEARANCES:
            if (appearance.endswith("of a partition")) != (strategy == "partition") and "first data" in appearance:
                continue
            for act in KILLED:
                yield _fault(rng, "appearance", strategy, appearance=appearance, act=act)


def _moments(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for act in KILLED:
            for part in range(5):
                yield _fault(rng, "moment", strategy, act=act, moment=round((part + rng.random()) / 5, 3))


def _killed_twice(rng: random.Random) -> Iterator[Fault]:
    """The second death is in the recovery from the first, or later in the same run."""
    for strategy in STRATEGIES:
        acts = cycle(rng.sample(KILLED, len(KILLED)))
        for first in ("after intent", "after quarantine", "after commit", "before log", "before forget"):
            second = rng.choice(("after recover", "before quarantine", "after commit", "after log"))
            details = {"borders": [first, second], "act": next(acts), "news": rng.random() < 0.7}
            yield _fault(rng, "killed twice", strategy, **details)


def _doctors(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        acts = cycle(rng.sample(KILLED, len(KILLED)))
        for border in ("after intent", "after quarantine", "after commit", "before forget"):
            yield _fault(rng, "doctor", strategy, border=border, act=next(acts))


def _at_once(kind: str) -> Callable[[random.Random], Iterator[Fault]]:
    def made(rng: random.Random) -> Iterator[Fault]:
        for strategy in STRATEGIES:
            for killed in (False, True):
                windowed = True if kind == "two windows at once" else None
                yield _fault(rng, kind, strategy, windowed, pause=round(rng.random() * 2, 3), killed=killed)

    return made


def _unlocked(kind: str) -> Callable[[random.Random], Iterator[Fault]]:
    """The first run stands still where the lock would have kept the second one waiting, which may stop as well."""

    def made(rng: random.Random) -> Iterator[Fault]:
        for strategy in STRATEGIES:
            deaths = cycle(rng.sample(_SOMEBODY, len(_SOMEBODY)))
            for border in _STOPPED_AT:
                windowed = True if kind.startswith("two windows") else None
                killed = next(deaths)
                then = rng.choice(_STOPPED_AT if killed == "second" else (None, *_STOPPED_AT))
                yield _fault(rng, kind, strategy, windowed, border=border, then=then, killed=killed)

    return made


def _upkeep(kind: str) -> Callable[[random.Random], Iterator[Fault]]:
    def made(rng: random.Random) -> Iterator[Fault]:
        for strategy, killed in product(STRATEGIES, (None, "run", "upkeep", "upkeep")):
            for locked in (True, False) if kind == "erasure" else (None,):
                details: dict[str, Any] = {"pause": round(rng.random() * 2, 3), "killed": killed}
                if locked is not None:
                    details["locked"] = locked
                if killed == "upkeep":
                    details["appearance"] = rng.choice(_UPKEEP_DIES)
                yield _fault(rng, kind, strategy, begins="next", **details)

    return made


def _sources(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for act in _CHANGES:
            # What is appended or merged from a file that is replaced later stays; only a window is read as a whole.
            windowed = strategy != "overwrite" and (act != "add" or None)
            yield _fault(rng, "source", strategy, windowed, begins="next", act=act, border=rng.choice(_CHANGED_AT))


def _drops(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for border in _DROPPED_AT:
            windowed = None if strategy != "overwrite" else False
            yield _fault(rng, "dropped", strategy, windowed, begins="next", border=border, act="drop table")


def _conflicts(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for act in ("foreign delete", "foreign compaction"):
            for border in ("after evaluate", "before commit"):
                yield _fault(rng, "conflict", strategy, begins="next", border=border, act=act)


def _clocks(rng: random.Random) -> Iterator[Fault]:
    """Half of them are off from the beginning, the others jump within the run."""
    for number, (strategy, offset) in enumerate(product(STRATEGIES, _CLOCKS)):
        windowed = None if strategy not in KEYED else False
        jumps = rng.choice(_JUMPS) if number % 2 else None
        yield _fault(rng, "clock", strategy, windowed, begins="first", offset=offset, jumps=jumps)


def _disks(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        for room in (4, 16, 40, 80):
            yield _fault(rng, "disk", strategy, begins="next", room_kb=room + rng.randint(0, 8))


def _backfills(rng: random.Random) -> Iterator[Fault]:
    for strategy in STRATEGIES:
        if strategy != "overwrite":
            for act in KILLED:
                details = {"border": rng.choice(BORDERS), "act": act, "nth": rng.randint(1, 3)}
                yield _fault(rng, "backfill", strategy, True, begins="first", **details)


def _dagster(rng: random.Random) -> Iterator[Fault]:
    strategies = [each for each in STRATEGIES if each != "overwrite"]
    killed = ("daemon", "webserver", "run", "daemon and run")
    for who, strategy in zip(killed, rng.sample(strategies, len(strategies)), strict=True):
        yield _fault(rng, "dagster", strategy, True, begins="first", killed=who, pause=round(10 * rng.random(), 3))


_KINDS: Final[dict[str, Callable[[random.Random], Iterator[Fault]]]] = {
    "border": _borders,
    "appearance": _appearances,
    "moment": _moments,
    "killed twice": _killed_twice,
    "doctor": _doctors,
    "one window twice at once": _at_once("one window twice at once"),
    "two windows at once": _at_once("two windows at once"),
    "one window twice unlocked": _unlocked("one window twice unlocked"),
    "two windows unlocked": _unlocked("two windows unlocked"),
    "maintenance": _upkeep("maintenance"),
    "erasure": _upkeep("erasure"),
    "conflict": _conflicts,
    "source": _sources,
    "dropped": _drops,
    "clock": _clocks,
    "disk": _disks,
    "backfill": _backfills,
    "dagster": _dagster,
}
_WHOLE: Final = ("border", "dagster")
"""Kinds of which a run leaves out nothing, when it has room for that."""
