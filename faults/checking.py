"""What the tables really hold, read with a reader that shares no code with the engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable
from pyarrow import parquet

from faults.scene import Row, Scene, State, day_of

_SCD2 = ("k", "v", "effective_from", "effective_to", "is_current")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the tables of a scene; nothing, where all numbers are zero."""

    lost: int = 0
    doubled: int = 0
    half_published: int = 0
    needs_a_person: int = 0
    says: tuple[str, ...] = ()
    struck: bool = True
    """Whether the fault happened at all; one that did not proves nothing."""

    def __add__(self, other: Finding) -> Finding:
        return Finding(
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.half_published + other.half_published,
            self.needs_a_person + other.needs_a_person,
            (*self.says, *other.says),
            self.struck and other.struck,
        )

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.half_published or self.needs_a_person)


def seen(scene: Scene) -> State:
    """The rows that a reader of the tables finds now."""
    return State(_target(scene), Counter(row["id"] for row in _rows(scene.quarantine, ["id"])))


def glimpse(scene: Scene, before: State, after: State, day: int) -> Finding:
    """Right after the fault: the table is as before or as after, and never new without its bad rows."""
    return among(scene, [after, without_bad_rows_of(before, day)])


def without_bad_rows_of(before: State, day: int) -> State:
    """Before a day is published, its bad rows may be the former ones, the new ones or both; all others stay."""
    kept = {id_: count for id_, count in before.quarantine.items() if day_of(id_) != day}
    return State(before.target, Counter(kept))


def among(scene: Scene, possible: Sequence[State]) -> Finding:
    """The table is one of these as a whole, with all the bad rows that belong to it; more of them may wait."""
    try:
        now = seen(scene)
    except Exception as error:
        return Finding(half_published=1, says=(f"unreadable after the fault: {error}",))
    alike = [state for state in possible if state.target == now.target]
    if not alike:
        mixture = [_difference(now.target, state.target) for state in possible]
        return Finding(half_published=1, says=(f"a mixture after the fault: {' or '.join(mixture)}",))
    if all(state.quarantine - now.quarantine for state in alike):
        missing = sorted(alike[0].quarantine - now.quarantine)
        return Finding(half_published=1, says=(f"published without the bad rows {missing[:5]}",))
    return Finding()


def verdict(scene: Scene, after: State) -> Finding:
    """After the recovery: every row exactly once, in the table or in quarantine, and nothing left open."""
    try:
        now = seen(scene)
    except Exception as error:
        return Finding(needs_a_person=1, says=(f"unreadable after the recovery: {error}",))
    lost = sum((after.target - now.target).values()) + sum((after.quarantine - now.quarantine).values())
    doubled = sum((now.target - after.target).values()) + sum((now.quarantine - after.quarantine).values())
    said = []
    if lost or doubled:
        said.append(f"target {_difference(now.target, after.target)}")
        said.append(f"quarantine {_difference(now.quarantine, after.quarantine)}")
    left = [str(path.name) for path in scene.intents.rglob("*.json")]
    miscounted = list(_miscounted(scene))
    half = len(left) + len(miscounted)
    said += [f"intents left: {left}"] * bool(left) + miscounted
    return Finding(lost=lost, doubled=doubled, half_published=half, says=tuple(said))


def came_through(scene: Scene) -> list[dict[str, Any]]:
    """What the log says of runs that wrote this table, or found that they need not: oldest first."""
    found = list(_logged(scene.run_log))
    if not found:
        return []
    table = str(DeltaTable(str(scene.target)).metadata().id)
    return [each for each in found if each["status"] in ("success", "unchanged") and each["table_id"] == table]


def windows_of(scene: Scene) -> set[str]:
    """The first days of the windows that came through."""
    return {_first_day(run) for run in came_through(scene)}


def _miscounted(scene: Scene) -> Iterator[str]:
    """Where the log's counts are not those of the lines in the landing folder, counted by plain Python."""
    runs = came_through(scene)
    if len({run["run_id"] for run in runs}) != len(runs):
        yield "a run is in the log twice"
    for what, logged, lines in _pairs(scene, runs):
        if lines and not logged:
            yield f"{what}: {len(lines)} lines in the files, and no run of them in the log"
            continue
        counted = Counter(source=len(lines), good=0, quarantined=0, dropped=0)
        counted.update("good" if row.is_good else "quarantined" if row.is_bad else "dropped" for row in lines)
        sums = {name: sum(run["counts"][name] for run in logged) for name in counted}
        if sums != counted:
            yield f"{what}: the log counts {sums}, the files have {dict(counted)}"


def _pairs(
    scene: Scene, runs: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, Sequence[dict[str, Any]], Sequence[Row]]]:
    """Runs, and the lines that they together must have counted once; none, where nothing in the log says so."""
    every = [row for rows in scene.files.values() for row in rows]
    if scene.strategy == "overwrite":
        yield "everything", runs[-1:], every
    elif not scene.windowed:
        yield "all that was new", runs, every
    else:
        last = {_first_day(run): run for run in runs}
        for start in sorted({row.day for row in every}):
            logged = [last[start]] if start in last else []
            yield start, logged, [row for row in every if row.day == start]


def _first_day(run: dict[str, Any]) -> str:
    return str(run["window"]["start"])[:10]


def _target(scene: Scene) -> Counter[tuple[Any, ...]]:
    if scene.strategy == "scd2":
        return Counter(tuple(_plain(row[name]) for name in _SCD2) for row in _rows(scene.target, list(_SCD2)))
    return Counter((row["id"], row["k"], row["v"]) for row in _rows(scene.target, ["id", "k", "v"]))


def _logged(path: Path) -> Iterator[dict[str, Any]]:
    """Reports in the order of their commits: the log's own times are told by a clock that may have jumped."""
    for commit in sorted((path / "_delta_log").glob("*.json")):
        for line in commit.read_text(encoding="utf-8").splitlines():
            added = json.loads(line).get("add")
            if added and added["dataChange"]:
                for row in parquet.read_table(path / unquote(added["path"]), columns=["report_json"]).to_pylist():
                    yield json.loads(row["report_json"])


def _rows(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    if not any((path / "_delta_log").glob("*.json")):
        return []
    table = DeltaTable(str(path))
    return list(table.to_pyarrow_table(columns=columns).to_pylist())


def _plain(value: Any) -> Any:
    if hasattr(value, "strftime"):
        moment = value.astimezone(UTC) if getattr(value, "tzinfo", None) else value
        return f"{moment:%Y-%m-%d %H:%M:%S}" if hasattr(moment, "hour") else f"{moment:%Y-%m-%d} 00:00:00"
    return value


def _difference(now: Counter[Any], wanted: Counter[Any]) -> str:
    lost, more = sorted((wanted - now).items(), key=repr), sorted((now - wanted).items(), key=repr)
    return f"lacks {lost[:4]} of {len(lost)}, has {more[:4]} of {len(more)} too many"
