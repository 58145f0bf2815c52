"""`python -m faults [--seed N] [--faults N] [--only KIND]`: the exit code says whether all that must be zero is."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from queue import Queue

from faults.catalogue import Fault, draw, further
from faults.checking import Finding
from faults.crew import crew
from faults.deeds import let_loose
from faults.lane import Lane
from faults.mounting import CANNOT_MOUNT, again_in_a_namespace, may_mount, may_mount_in_a_namespace
from faults.record import COLUMNS, record

FULL = 520
_FEW = 20
"""So many are done before it pays to keep the classes of a JVM for the next ones."""


def main(argv: list[str] | None = None) -> int:
    asked, begun = _arguments(argv), time.monotonic()
    faults = [each for each in draw(asked.seed, asked.faults) if not asked.only or each.kind in asked.only]
    if any(fault.kind == "disk" for fault in faults) and not may_mount():
        if may_mount_in_a_namespace():
            return again_in_a_namespace([*(sys.argv[1:] if argv is None else argv), "--seed", str(asked.seed)])
        print(CANNOT_MOUNT, file=sys.stderr)
        return 2
    print(f"seed {asked.seed}: repeat with `python -m faults --seed {asked.seed} --faults {asked.faults}`", flush=True)
    with tempfile.TemporaryDirectory(prefix="lakelogic-faults-") as folder:
        found = battery(faults, Path(folder), asked.lanes, further(asked.seed) if not asked.only else ())
        if asked.keep:
            shutil.copytree(folder, asked.keep, dirs_exist_ok=True)
    print(table(found))
    conflicts = [finding for fault, finding in found if fault.kind == "conflict"]
    again = sum("evaluated again" in finding.says for finding in conflicts)
    print(f"{again} of {len(conflicts)} foreign commits made the engine evaluate again; the others got along with it")
    bad = [f"{fault}: {'; '.join(finding.says)}" for fault, finding in found if not finding.is_clean]
    if asked.record or (asked.faults >= FULL and not asked.only):
        sums = {kind: dict(each) for kind, each in summed(found).items()}
        told = {"evaluated_again": again, "lanes": asked.lanes, "bad": bad, "table": sums}
        record("faults", begun, {"seed": asked.seed, "faults": asked.faults, "only": asked.only, **told})
    return 1 if bad else 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--faults", type=int, default=FULL)
    parser.add_argument("--only", action="append", help="a kind of fault; may be given several times")
    parser.add_argument("--lanes", type=int, default=2, help="how many are let loose side by side")
    parser.add_argument("--record", action="store_true", help="keep the counts of a smaller battery, too")
    parser.add_argument("--keep", type=Path, help="copy what is left to this folder")
    return parser.parse_args(argv)


def battery(faults: list[Fault], folder: Path, lanes: int, more: Iterable[Fault] = ()) -> list[tuple[Fault, Finding]]:
    """All faults, some side by side, each in a scene of its own; `more` stands in for those that did not strike."""
    begun = time.monotonic()
    done: list[tuple[Fault, Finding]] = []
    with crew(folder / "victims.log") as people:
        if len(faults) > _FEW:
            people.share_classes(folder / "classes.jsa", Lane(folder / "first", people).first_command())
        free: Queue[Lane] = Queue()
        for number in range(lanes):
            free.put(Lane(folder / f"lane-{number}", people))

        def one(fault: Fault) -> tuple[Fault, Finding]:
            lane = free.get()
            try:
                finding = let_loose(lane, fault)
            except Exception as error:  # the others go on, and the table is printed whatever becomes of one
                finding = Finding(needs_a_person=1, says=(f"{type(error).__name__}: {error}",))
            finally:
                free.put(lane)
            done.append((fault, finding))
            mark = "BAD" if not finding.is_clean else "ok " if finding.struck else "-- "
            print(f"{len(done):4} {time.monotonic() - begun:6.0f} s {mark} {fault}", flush=True)
            for said in finding.says if not finding.is_clean else ():
                print(f"       {said}", flush=True)
            return fault, finding

        found: list[tuple[Fault, Finding]] = []
        spare = iter(more)
        with ThreadPoolExecutor(lanes) as pool:
            while missing := list(islice(chain(faults[len(found) :], spare), len(faults) - _struck(found))):
                found += pool.map(one, missing)
        return found


def _struck(found: list[tuple[Fault, Finding]]) -> int:
    return sum(finding.struck for _, finding in found)


def table(found: list[tuple[Fault, Finding]]) -> str:
    """Kinds of faults down, what must be zero to the right."""
    lines = [f"{'':26}" + "".join(f"{name:>17}" for name in COLUMNS)]
    lines += [f"{kind:26}" + "".join(f"{sums[name]:17}" for name in COLUMNS) for kind, sums in summed(found).items()]
    return "\n".join(lines)


def summed(found: list[tuple[Fault, Finding]]) -> dict[str, Counter[str]]:
    """By kind, and in the end all of them."""
    sums: dict[str, Counter[str]] = {}
    for fault, finding in found:
        figures = (
            1,
            finding.struck,
            finding.is_clean,
            finding.lost,
            finding.doubled,
            finding.half_published,
            finding.needs_a_person,
        )
        for kind in (fault.kind, "all"):
            sums.setdefault(kind, Counter()).update(dict(zip(COLUMNS, map(int, figures), strict=True)))
    return {kind: sums[kind] for kind in sorted(sums, key=lambda kind: (kind == "all", kind))}


if __name__ == "__main__":
    sys.exit(main())
