"""Two processes on one table, with the lock between them or without: two runs, or a run and what tends the table."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from faults.catalogue import Fault
from faults.checking import Finding, among
from faults.crew import StuckError, Victim
from faults.lane import Lane, buried, prepared, traceback_of
from faults.scene import Scene, State, draw_rows

Command = dict[str, Any]
Answer = dict[str, Any] | None
_PATIENCE: Final = 300.0


def one_window_twice(lane: Lane, fault: Fault) -> Finding:
    scene, _, day, _, after = prepared(lane, fault)
    found, answers = _both(lane, fault, [lane.command(scene, day)] * 2)
    return found + _judged(lane, scene, answers, [after], [day], after)


def two_windows(lane: Lane, fault: Fault) -> Finding:
    scene, commands, ways, days = _two_days(lane, fault)
    found, answers = _both(lane, fault, commands)
    return found + _judged(lane, scene, answers, ways, days, scene.state(days))


def one_window_twice_unlocked(lane: Lane, fault: Fault) -> Finding:
    scene, _, day, _, after = prepared(lane, fault)
    found, answers = _in_turns(lane, fault, scene, [lane.command(scene, day)] * 2)
    return found + _judged(lane, scene, answers, [after], [day], after)


def two_windows_unlocked(lane: Lane, fault: Fault) -> Finding:
    scene, commands, ways, days = _two_days(lane, fault)
    found, answers = _in_turns(lane, fault, scene, commands)
    return found + _judged(lane, scene, answers, ways, days, scene.state(days))


def _two_days(lane: Lane, fault: Fault) -> tuple[Scene, list[Command], list[State], list[int]]:
    """Two days at once can end as either way in which they may follow each other, without the one that was killed.

    Whichever came first: running all once more in order must give what order gives.
    """
    scene, days, day, _, _ = prepared(lane, fault)
    other = max(days) + 1
    scene.land(other, draw_rows(random.Random(fault.seed + 1), other))
    others = [each for each in days if each != day]
    ways = [[*others, day, other], [*others, other, day]]
    if fault.details["killed"] == "second":
        ways.append([*others, day])
    elif fault.details["killed"]:
        ways.append([*days, other] if fault.begins == "again" else [*others, other])
    commands = [lane.command(scene, day), lane.command(scene, other)]
    return scene, commands, [scene.state(way) for way in ways], [*days, other]


def upkeep(deed: str) -> Callable[[Lane, Fault], Finding]:
    """OPTIMIZE and VACUUM of the engine, or the erasure of a person by somebody else, beside a run."""

    def side_by_side(lane: Lane, fault: Fault) -> Finding:
        scene, days, day, _, after = prepared(lane, fault)
        found = Finding()
        if fault.details["killed"] == "upkeep":
            found += _further_day(lane, fault, scene, days)
            day, after = days[-1], scene.state(days)
        if deed == "erase":
            scene.land(day, [row for row in scene.rows_of(day) if row.k != "k00"])
            after = _forgotten(scene, days, scene.state(days))
        beside = {"do": deed, "contract": str(scene.contract), "locked": fault.details.get("locked", True)}
        if fault.details["killed"] is None:
            struck, answers = _both(lane, fault, [lane.command(scene, day), beside])
            return found + struck + _judged(lane, scene, answers, _either(scene, after, deed), [day], after)
        found += _one_dies(lane, fault, lane.command(scene, day), beside)
        # Whether it came through beside the one that died or not, it is asked for once more.
        with lane.hired() as victim:
            found += traceback_of(victim.do(beside))
        return found + lane.recover(scene, [day], after)

    return side_by_side


def _further_day(lane: Lane, fault: Fault, scene: Scene, days: list[int]) -> Finding:
    """Files enough that they are worth being put together: the day is run, and another one lands."""
    with lane.hired() as victim:
        found = traceback_of(lane.run(victim, scene, days[-1]))
    days.append(days[-1] + 1)
    scene.land(days[-1], draw_rows(random.Random(fault.seed + 1), days[-1]))
    return found


def _one_dies(lane: Lane, fault: Fault, run: Command, beside: Command) -> Finding:
    if fault.details["killed"] == "run":
        return _both(lane, fault, [run, beside])[0]
    appearance = fault.details["appearance"]
    if appearance is None:
        return _both(lane, fault, [beside, run])[0]
    if appearance == "first data file" and fault.strategy == "partition":
        appearance += " of a partition"
    death = {"appearance": appearance, "act": "kill python"}
    return _both(lane, fault, [{**beside, "fault": death}, run], dies_by_itself=True)[0]


def _forgotten(scene: Scene, days: list[int], plain: State) -> State:
    """The tables without the person who is forgotten; an overwritten table gets everything from the source again."""
    if scene.strategy == "overwrite":
        return plain
    left = {path: [row for row in rows if row.k != "k00" or row.is_bad] for path, rows in scene.files.items()}
    return Scene(scene.folder, scene.strategy, scene.windowed, left).state(days)


def _either(scene: Scene, after: State, deed: str) -> list[State]:
    """What there may be before anything is run again: an erasure may come before or after a complete reload."""
    if deed != "erase" or scene.strategy != "overwrite":
        return [after]
    without = Counter({row: n for row, n in after.target.items() if "k00" not in row})
    return [after, State(without, after.quarantine)]


def _judged(
    lane: Lane, scene: Scene, answers: Sequence[Answer], ways: list[State], again: list[int], after: State
) -> Finding:
    """Two at once end as one of the ways in which they can follow each other, and stay so when they are run again."""
    found = sum(map(traceback_of, answers), Finding())
    refused = [answer["error"] for answer in answers if answer and "error" in answer]
    if refused or not found.is_clean:
        return found + Finding(needs_a_person=len(refused), says=tuple(refused))
    return found + among(scene, ways) + lane.recover(scene, again, after)


def _both(
    lane: Lane, fault: Fault, commands: list[Command], *, dies_by_itself: bool = False
) -> tuple[Finding, list[Answer]]:
    """Two commands in two processes at once; where the fault says so, the first one is killed in the middle."""
    first, second = lane.crew.get(), lane.crew.get()
    first.tell(commands[0])
    time.sleep(fault.details["pause"] if commands[1]["do"] != "run" else 0)
    struck = first.is_busy or dies_by_itself
    second.tell(commands[1])
    if fault.details["killed"] and not dies_by_itself:
        time.sleep(fault.details["pause"] / 2)
        struck = first.is_busy
        first.kill()
    answers = [_last_word(lane, first), _last_word(lane, second)]
    struck &= answers[0] is None or not fault.details["killed"]
    return sum(map(traceback_of, answers), Finding(struck=struck)), answers


def _in_turns(lane: Lane, fault: Fault, scene: Scene, commands: list[Command]) -> tuple[Finding, list[Answer]]:
    """Without the lock, as on an object store: the first stands still at a border, the second runs to its end or stops.

    Then the first goes on to its end, and after it the second. Only one at a time moves, since two processes that
    commit to a folder at the very same moment are what Delta cannot do; every order of their commits can be had so.
    """
    killed, borders = fault.details["killed"], (fault.details["border"], fault.details["then"])
    stops = [scene.folder / "first", scene.folder / "second"]
    people = [lane.crew.get(), lane.crew.get()]
    struck = True
    for person, command, border, stop in zip(people, commands, borders, stops, strict=True):
        wait = {"border": border, "act": "wait", "here": f"{stop}.here", "go": f"{stop}.go"} if border else None
        person.tell({**command, "unlocked": True, "fault": wait})
        struck &= _stands_still(person, stop) or not border
    answers = []
    for name, person, stop in zip(("first", "second"), people, stops, strict=True):
        if killed == name:
            struck &= person.is_busy
            person.kill()
        stop.with_suffix(".go").touch()
        answers.append(_last_word(lane, person))
    return Finding(struck=struck), answers


def _stands_still(person: Victim, stop: Path) -> bool:
    """Whether it has come to where it waits, rather than to its end."""
    deadline = time.monotonic() + _PATIENCE
    while person.is_busy:
        if stop.with_suffix(".here").exists():
            return True
        if time.monotonic() > deadline:
            raise StuckError(f"a run came neither to its border nor to its end in {_PATIENCE:g} s")
        time.sleep(0.02)
    return False


def _last_word(lane: Lane, person: Victim) -> Answer:
    """What a process has said in the end; nothing, when it was killed, and then it is gone with its JVM."""
    answer = person.hear()
    if answer is None:
        buried(person)
    else:
        lane.crew.give_back(person)
    return answer
