"""What is around a run is not as it should be: the clock is wrong, the disk is full."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any, Final

from faults.catalogue import Fault
from faults.checking import Finding, among, came_through, glimpse
from faults.lane import Lane, prepared, traceback_of
from faults.mounting import small_disk
from faults.scene import Scene, draw_rows

_DISK_MB: Final = 24


def clock_wrong(lane: Lane, fault: Fault) -> Finding:
    """The clock is off while the first day lands and runs, or jumps within that run, and so again for the third."""
    scene, _ = lane.scene(fault)
    now, offset, border = time.time(), fault.details["offset"], fault.details["jumps"]
    believed = True
    with lane.hired() as victim:
        for day, off in enumerate((offset, 0.0, offset / 2)):
            landed = now + day + (0.0 if border else off)
            scene.land(day, draw_rows(random.Random(fault.seed + day), day), mtime=landed)
            answer = lane.run(victim, scene, day, clock=off, jumps=border)
            if not answer or "done" not in answer:
                return Finding(needs_a_person=1, says=(str(answer),))
            believed &= not off or _is_told(scene, answer["done"]["told"], "ended_at" if border else "started_at")
    after = scene.state([0, 1, 2])
    return Finding(struck=believed) + among(scene, [after]) + lane.recover(scene, [2], after)


def _is_told(scene: Scene, told: list[str], name: str) -> bool:
    """Whether the last run in the log has its time from the wrong clock."""
    runs: list[dict[str, Any]] = came_through(scene)
    return bool(runs) and runs[-1][name] in told


def disk_full(lane: Lane, fault: Fault) -> Finding:
    """The lakehouse lies on a small disk that is full but for some kilobytes."""
    scene, _, day, before, after = prepared(lane, fault)
    aside = lane.folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(scene.folder, aside)
    with small_disk(scene.folder, _DISK_MB):
        shutil.copytree(aside, scene.folder, dirs_exist_ok=True)
        ballast = scene.folder / "ballast"
        _fill(ballast, fault.details["room_kb"])
        with lane.hired() as victim:
            answer = lane.run(victim, scene, day, fault=None, full=True)
        ballast.unlink()
        first = Finding(struck="error" in (answer or {})) + traceback_of(answer) + glimpse(scene, before, after, day)
        return first + lane.recover(scene, [day], after)


def _fill(ballast: Path, room_kb: int) -> None:
    free = shutil.disk_usage(ballast.parent).free
    with ballast.open("wb") as file:
        file.write(b"\0" * max(0, free - room_kb * 1024))
