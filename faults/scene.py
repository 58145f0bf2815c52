"""A contract with its landing files in a folder of its own, and what its tables must hold by plain Python."""

from __future__ import annotations

import csv
import os
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

STRATEGIES: Final = ("append", "overwrite", "merge", "scd2", "partition")
KEYED: Final = ("merge", "scd2")
COLUMNS: Final = ("id", "k", "v", "note", "day", "at")
FIRST_DAY: Final = date(2026, 2, 1)
KEYS: Final = 24
_IDS: Final = 1_000
"""So many a day has for its rows."""
BEGINNING, OPEN = "1900-01-01 00:00:00", "9999-12-31 00:00:00"

_HEAD = """\
version: 1.0.0
info: {{title: Broken on purpose, table_name: {table}, domain: faults}}
source:
  type: landing
  path: landing
  format: csv
  load_mode: {load_mode}
  watermark_strategy: {watermark}
  partition: {{format: "d_%Y-%m-%d"}}
  options: {{header: "true", recursiveFileLookup: "true"}}
model:
  fields:
    - {{name: id, type: long, required: true}}
    - {{name: k, type: string, required: true}}
    - {{name: v, type: int}}
    - {{name: note, type: string}}
    - {{name: day, type: date}}
    - {{name: at, type: timestamp}}
primary_key: [k]
transformations:
  - {{filter: {{sql: "note <> 'skip'"}}}}
quality: {{row_rules: [{{name: positive, sql: "v >= 0"}}]}}
lineage: {{enabled: true}}
"""
_MATERIALIZATION = {
    "append": "{strategy: append}",
    "overwrite": "{strategy: overwrite}",
    "merge": "{strategy: merge}",
    "scd2": "{strategy: scd2, scd2: {timestamp_field: at, track_columns: [v]}}",
    "partition": "{strategy: partition, partition_by: [day]}",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a landing file: good, bad (`v` below zero or no number) or dropped by the contract's own filter."""

    id: int
    k: str
    v: str
    note: str
    day: str
    at: str

    @property
    def is_dropped(self) -> bool:
        return self.note == "skip"

    @property
    def is_bad(self) -> bool:
        return not self.is_dropped and not self.v.isdigit()

    @property
    def is_good(self) -> bool:
        return not self.is_dropped and not self.is_bad


@dataclass(frozen=True, slots=True)
class State:
    """What the table and its quarantine hold, as counts of plain tuples."""

    target: Counter[tuple[Any, ...]]
    quarantine: Counter[int]


@dataclass(frozen=True)
class Scene:
    """One table. `windowed` runs name a day; others read what is new, or everything where the table is overwritten."""

    folder: Path
    strategy: str
    windowed: bool
    files: dict[str, list[Row]] = field(default_factory=dict)
    """What lies in the landing folder now, by file."""

    @property
    def table(self) -> str:
        return f"t_{self.strategy}"

    @property
    def contract(self) -> Path:
        return self.folder / f"{self.table}.yaml"

    @property
    def target(self) -> Path:
        return self.folder / ".lakehouse/warehouse/lakehouse/faults" / self.table

    @property
    def quarantine(self) -> Path:
        return self.folder / ".lakehouse/warehouse/lakehouse/quarantine" / f"faults_{self.table}"

    @property
    def run_log(self) -> Path:
        return self.target.parent / "_pipeline_run_log"

    @property
    def intents(self) -> Path:
        return self.folder / ".lakehouse/_lakelogic/intents"

    def landing(self, day: int, part: int = 0) -> Path:
        return self.folder / "landing" / f"d_{day_name(day)}" / f"part-{part}.csv"

    def write_contract(self) -> None:
        incremental = self.strategy != "overwrite" and not self.windowed
        head = _HEAD.format(
            table=self.table,
            load_mode="incremental" if incremental else "full",
            watermark="pipeline_log" if incremental else "none",
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.contract.write_text(f"{head}materialization: {_MATERIALIZATION[self.strategy]}\n", encoding="utf-8")

    def cut_by_days(self, days: Sequence[int]) -> None:
        """The contract is made by daily partitions, as a project declares them."""
        with self.contract.open("a", encoding="utf-8") as file:
            file.write("extensions: {com.lakelogic.partitions: daily}\n")
        (self.folder / "partitions").mkdir()
        span = f'start: "{day_name(days[0])}"\nend: "{day_name(days[-1] + 1)}"\n'
        (self.folder / "partitions" / "daily.yaml").write_text(f"name: daily\ncadence: daily\n{span}", encoding="utf-8")

    def land(self, day: int, rows: Sequence[Row], part: int = 0, mtime: float | None = None) -> None:
        """Put a file into the landing folder as a whole, or replace the one that is there."""
        path = self.landing(day, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}")
        with draft.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows)
        if mtime is not None:
            os.utime(draft, (mtime, mtime))
        draft.replace(path)
        self.files[str(path)] = list(rows)

    def remove(self, day: int, part: int = 0) -> None:
        path = self.landing(day, part)
        path.unlink(missing_ok=True)
        self.files.pop(str(path), None)

    def rows_of(self, day: int) -> list[Row]:
        """What the landing folder of a day holds now."""
        folder = str(self.landing(day).parent)
        return [row for path in sorted(self.files) if path.startswith(folder) for row in self.files[path]]

    def state(self, days: Iterable[int]) -> State:
        """The tables after these days were run, in this order, with what the landing folder holds now."""
        batches = [self.rows_of(day) for day in days]
        every = [row for batch in batches for row in batch]
        return State(self._target(batches), Counter(row.id for row in every if row.is_bad))

    def _target(self, batches: Sequence[Sequence[Row]]) -> Counter[tuple[Any, ...]]:
        if self.strategy == "merge":
            merged = {row.k: (row.id, row.k, int(row.v)) for batch in batches for row in batch if row.is_good}
            return Counter(merged.values())
        if self.strategy == "scd2":
            return _history(batches)
        return Counter((row.id, row.k, int(row.v)) for batch in batches for row in batch if row.is_good)


def _history(batches: Sequence[Sequence[Row]]) -> Counter[tuple[Any, ...]]:
    """Every batch finds its place by time; what says again what the version before it says is no version."""
    versions: dict[str, list[tuple[str, int]]] = {}
    for batch in batches:
        for row in (each for each in batch if each.is_good):
            known = versions.setdefault(row.k, [])
            known.append((row.at if known else BEGINNING, int(row.v)))
            known.sort()
            known[:] = [each for number, each in enumerate(known) if not number or known[number - 1][1] != each[1]]
    return Counter(
        (key, value, start, following[0] if following else OPEN, following is None)
        for key, known in versions.items()
        for (start, value), following in zip_longest(known, known[1:])
    )


def day_name(day: int) -> str:
    return (FIRST_DAY + timedelta(days=day)).isoformat()


def first_id_of(day: int) -> int:
    return (day + 1) * _IDS


def day_of(id_: int) -> int:
    """The day whose files have a row of this id."""
    return id_ // _IDS - 1


def draw_rows(
    rng: random.Random, day: int, count: int = KEYS, first_id: int | None = None, keys_called: str = "k"
) -> list[Row]:
    """A batch with each key at most once, a tenth of it bad, a tenth dropped; ids differ between days."""
    start = first_id_of(day) if first_id is None else first_id
    keys = rng.sample(range(KEYS), min(count, KEYS))
    made = []
    for index, key in enumerate(keys):
        fate = rng.random()
        value = str(-rng.randint(1, 9)) if fate < 0.06 else "oops" if fate < 0.12 else str(rng.randint(0, 3))
        note = "skip" if fate > 0.9 else "kept"
        made.append(
            Row(
                start + index,
                f"{keys_called}{key:02}",
                value,
                note,
                day_name(day),
                f"{day_name(day)} 0{index % 10}:00:00",
            )
        )
    return made
