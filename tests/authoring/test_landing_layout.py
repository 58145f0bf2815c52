"""Files in the places and forms that sources describe."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyarrow import parquet

from lakelogic_assets.authoring.landing import make_landing_data
from lakelogic_assets.authoring.landing_report import LandingReport
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project

DAYS = [date(2026, 2, 3), date(2026, 2, 4)]
FIELDS: list[dict[str, Any]] = [
    {"name": "thing_id", "type": "string", "description": "Format: T####"},
    {"name": "price", "type": "decimal(8,2)", "min": 1, "max": 9},
    {"name": "updated_at", "type": "timestamp"},
]


def write_contract(root: Path, table: str, source: dict[str, Any], fields: Any = FIELDS, **more: Any) -> None:
    contract = {
        "version": "1.0.0",
        "info": {"title": table, "table_name": table},
        "model": {"fields": fields},
        "source": {"type": "landing", "format": "csv", **source},
        **more,
    }
    (root / f"{table}.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))


def made(root: Path, *, environment: str = "local", rows: int = 10, days: list[date] = DAYS) -> LandingReport:
    project = Project(root, environment)
    registry = load_project(project, {})
    assert registry.errors == ()
    return make_landing_data(registry, project, storage_root=root / "lake", rows=rows, days=days)


def places(report: LandingReport, root: Path) -> list[str]:
    return [str(file.path.relative_to(root / "lake")) for file in report.files]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, ["things/things_2026-02-03.csv", "things/things_2026-02-04.csv"]),
        ({"pattern": "*.csv"}, ["things/things_2026-02-03.csv", "things/things_2026-02-04.csv"]),
        ({"pattern": "export_*.csv"}, ["things/export_2026-02-03.csv", "things/export_2026-02-04.csv"]),
        ({"pattern": "{a,b}_*.csv"}, ["things/a_2026-02-03.csv", "things/a_2026-02-04.csv"]),
        ({"pattern": "**/part-?_*.csv"}, ["things/part-1_2026-02-03.csv", "things/part-1_2026-02-04.csv"]),
        ({"pattern": "all.csv"}, ["things/all.csv"]),
        ({"path": "lake/things.csv"}, ["things.csv"]),
        ({"path": "lake/things/*.csv"}, ["things/things_2026-02-03.csv", "things/things_2026-02-04.csv"]),
        ({"path": "lake/things/**/*.csv"}, ["things/things_2026-02-03.csv", "things/things_2026-02-04.csv"]),
        ({"partition": {"format": "%Y/%m/%d"}}, ["things/2026/02/03/things_1.csv", "things/2026/02/04/things_1.csv"]),
        (
            {"partition": {"format": "%Y-%m"}},
            ["things/2026-02/things_2026-02-03.csv", "things/2026-02/things_2026-02-04.csv"],
        ),
        (
            {"partition": {"format": "y_%Y/m_%m/d_%d/h_%H", "file_pattern": "t_*.csv"}},
            ["things/y_2026/m_02/d_03/h_00/t_1.csv", "things/y_2026/m_02/d_04/h_00/t_1.csv"],
        ),
        ({"partition": {"format": "%Y/%m/%d", "end_date": "2026-02-03"}}, ["things/2026/02/03/things_1.csv"]),
        ({"path": "/Volumes/main/raw/things"}, None),
    ],
)  # fmt: skip
def test_a_source_decides_where_its_files_lie(
    tmp_path: Path, source: dict[str, Any], expected: list[str] | None
) -> None:
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", **source})
    volumes = ["volumes/main/raw/things/things_2026-02-03.csv", "volumes/main/raw/things/things_2026-02-04.csv"]
    assert places(made(tmp_path), tmp_path) == (expected or volumes)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"type": "api"}, "its source is api"),
        ({"type": "database", "query": "SELECT 1"}, "its source is database"),
        ({"path": "s3a://bucket/things"}, "s3a://bucket/things is outside of the storage root"),
        ({"path": "other/things"}, "other/things is outside of the storage root"),
        ({"format": "xlsx"}, "files of the format xlsx are not made"),
        ({"format": "pdf"}, "no pattern tells what its documents say"),
        ({"format": None}, "nothing tells the format of its files"),
    ],
)
def test_a_contract_that_gets_no_files_is_told_why(tmp_path: Path, source: dict[str, Any], why: str) -> None:
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", **source})
    report = made(tmp_path)
    assert [each.why for each in report.skipped] == [why]
    assert report.files == ()
    assert not (tmp_path / "lake").exists()


def test_a_contract_that_leads_out_of_the_project_gets_no_files_and_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    write_contract(tmp_path / "project", "bronze_things", {"path": "../things"})
    project = Project(tmp_path / "project", "local")
    registry = load_project(project, {})
    assert [problem.code for problem in registry.errors] == ["LL603"]
    report = make_landing_data(registry, project, storage_root=tmp_path / "project/lake", rows=10, days=DAYS)
    assert report.files == ()
    assert not (tmp_path / "things").exists()


def test_a_link_out_of_the_storage_root_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "lake" / "things").symlink_to(tmp_path / "outside")
    write_contract(tmp_path, "bronze_things", {"path": "lake/things"})
    assert made(tmp_path).files == ()


def test_files_are_found_again_where_the_contract_stands_beside_them(tmp_path: Path) -> None:
    write_contract(tmp_path, "bronze_things", {"path": "lake/things"})
    assert made(tmp_path).written == 2
    assert {file.state for file in made(tmp_path).files} == {"unchanged"}


def test_a_file_that_says_no_day_gives_way_to_that_of_the_next_day(tmp_path: Path) -> None:
    fields = [{"name": "thing_id"}, {"name": "size", "accepted_values": ["s", "m", "l"]}]
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", "load_mode": "full"}, fields)
    source = {"type": "table", "path": "table:bronze_things"}
    scd2 = {"strategy": "scd2", "scd2": {"track_columns": ["size"]}}
    write_contract(tmp_path, "dim_things", source, fields, primary_key=["thing_id"], materialization=scd2)
    found = {}
    for day in DAYS:
        (file,) = made(tmp_path, rows=60, days=[day]).files
        assert (file.path.name, file.state) == ("things_1.csv", "written")
        rows = csv.DictReader(file.path.read_text().splitlines())
        found[day] = {row["thing_id"]: row["size"] for row in rows}
    first, second = found.values()
    again = first.keys() & second.keys()
    assert len(again) > 50
    assert any(first[thing] != second[thing] for thing in again)


def test_another_environment_may_read_elsewhere(tmp_path: Path) -> None:
    environments = {"test": {"path": "lake/for_tests", "format": "jsonl"}, "prod": {"path": "s3a://bucket/things"}}
    write_contract(tmp_path, "bronze_things", {"path": "lake/things"}, environments=environments)
    assert places(made(tmp_path), tmp_path)[0] == "things/things_2026-02-03.csv"
    assert places(made(tmp_path, environment="test"), tmp_path)[0] == "for_tests/for_tests_2026-02-03.jsonl"
    assert places(made(tmp_path, environment="prod"), tmp_path) == []


def test_csv_follows_the_options_of_its_reader(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "note", "type": "string", "accepted_values": ['say "x|y"']}]
    write_contract(tmp_path, "bronze_a", {"path": "lake/a", "options": {"header": "false", "sep": "|"}}, fields)
    write_contract(tmp_path, "bronze_b", {"path": "lake/b", "format": "tsv", "options": {"header": True}}, fields)
    report = made(tmp_path)
    bare = list(csv.reader(report.of("bronze_a")[0].path.read_text().splitlines(), delimiter="|"))
    assert len(bare) == 10
    assert {row[1] for row in bare} >= {'say "x|y"'}
    headed = list(csv.reader(report.of("bronze_b")[0].path.read_text().splitlines(), delimiter="\t"))
    assert headed[0] == ["id", "note"]
    assert report.of("bronze_b")[0].path.name == "b_1.tsv"


def test_text_is_written_in_the_encoding_that_is_asked_for(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "word", "type": "string", "accepted_values": ["Zoë"]}]
    write_contract(tmp_path, "bronze_a", {"path": "lake/a", "options": {"encoding": "ISO-8859-1"}}, fields)
    assert b"Zo\xeb" in made(tmp_path).files[0].path.read_bytes()


def test_compressed_files_are_the_same_files_every_time(tmp_path: Path) -> None:
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", "pattern": "*.csv.gz"})
    (first, _) = made(tmp_path).files
    assert gzip.decompress(first.path.read_bytes()).startswith(b"thing_id,price,updated_at\n")
    assert {file.state for file in made(tmp_path).files} == {"unchanged"}


def test_json_is_an_array_unless_its_reader_wants_lines(tmp_path: Path) -> None:
    write_contract(tmp_path, "bronze_a", {"path": "lake/a", "format": "json"})
    write_contract(tmp_path, "bronze_b", {"path": "lake/b", "format": "json", "options": {"multiLine": "false"}})
    report = made(tmp_path)
    assert len(json.loads(report.of("bronze_a")[0].path.read_text())) == 10
    assert len([json.loads(line) for line in report.of("bronze_b")[0].path.read_text().splitlines()]) == 10


def test_what_folders_say_does_not_stand_in_the_file(tmp_path: Path) -> None:
    fields = [*FIELDS, {"name": "day", "type": "date"}]
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", "partition": {"format": "day=%Y-%m-%d"}}, fields)
    file = made(tmp_path).files[0]
    assert file.path.parent.name == "day=2026-02-03"
    assert file.path.read_text().startswith("thing_id,price,updated_at\n")


def test_what_says_no_day_is_written_once(tmp_path: Path) -> None:
    write_contract(tmp_path, "bronze_things", {"path": "lake/things"}, FIELDS[:2])
    assert places(made(tmp_path), tmp_path) == ["things/things_1.csv"]
    assert [file.state for file in made(tmp_path, days=[date(2027, 1, 1)]).files] == ["unchanged"]


def test_every_type_can_be_written_to_parquet(tmp_path: Path) -> None:
    kinds = "string tinyint smallint int bigint double float32 boolean date timestamp timestamp_ntz binary".split()
    kinds += ["decimal(30,4)", "array<int>", "array<string>", "map<string,int>", "struct<a:int>"]
    fields = [{"name": f"c{index}", "type": kind} for index, kind in enumerate(kinds)]
    write_contract(tmp_path, "bronze_things", {"path": "lake/things", "format": "parquet"}, fields)
    rows = parquet.read_table(made(tmp_path).files[0].path).to_pylist()
    assert len(rows) == 10
    assert all(rows[0][f"c{index}"] is not None for index in range(11))


def test_no_more_rows_are_made_than_there_are_ids(tmp_path: Path) -> None:
    fields = [{"name": "thing_id", "type": "string", "description": "Format: T#"}, *FIELDS[1:]]
    write_contract(tmp_path, "bronze_things", {"path": "lake/things"}, fields)
    assert {file.rows for file in made(tmp_path, rows=50).files} == {10}


def test_disabled_contracts_get_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "contracts" / "shop" / "till"
    folder.mkdir(parents=True)
    write_contract(folder, "bronze_things", {"path": "lake/things"})
    entry = {"layer": "bronze", "entity": "things", "path": "bronze_things.yaml", "enabled": False}
    system = {"domain": "shop", "system": "till", "contracts": [entry], "environments": {"local": {"catalog": "c"}}}
    (folder / "_system.yaml").write_text(yaml.safe_dump(system))
    assert made(tmp_path) == LandingReport((), ())
