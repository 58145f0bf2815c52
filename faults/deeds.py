"""What is done for each kind of fault, and what must be true afterwards."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from faults.catalogue import Fault
from faults.checking import Finding, among, glimpse, without_bad_rows_of
from faults.crew import Victim
from faults.dagster_backfill import dagster_killed
from faults.lane import Lane, buried, heard, prepared, traceback_of
from faults.scene import Row, Scene, State, day_name, draw_rows, first_id_of
from faults.side_by_side import (
    one_window_twice,
    one_window_twice_unlocked,
    two_windows,
    two_windows_unlocked,
    upkeep,
)
from faults.surroundings import clock_wrong, disk_full


def let_loose(lane: Lane, fault: Fault) -> Finding:
    """Let one fault happen and look what is left of the tables."""
    return _DEEDS[fault.kind](lane, fault)


def _killed_inside(lane: Lane, fault: Fault) -> Finding:
    """A kill at a border or when a file appears; what survives, if anything, must go on by itself."""
    scene, days, day, before, after = prepared(lane, fault)
    if fault.begins == "again" and scene.strategy in ("append", "partition"):
        scene.land(0, draw_rows(random.Random(fault.seed), 0, count=20))
        after = scene.state(days)
    first = _broken_off(lane, scene, day, fault.details) + glimpse(scene, before, after, day)
    return first + lane.recover(scene, [day], after)


def _broken_off(lane: Lane, scene: Scene, day: int, details: dict[str, Any]) -> Finding:
    """One run with a fault inside; it is dead afterwards, or has said a sentence."""
    victim = lane.crew.get()
    answer = lane.run(victim, scene, day, fault=details)
    return _after_the_kill(lane, victim, answer)


def _after_the_kill(lane: Lane, victim: Victim, answer: dict[str, Any] | None) -> Finding:
    if answer is None:
        buried(victim)
    else:
        lane.crew.give_back(victim)
    return heard(answer)


def _killed_twice(lane: Lane, fault: Fault) -> Finding:
    """A further file lands after the first death, and the run that finds both is killed as well."""
    scene, days, day, before, _ = prepared(lane, fault)
    borders, killed = fault.details["borders"], {"act": fault.details["act"]}
    first = _broken_off(lane, scene, day, {"border": borders[0], **killed})
    states = [before, scene.state(days)]
    if fault.details["news"]:
        scene.land(day, _news(fault, day), part=1)
        states.append(scene.state(days))
    second = _broken_off(lane, scene, day, {"border": borders[1], **killed})
    after = states[-1]
    possible = [without_bad_rows_of(before, day), *states[1:]]
    return first + second + among(scene, possible) + lane.recover(scene, [day], after)


def _news(fault: Fault, day: int) -> list[Row]:
    """Lines of a day with keys that no other file has."""
    rng = random.Random(fault.seed + 1)
    return draw_rows(rng, day, count=9, first_id=first_id_of(day) + 500, keys_called="n")


def _doctor(lane: Lane, fault: Fault) -> Finding:
    """After a kill the doctor is called before anybody runs the table again; it leaves nothing half done."""
    scene, _, day, before, after = prepared(lane, fault)
    found = _broken_off(lane, scene, day, fault.details)
    with lane.hired() as victim:
        answer = victim.do(lane.typed(scene, ["doctor", "--repair"])) or {}
    if answer.get("done", {}).get("code") != 0:
        return found + Finding(needs_a_person=1, says=(f"the doctor: {answer}",))
    left = Finding(half_published=len(list(scene.intents.rglob("*.json"))), says=("intents after the doctor",))
    found += (left if left.half_published else Finding()) + glimpse(scene, before, after, day)
    return found + lane.recover(scene, [day], after)


def _killed_sometime(lane: Lane, fault: Fault) -> Finding:
    scene, _, day, before, after = prepared(lane, fault)
    victim = lane.crew.get()
    victim.tell(lane.command(scene, day))
    time.sleep(fault.details["moment"] * lane.usual_seconds[victim.is_warm])
    act = fault.details["act"]
    struck = Finding(struck=victim.is_busy)
    victim.kill(python=act != "kill jvm", jvm=act != "kill python")
    if act == "kill jvm":
        answer = victim.hear()
        lane.crew.give_back(victim)
        struck += traceback_of(answer)
    else:
        buried(victim)
    return struck + glimpse(scene, before, after, day) + lane.recover(scene, [day], after)


def _source_changed(lane: Lane, fault: Fault) -> Finding:
    scene, days, day, before, old = prepared(lane, fault)
    lines = scene.rows_of(day)
    details = _changing(scene, fault, day)
    new = scene.state(days)
    victim = lane.crew.get()
    answer = lane.run(victim, scene, day, fault=details)
    lane.crew.give_back(victim)
    found = heard(answer) + among(scene, [without_bad_rows_of(before, day), old, new])
    if details["act"] == "remove" and scene.strategy != "overwrite":
        return found + _without_its_file(lane, scene, day, answer, (before, old), lines)
    return found + lane.recover(scene, [day], _merged(scene, old, new, answer))


def _without_its_file(
    lane: Lane, scene: Scene, day: int, answer: dict[str, Any] | None, states: tuple[State, State], lines: list[Row]
) -> Finding:
    """A window without files is no news: what was published of it stays, with its bad rows, until somebody rebuilds it.

    Bad rows stay also of a run that failed after it had set them aside, so there the operator has to rebuild.
    """
    before, published = states
    if not answer or "done" not in answer:
        with lane.hired() as victim:
            rebuilt = lane.run(victim, scene, day, reprocess=True) or {}
        said = Finding() if "done" in rebuilt else Finding(needs_a_person=1, says=(f"the rebuild: {rebuilt}",))
        return said + lane.recover(scene, [day], before)
    read = replace(scene, files={**scene.files, str(scene.landing(day)): lines})
    return lane.recover(read, [day], published)


def _changing(scene: Scene, fault: Fault, day: int) -> dict[str, Any]:
    """The fault with the files it needs; the scene knows what the landing folder will hold afterwards."""
    file, act = str(scene.landing(day)), fault.details["act"]
    if act in ("replace", "add"):
        more = draw_rows(random.Random(fault.seed + 1), day, count=9, first_id=first_id_of(day) + 500)
        aside = Scene(scene.folder / "aside", scene.strategy, scene.windowed)
        aside.land(day, more if act == "replace" else _news(fault, day))
        changed = file if act == "replace" else str(scene.landing(day, 1))
        scene.files[changed] = aside.rows_of(day)
        return {**fault.details, "act": "replace", "other": str(aside.landing(day)), "file": changed}
    kept = scene.files.pop(file)
    if act == "truncate":
        scene.files[file] = kept[: (len(kept) + 1) // 2 - 1]
    return {**fault.details, "file": file}


def _merged(scene: Scene, old: State, new: State, answer: dict[str, Any] | None) -> State:
    """Rows merged by key stay when the source loses them, so a run that came through leaves its mark."""
    if scene.strategy not in ("merge", "scd2") or not answer or "done" not in answer:
        return new
    both = Scene(scene.folder, scene.strategy, scene.windowed, dict(scene.files))
    return State(_union(both, old, new), new.quarantine)


def _union(scene: Scene, old: State, new: State) -> Counter[tuple[Any, ...]]:
    position = 1 if scene.strategy == "merge" else 0
    fresh = {row[position] for row in new.target}
    return new.target + Counter({row: n for row, n in old.target.items() if row[position] not in fresh})


def _dropped(lane: Lane, fault: Fault) -> Finding:
    scene, days, day, _, after = prepared(lane, fault)
    return _broken_off(lane, scene, day, fault.details) + lane.recover(scene, days, after)


def _conflict(lane: Lane, fault: Fault) -> Finding:
    """Another program commits between two steps; the run takes it into account, or says that it has to be repeated."""
    scene, days, day, before, plain = prepared(lane, fault)
    after = plain
    if fault.details["act"] == "foreign delete" and scene.strategy != "overwrite":
        after, before = _without_foreign(scene, days, day), _without_foreign(scene, days[:-1], day)
    with lane.hired() as victim:
        answer = lane.run(victim, scene, day, fault=fault.details)
    again = [word for word in (answer or {}).get("done", {}).get("warnings", ()) if word.startswith("Evaluated again")]
    said = Finding(says=("evaluated again",) if again else ())
    return heard(answer) + said + glimpse(scene, before, after, day) + lane.recover(scene, [day], after)


def _without_foreign(scene: Scene, days: list[int], day: int) -> State:
    """The tables when the rows of one key that were there before this day are gone."""
    left = {
        path: [row for row in rows if row.k != "k00" or row.is_bad or row.day == day_name(day)]
        for path, rows in scene.files.items()
    }
    return Scene(scene.folder, scene.strategy, scene.windowed, left).state(days)


def _backfill_killed(lane: Lane, fault: Fault) -> Finding:
    """Four days from the command line, killed in one of them; then what an operator types: resume."""
    scene, _ = lane.scene(fault)
    days = [0, 1, 2, 3]
    scene.cut_by_days(days)
    for day in days:
        scene.land(day, draw_rows(random.Random(fault.seed + day), day))
    victim = lane.crew.get()
    began = lane.backfill(scene, days)
    answer = victim.do({**began, "fault": fault.details})
    return _after_the_kill(lane, victim, answer) + lane.resume(scene, began, scene.state(days), len(days))


_DEEDS: Final[dict[str, Callable[[Lane, Fault], Finding]]] = {
    "border": _killed_inside,
    "appearance": _killed_inside,
    "moment": _killed_sometime,
    "killed twice": _killed_twice,
    "doctor": _doctor,
    "one window twice at once": one_window_twice,
    "two windows at once": two_windows,
    "one window twice unlocked": one_window_twice_unlocked,
    "two windows unlocked": two_windows_unlocked,
    "maintenance": upkeep("maintain"),
    "erasure": upkeep("erase"),
    "conflict": _conflict,
    "source": _source_changed,
    "dropped": _dropped,
    "clock": clock_wrong,
    "disk": disk_full,
    "backfill": _backfill_killed,
    "dagster": dagster_killed,
}
