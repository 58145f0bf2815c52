"""A place where one fault at a time is let loose: a folder, some processes, and tables that are ready to be broken."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faults.catalogue import Fault
from faults.checking import Finding, verdict, windows_of
from faults.crew import Crew, Victim, wait_until_gone
from faults.scene import Row, Scene, State, day_name, draw_rows

_WELL = ("success", "unchanged", "no_new_data")
_TRIES = 4


@dataclass
class Lane:
    """Scenes always lie at the same path, so that a table that is ready can be copied there with all it remembers."""

    folder: Path
    crew: Crew
    ready: dict[tuple[str, bool], dict[str, list[Row]]] = field(default_factory=dict)
    usual_seconds: dict[bool, float] = field(default_factory=lambda: {False: 6.0, True: 1.5})
    """How long a run takes in a process that is warm, and in one that is not."""

    def scene(self, fault: Fault) -> tuple[Scene, list[int]]:
        """The scene of a fault, and the days that its table holds already."""
        stage = self.folder / "scene"
        _empty(stage)
        fresh = Scene(stage, fault.strategy, fault.windowed)
        if fault.begins == "first":
            fresh.write_contract()
            return fresh, []
        return self._loaded(fresh), [0]

    def _loaded(self, fresh: Scene) -> Scene:
        kind = (fresh.strategy, fresh.windowed)
        kept = self.folder / "ready" / f"{fresh.strategy}-{fresh.windowed}"
        if kind not in self.ready:
            fresh.write_contract()
            fresh.land(0, draw_rows(random.Random(7), 0))
            with self.hired() as victim:
                self.run(victim, fresh, 0)
            shutil.copytree(fresh.folder, kept)
            self.ready[kind] = dict(fresh.files)
            return fresh
        shutil.copytree(kept, fresh.folder, dirs_exist_ok=True)
        return replace(fresh, files=dict(self.ready[kind]))

    @contextlib.contextmanager
    def hired(self) -> Iterator[Victim]:
        victim = self.crew.get()
        try:
            yield victim
        finally:
            self.crew.give_back(victim)

    def command(self, scene: Scene, day: int, **more: Any) -> dict[str, Any]:
        window = day_name(day) if scene.windowed and scene.strategy != "overwrite" else None
        return {"do": "run", "contract": str(scene.contract), "window": window, **more}

    def first_command(self) -> dict[str, Any]:
        """Something that needs most of what any other command does."""
        scene = Scene(self.folder, "merge", windowed=True)
        scene.write_contract()
        scene.land(0, draw_rows(random.Random(7), 0))
        return self.command(scene, 0)

    def run(self, victim: Victim, scene: Scene, day: int, **more: Any) -> dict[str, Any] | None:
        begun = time.monotonic()
        answer = victim.do(self.command(scene, day, **more))
        if answer and "done" in answer and not more:
            usual = self.usual_seconds[victim.is_warm]
            self.usual_seconds[victim.is_warm] = 0.7 * usual + 0.3 * (time.monotonic() - begun)
            victim.is_warm = True
        return answer

    def backfill(self, scene: Scene, days: list[int]) -> dict[str, Any]:
        words = ["backfill", str(scene.contract), "--from", day_name(days[0]), "--to", day_name(days[-1])]
        return self.typed(scene, words)

    def typed(self, scene: Scene, words: list[str]) -> dict[str, Any]:
        words = [*words, "--project", str(scene.folder)]
        return {"do": "lakelogic", "contract": str(scene.contract), "words": words}

    def resume(self, scene: Scene, began: dict[str, Any], after: State, windows: int) -> Finding:
        """A backfill that died before it was noted is asked for again; any other goes on where it ended."""
        with self.hired() as victim:
            answer = victim.do(self.typed(scene, ["resume"])) or {}
            if "nothing to resume" in answer.get("done", {}).get("said", ""):
                answer = victim.do(began) or {}
            if answer.get("done", {}).get("code") != 0:
                return Finding(needs_a_person=1, says=(str(answer),))
        if len(windows_of(scene)) < windows:
            return Finding(half_published=1, says=(f"only the windows {sorted(windows_of(scene))} were run",))
        return self.recover(scene, [], after)

    def recover(self, scene: Scene, days: list[int], after: State) -> Finding:
        """What an operator does: run the days again; then everything must be in its place."""
        with self.hired() as victim:
            for day in days:
                answer = self._ran(victim, scene, day)
                if answer is not None:
                    return Finding(needs_a_person=1, says=(f"day {day}: {answer}",))
            audited = victim.do({"do": "audit", "contract": str(scene.contract)}) or {}
        found = verdict(scene, after)
        unproved = tuple(audited.get("done", ["no audit"]))
        if unproved:
            found = replace(found, half_published=found.half_published + len(unproved), says=(*found.says, *unproved))
        return found

    def _ran(self, victim: Victim, scene: Scene, day: int) -> str | None:
        """None when it went well in the end, else the last word."""
        last = "nothing"
        for _ in range(_TRIES):
            answer = self.run(victim, scene, day)
            if answer is None:
                return "the process ended"
            if "done" in answer:
                status = answer["done"]["status"]
                return None if status in _WELL else f"{status}"
            last = str(answer.get("error") or answer.get("escaped"))
            if not answer.get("retryable"):
                break
        return last


def prepared(lane: Lane, fault: Fault) -> tuple[Scene, list[int], int, State, State]:
    """A scene with a further day landed: scene, all days, that day, the tables before and after it."""
    scene, done = lane.scene(fault)
    before = scene.state(done)
    day = 0 if fault.begins == "again" else len(done)
    if fault.begins != "again":
        scene.land(day, draw_rows(random.Random(fault.seed), day))
    days = sorted({*done, day})
    return scene, days, day, before, scene.state(days)


def heard(answer: dict[str, Any] | None) -> Finding:
    """What the end of a run with a fault inside tells: a process that is gone was struck, others say whether."""
    return Finding(struck=answer is None or answer["struck"]) + traceback_of(answer)


def traceback_of(answer: dict[str, Any] | None) -> Finding:
    """A sentence is an answer; a traceback is not."""
    if answer and "escaped" in answer:
        return Finding(needs_a_person=1, says=(f"a traceback: {answer['escaped'].strip()[-600:]}",))
    return Finding()


def buried(victim: Victim) -> None:
    """Wait until a killed process and its JVM are gone."""
    victim.bury()
    wait_until_gone(victim.jvm)


def _empty(folder: Path) -> None:
    if folder.is_mount():
        subprocess.run(["umount", str(folder)], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
