"""The summary row of a pipeline run, in every place that a dashboard may read."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.errors import EngineError, LockedError, ProjectError
from lakelogic_assets.report.pipeline import SUMMARY_COLUMNS, PipelineReport, TaskLine, pipeline_report, summary_row
from lakelogic_assets.report.run import Counts
from lakelogic_assets.spark import compaction, summary
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.summary import check_backend, write_summary
from lakelogic_assets.spark.tables import Lakehouse

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
Read = Callable[[str], list[dict[str, Any]]]


def made(name: str = "p1", status: Any = "success") -> PipelineReport:
    return pipeline_report(
        name,
        [TaskLine("shop/o'rders", "full", status, counts=Counts(10, 7, 2, 1), seconds=2.0, run_id="r1")],
        started_at=BEGIN,
        ended_at=BEGIN + timedelta(seconds=5),
        environment="prod",
        request={"select": ["a\"b'c;--"]},
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path / "lake", project_root=tmp_path)


def of_delta(place: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(place).to_pyarrow_table().to_pylist()
    return rows


def of_duckdb(place: str, table: str = '"lakelogic"."pipeline_runs"') -> list[dict[str, Any]]:
    with duckdb.connect(place, read_only=True) as connection:
        (catalog,) = connection.execute("SELECT current_catalog()").fetchone() or ("",)
        found = connection.execute(f'SELECT * FROM "{catalog}".{table}')
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def of_sqlite(place: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(place)
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM lakelogic_pipeline_runs")]
    connection.close()
    times = ("started_at", "ended_at")
    return [row | {name: datetime.fromisoformat(row[name]) for name in times} for row in rows]


PLACES = [
    ("delta", None, of_delta),
    ("spark", None, of_delta),
    ("duckdb", "out/runs.duckdb", of_duckdb),
    ("sqlite", "out/runs.sqlite", of_sqlite),
]


@pytest.mark.parametrize(("backend", "file", "read"), PLACES)
def test_the_row_comes_back_as_it_was_written(
    lake: Lakehouse, tmp_path: Path, backend: str, file: str | None, read: Read
) -> None:
    place = write_summary(made(), lake, backend=backend, database=tmp_path / file if file else None)
    (row,) = read(place)
    assert row == summary_row(made())
    assert list(row) == list(SUMMARY_COLUMNS)


@pytest.mark.parametrize(("backend", "file", "read"), PLACES)
def test_writing_a_run_again_replaces_its_row(
    lake: Lakehouse, tmp_path: Path, backend: str, file: str | None, read: Read
) -> None:
    for report in (made("p1", "failed"), made("p2"), made("p1")):
        place = write_summary(report, lake, backend=backend, database=tmp_path / file if file else None)
    found = {row["pipeline_run_id"]: row["status"] for row in read(place)}
    assert (found, len(read(place))) == ({"p1": "success", "p2": "success"}, 2)


def test_a_delta_table_is_where_a_contract_would_have_it(lake: Lakehouse) -> None:
    assert write_summary(made(), lake, table="ops.runs") == lake.table_path("ops.runs")
    with pytest.raises(ProjectError, match="cannot be the name of a folder"):
        write_summary(made(), lake, table='ops.r"uns')


def test_a_delta_table_of_many_runs_stays_a_few_files(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MANY_FILES", 3)
    places = {write_summary(made(f"p{number}"), lake) for number in range(8)}
    (place,) = places
    assert len(DeltaTable(place).file_uris()) <= 3
    assert {row["pipeline_run_id"] for row in of_delta(place)} == {f"p{number}" for number in range(8)}


def test_json_is_one_object_a_line(lake: Lakehouse, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    for report in (made("p1", "failed"), made("p2"), made("p1")):
        write_summary(report, lake, backend="json", database=file)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["pipeline_run_id"], row["status"]) for row in rows] == [("p2", "success"), ("p1", "success")]
    assert rows[0]["tasks"][0]["contract"] == "shop/o'rders"
    assert rows[0]["started_at"] == "2026-02-03T04:05:00+00:00"


def test_json_leaves_a_file_of_somebody_else_alone(lake: Lakehouse, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("dear diary\n")
    with pytest.raises(EngineError, match="choose another file"):
        write_summary(made(), lake, backend="json", database=file)
    assert file.read_text() == "dear diary\n"


def test_a_table_name_with_quotes_is_a_name_and_no_sql(lake: Lakehouse, tmp_path: Path) -> None:
    file = tmp_path / "runs.duckdb"
    write_summary(made(), lake, backend="duckdb", database=file)
    hostile = 'x"; DROP TABLE lakelogic.pipeline_runs; --'
    write_summary(made(), lake, table=hostile.replace(".", "_"), backend="duckdb", database=file)
    write_summary(made(), lake, table=f'ops"x.{hostile.replace(".", "_")}', backend="duckdb", database=file)
    assert len(of_duckdb(str(file))) == 1
    name = hostile.replace(".", "_").replace('"', '""')
    assert len(of_duckdb(str(file), f'"main"."{name}"')) == 1
    assert len(of_duckdb(str(file), f'"ops""x"."{name}"')) == 1
    lite = tmp_path / "runs.sqlite"
    write_summary(made(), lake, backend="sqlite", database=lite)
    write_summary(made(), lake, table='y"; DROP TABLE lakelogic_pipeline_runs; --', backend="sqlite", database=lite)
    assert len(of_sqlite(str(lite))) == 1


def test_a_database_of_the_same_name_as_its_schema_works(lake: Lakehouse, tmp_path: Path) -> None:
    place = write_summary(made(), lake, backend="duckdb", database=tmp_path / "lakelogic.duckdb")
    assert len(of_duckdb(place)) == 1


@pytest.mark.parametrize("table", ["a.b.c", "a.", "", ".b"])
def test_a_name_that_is_no_table_is_refused(lake: Lakehouse, tmp_path: Path, table: str) -> None:
    with pytest.raises(ProjectError, match=r"write schema\.table"):
        write_summary(made(), lake, table=table, backend="duckdb", database=tmp_path / "runs.duckdb")


@pytest.mark.parametrize(
    ("backend", "database", "words"),
    [
        ("duck_db", None, "no summary backend 'duck_db'; use duckdb"),
        ("duckdb", None, "needs a file: say which with --summary-database"),
        ("delta", Path("x"), "leave the database out"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(backend: str, database: Path | None, words: str) -> None:
    with pytest.raises(ProjectError, match=words):
        check_backend(backend, database)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ProjectError, match=r"pip install 'lakelogic-assets\[duckdb\]'"):
        check_backend("duckdb", Path("runs.duckdb"))


@pytest.mark.parametrize(("backend", "file"), [("duckdb", "runs.duckdb"), ("sqlite", "runs.sqlite")])
def test_a_file_that_is_no_database_is_one_line(lake: Lakehouse, tmp_path: Path, backend: str, file: str) -> None:
    (tmp_path / file).write_text("this is not a database, whatever its name says " * 100)
    with pytest.raises(EngineError, match="could not be written") as caught:
        write_summary(made(), lake, backend=backend, database=tmp_path / file)
    assert "\n" not in str(caught.value)


def test_a_table_with_other_columns_is_left_as_it_is(lake: Lakehouse, tmp_path: Path) -> None:
    file = tmp_path / "runs.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE SCHEMA lakelogic; CREATE TABLE lakelogic.pipeline_runs (pipeline_run_id INT)")
        connection.execute("INSERT INTO lakelogic.pipeline_runs VALUES (7)")
    with pytest.raises(EngineError, match="could not be written"):
        write_summary(made(), lake, backend="duckdb", database=file)
    assert of_duckdb(str(file)) == [{"pipeline_run_id": 7}]
    other = lake.table_path("lakelogic.pipeline_runs")
    write_deltalake(other, pa.table({"id": [1]}))
    with pytest.raises(EngineError, match="could not be written"):
        write_summary(made(), lake)
    assert of_delta(other) == [{"id": 1}]


def test_a_database_that_somebody_keeps_open_is_named(
    lake: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs.duckdb"
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(file)]
    monkeypatch.setattr(summary, "_PATIENCE_SECONDS", 0.2)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(LockedError, match="open in another process"):
            write_summary(made(), lake, backend="duckdb", database=file)
        other.communicate()
    assert len(of_duckdb(write_summary(made(), lake, backend="duckdb", database=file))) == 1


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from lakelogic_assets.report.pipeline import pipeline_report
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.summary import write_summary
from lakelogic_assets.spark.tables import Lakehouse
folder, backend, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for number in range(4):
    report = pipeline_report(f"{name}-{number}", [], started_at=datetime.now(UTC), ended_at=datetime.now(UTC))
    database = None if backend == "delta" else folder / "runs"
    write_summary(report, Lakehouse(folder), backend=backend, database=database)
"""


