"""Which files a rebuild of some days read and rewrote: by its reports, by Spark's own plans, and by Delta's history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from benchmarks.example_lake import Lake
from benchmarks.spark_facts import Scan, Watch
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.boundaries import read_window
from lakelogic_assets.spark.pipeline import Done
from lakelogic_assets.spark.publishing import KEYED_STRATEGIES
from lakelogic_assets.spark.windows import time_candidates


@dataclass
class Touched:
    """What was looked at, and what of it is of other days than it should be."""

    landing_files: int = 0
    scans: int = 0
    key_scans: int = 0
    """Of a table that is merged into: a row of the same key may lie in any file."""
    text_scans: int = 0
    """Of a table that keeps its times as text, as bronze does: no statistics of a file tell which days are in it."""
    commit_paths: int = 0
    strange_files: list[str] = field(default_factory=list)
    strange_scans: list[str] = field(default_factory=list)
    strange_paths: list[str] = field(default_factory=list)


class Witness:
    """Stands beside a rebuild and notes what each of its runs touches; the runs must not be side by side."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._watch = lake, Watch(lake.spark)
        self._by_key = {contract.key: contract for contract in lake.contracts if lake.is_by_window(contract)}
        self._versions = {contract.key: _standing(lake, contract).version() for contract in self._dated}
        self._newest = self._watch.newest_query()
        self.touched = Touched()

    @property
    def _dated(self) -> Iterator[Contract]:
        """Tables whose files lie in folders of days."""
        yield from (contract for contract in self._by_key.values() if contract.materialization.partition_by)

    def note(self, done: Done) -> None:
        """What the run has read, as soon as it has ended: the next one replaces files."""
        before, self._newest = self._newest, self._watch.newest_query()
        contract = self._by_key.get(done.key.key)
        if contract is None or done.result is None:
            return  # made as a whole from all there is
        window = read_window(contract, done.key.window)
        self._note_landing(str(done.key), done.result.watermark, window)
        for scan in self._watch.scans(before):
            self._note_scan(str(done.key), contract, scan, window)

    def _note_landing(self, task: str, watermark: Mapping[str, object], window: Window) -> None:
        for name, *_ in watermark.get("files", ()):  # type: ignore[attr-defined]
            path = Path(str(watermark["root"]).removeprefix("file:")) / name
            day = self._lake.landed[path.relative_to(self._lake.landing)]
            self.touched.landing_files += 1
            if day not in days_of(window):
                self.touched.strange_files.append(f"{task} read {path.name} of {day}")

    def _note_scan(self, task: str, contract: Contract, scan: Scan, window: Window) -> None:
        for table in self._dated:
            place = self._lake.workspace.destination(table).target
            if place not in scan.text or "DeltaLogFileIndex" in scan.text:
                continue
            here = table.key == contract.key
            standing = _standing(self._lake, table)
            column = table.materialization.partition_by[0] if here else time_candidates(contract, window)[0]
            if here and table.materialization.strategy in KEYED_STRATEGIES:
                self.touched.key_scans += 1
                continue
            if _is_text(standing, column):
                self.touched.text_scans += 1
                continue
            most = len(files_of(standing, column, days_of(window)))
            self.touched.scans += 1
            if scan.files > most:
                self.touched.strange_scans.append(f"{task} read {scan.files} files of {table.table}, not {most}")

    def finish(self, rebuilt: frozenset[date]) -> Touched:
        """With every path that the rebuild's commits added or removed."""
        for contract in self._dated:
            folder = Path(self._lake.workspace.destination(contract).target)
            for path in paths_since(folder, self._versions[contract.key]):
                self.touched.commit_paths += 1
                if not any(f"={day}/" in path for day in rebuilt):
                    self.touched.strange_paths.append(f"{contract.table}: {path}")
        return self.touched


def days_of(window: Window) -> frozenset[date]:
    first, after = window.local_days or (None, None)
    if first is None or after is None:
        raise ValueError(f"The window {window.key} does not consist of days.")
    return frozenset(first + timedelta(days=number) for number in range((after - first).days))


def paths_since(table: Path, version: int) -> Iterator[str]:
    """The files that commits after a version added or removed, as Delta's log names them."""
    newest = DeltaTable(str(table)).version()
    for number in range(version + 1, newest + 1):
        commit = table / "_delta_log" / f"{number:020}.json"
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            yield from (str(action[kind]["path"]) for kind in ("add", "remove") if kind in action)


def _standing(lake: Lake, contract: Contract) -> DeltaTable:
    table = lake.table(contract)
    if table is None:
        raise LookupError(f"{contract.table} has no table to rebuild.")
    return table


def _is_text(table: DeltaTable, column: str) -> bool:
    """Whether it is kept as text among the rows, not as the name of a folder."""
    texts = {field.name for field in table.schema().fields if getattr(field.type, "type", None) == "string"}
    return column in texts and column not in table.metadata().partition_columns


def files_of(table: DeltaTable, column: str, days: frozenset[date]) -> list[str]:
    """The files that may hold rows of these days: by their folder, else by the least and greatest value in them."""
    files = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    first, last = str(min(days)), str(max(days))
    return [file["path"] for file in files if _overlaps(file, column, first, last)]


def _overlaps(file: Mapping[str, object], column: str, first: str, last: str) -> bool:
    if (folder := file.get(f"partition.{column}")) is not None:
        return first <= str(folder) <= last
    least, most = file.get(f"min.{column}"), file.get(f"max.{column}")
    return least is None or most is None or (str(least)[:10] <= last and str(most)[:10] >= first)
