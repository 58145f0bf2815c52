"""Files that come late: by the dates in their folders, by the rows in them, by nothing but their list."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark.late import LateReport, late_windows
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.sources.listing import list_files
from lakelogic_assets.spark.sources.snapshot import FileStat, SourceSnapshot

HEAD = "version: 1.0.0\ninfo: {title: Raw, table_name: raw}\nmodel: {fields: [{name: id, type: int}]}\n"
BY_FOLDER = "source: {type: landing, path: in, format: csv, partition: {format: 'd_%Y-%m-%d'}}\n"
BY_ROWS = "source: {type: landing, path: in, watermark_field: day}\n"
DAYS = [f"2026-02-0{day}" for day in range(1, 8)]
NOW = datetime(2026, 4, 30, tzinfo=UTC)
FIRST = 1_780_000_000.0


class Folder:
    """A landing folder and a contract that reads it; files have the times that the tests give them."""

    def __init__(self, folder: Path, source: str) -> None:
        (folder / "raw.yaml").write_text(HEAD + source, encoding="utf-8")
        self.processor = DataProcessor(folder / "raw.yaml")
        self.root = folder / "in"
        self.root.mkdir()
        self.zone = "UTC"
        self.parts: tuple[str, ...] = ()
        self.runs = 0

    def land(self, name: str, content: str = "id\n1\n", at: float = 0) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        os.utime(path, (FIRST + at, FIRST + at))
        return path

    def build(self, *days: str | Window, below: str = "", status: Status = "success") -> None:
        """Runs that read the files of each day, or those below a folder."""
        for day in days:
            window = Window.day(day, self.zone) if isinstance(day, str) else day
            found = list_files(str(self.root), recursive=True)
            theirs = [each for each in found if not isinstance(day, str) or f"d_{day}" in each.path or below == "all"]
            self._log(window, theirs, status)

    def _log(self, window: Window, files: list[FileStat], status: Status) -> None:
        self.runs += 1
        snapshot = SourceSnapshot(files=tuple(files), description=str(self.root))
        newest = snapshot.max_mtime
        state: dict[str, Any] = {"identity": snapshot.identity, "version": None, "max_mtime": newest}
        state["files_at_max"] = [file.path for file in files if file.mtime == newest]
        now = datetime.now(UTC)
        report = RunReport(
            status, f"run-{self.runs}", "p", "raw", "raw", window.as_dict(), now, now,
            watermark=state if status == "success" else {},
        )  # fmt: skip
        append_run(self.processor.destination.run_log, None, report, "local")

    def windows(self, start: datetime, end: datetime) -> list[Window]:
        first = max(start.date(), date(2026, 1, 1))
        every = [Window.day(first + timedelta(days=n), self.zone) for n in range((end.date() - first).days + 2)]
        days = [each for each in every if each.overlaps(Window("asked", start, end))]
        if not self.parts:
            return days
        return [replace(d, key=f"{d.key}|{part}", values=(("region", part),)) for d in days for part in self.parts]

    def late(self) -> LateReport:
        return late_windows(self.processor.contract, self.processor.workspace, self.windows, NOW)

    def keys(self) -> dict[str, tuple[int | None, int]]:
        return {each.window.key: (each.rows, each.files) for each in self.late().late}


@pytest.fixture
def dated(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path, BY_FOLDER)
    for day in DAYS[:3]:
        folder.land(f"d_{day}/a.csv")
    folder.build(*DAYS[:3])
    return folder


def test_a_file_that_comes_into_the_folder_of_a_past_day_makes_that_day_late(dated: Folder) -> None:
    assert dated.late() == LateReport(("raw",))
    path = dated.land(f"d_{DAYS[1]}/b.csv", at=60)
    dated.land(f"d_{DAYS[3]}/a.csv", at=60)
    (found,) = dated.late().late
    assert (found.window.key, found.rows, found.files) == (DAYS[1], None, 1)
    assert [each.file for each in found.arrived] == [str(path)]
    assert dated.late().notes == ()


def test_a_file_as_new_as_the_newest_that_was_read_is_late_unless_it_was_one_of_them(dated: Folder) -> None:
    dated.land(f"d_{DAYS[1]}/b.csv", at=0)
    assert dated.keys() == {DAYS[1]: (None, 1)}


def test_a_file_that_came_with_an_old_time_is_found_by_the_list_of_files(dated: Folder) -> None:
    dated.land(f"d_{DAYS[2]}/b.csv", at=-1000)
    assert dated.keys() == {DAYS[2]: (None, 1)}
    assert "have older times" in dated.late().notes[0]


def test_a_day_that_was_looked_at_when_nothing_was_there_is_not_missing_and_gets_late_files(dated: Folder) -> None:
    dated.build(DAYS[3], status="no_new_data")
    dated.land(f"d_{DAYS[4]}/a.csv")
    dated.build(DAYS[4])
    assert dated.late() == LateReport(("raw",))
    dated.land(f"d_{DAYS[3]}/a.csv", at=-5)
    assert dated.keys() == {DAYS[3]: (None, 1)}


def test_folders_are_named_by_the_clock_of_the_zone(tmp_path: Path) -> None:
    folder = Folder(tmp_path, BY_FOLDER.replace("d_%Y-%m-%d", "d_%Y-%m-%d/h_%H"))
    folder.zone = "Europe/Berlin"
    for day in ("2026-03-28", "2026-03-29", "2026-03-30"):
        folder.land(f"d_{day}/h_12/a.csv")
        folder.build(day)
    folder.land("d_2026-03-29/h_00/a.csv", at=60)
    folder.land("d_2026-03-29/h_23/a.csv", at=60)
    assert folder.keys() == {"2026-03-29": (None, 2)}


def test_of_windows_by_region_only_those_in_the_file_are_late(tmp_path: Path) -> None:
    folder = Folder(tmp_path, BY_FOLDER)
    folder.parts = ("eu", "us")
    folder.land(f"d_{DAYS[0]}/a.csv", "id,region\n1,eu\n2,us\n")
    folder.build(*folder.windows(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 1, 12, tzinfo=UTC)))
    folder.land(f"d_{DAYS[0]}/b.csv", "id,region\n3,us\n4,us\n", at=60)
    assert folder.keys() == {f"{DAYS[0]}|us": (2, 1)}


ROWS = [(1, DAYS[0]), (2, DAYS[1]), (3, DAYS[1]), (4, DAYS[4])]


@pytest.fixture
def plain(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path, BY_ROWS)
    folder.land("a.csv", f"id,day\n1,{DAYS[0]}\n")
    folder.build(*DAYS[:3], below="all")
    return folder


def test_without_dates_in_folders_the_rows_of_new_files_say_their_windows(plain: Folder) -> None:
    assert plain.keys() == {}
    lines = "".join(f'{number},"{day}"\n' for number, day in ROWS)
    plain.land("b.csv", f"id,day\n{lines}", at=60)
    assert plain.keys() == {DAYS[0]: (1, 1), DAYS[1]: (2, 1)}
    plain.build(DAYS[1], below="all")
    assert plain.keys() == {DAYS[0]: (1, 1)}


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "gz", "tsv"])
def test_every_format_that_arrow_reads_tells_its_windows(tmp_path: Path, kind: str) -> None:
    folder = Folder(tmp_path, BY_ROWS)
    folder.build(FULL)
    lines = [f'{{"id": {number}, "day": "{day}"}}' for number, day in ROWS]
    if kind == "jsonl":
        folder.land("b.jsonl", "\n".join(lines))
    elif kind == "json":
        folder.land("b.json", f"[{', '.join(lines)}]")
    elif kind == "parquet":
        days = [datetime.fromisoformat(day) for _, day in ROWS]
        parquet.write_table(
            pa.table({"id": [n for n, _ in ROWS], "day": days}),
            folder.root / "b.parquet",
            use_deprecated_int96_timestamps=True,
        )
    elif kind == "tsv":
        folder.land("b.tsv", "id\tday\n" + "".join(f"{number}\t{day}\n" for number, day in ROWS))
    else:
        text = "id,day\n" + "".join(f"{number},{day} 23:59:59\n" for number, day in ROWS)
        (folder.root / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert folder.keys() == {DAYS[0]: (1, 1), DAYS[1]: (2, 1), DAYS[4]: (1, 1)}


def test_a_column_in_the_name_of_a_folder_tells_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path, BY_ROWS)
    folder.build(FULL)
    folder.land(f"day={DAYS[2]}/b.csv", "id,x\n1,2\n2,3\n")
    folder.land(f"day={DAYS[2]}/b.jsonl", '{"id": 1}\n')
    parquet.write_table(pa.table({"id": [1, 2]}), folder.root / f"day={DAYS[2]}" / "c.parquet")
    assert folder.keys() == {DAYS[2]: (5, 3)}
    folder.land("b.csv", "id,week\n1,2\n")
    assert "none of the columns" in folder.late().notes[0]


def test_what_cannot_be_told_without_reading_is_said(tmp_path: Path) -> None:
    folder = Folder(tmp_path, BY_ROWS)
    folder.build(FULL)
    folder.land("b.xml", "<rows/>")
    assert "files of the format xml cannot be read without Spark" in folder.late().notes[0]