def of_json(place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(place).read_text().splitlines()]


CONCURRENT = [("delta", of_delta), ("duckdb", of_duckdb), ("sqlite", of_sqlite), ("json", of_json)]


@pytest.mark.parametrize("backend", [backend for backend, _ in CONCURRENT])
def test_a_writer_waits_for_the_one_before(lake: Lakehouse, tmp_path: Path, backend: str) -> None:
    database = None if backend == "delta" else tmp_path / "runs"
    place = Path(lake.table_path(summary.DEFAULT_TABLE)) if database is None else database
    options = {"backend": backend, "database": database}
    with table_lock(str(place), None):
        writer = threading.Thread(target=write_summary, args=(made(), lake), kwargs=options)
        writer.start()
        writer.join(0.3)
        assert not place.exists()
    writer.join(10)
    assert place.exists()


@pytest.mark.parametrize(("backend", "read"), CONCURRENT)
def test_processes_that_end_at_the_same_time_lose_no_row(tmp_path: Path, backend: str, read: Read) -> None:
    def writer(name: str) -> None:
        subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), backend, name], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(writer, ("one", "two")))
    place = Lakehouse(tmp_path).table_path(summary.DEFAULT_TABLE) if backend == "delta" else str(tmp_path / "runs")
    assert {row["pipeline_run_id"] for row in read(place)} == {
        f"{name}-{n}" for name in ("one", "two") for n in range(4)
    }
