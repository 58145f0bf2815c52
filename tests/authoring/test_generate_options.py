"""Windows of a day, a stream of them, edge cases, places and large files."""

from __future__ import annotations

import csv
import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lakelogic_assets.authoring import landing
from lakelogic_assets.authoring.landing import LandingPlan, LandingReport, Request, requested_days
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from pathlib import Path

DAY = date(2026, 2, 3)
FIELDS: list[dict[str, Any]] = [
    {"name": "trip_id", "description": "Format: T########"},
    {"name": "full_name"},
    {"name": "notes", "description": "Format: N####"},
    {"name": "fare", "type": "double", "min": 2, "max": 90},
    {"name": "requested_at", "type": "timestamp"},
    {"name": "dropoff_at", "type": "timestamp"},
]


def plan(
    root: Path, source: dict[str, Any] | None = None, *, days: list[date] | None = None, **options: Any
) -> LandingPlan:
    contract = {
        "version": "1.0.0",
        "info": {"title": "Trips", "table_name": "silver_trips"},
        "model": {"fields": FIELDS},
        "source": {"type": "landing", "format": "csv", "path": "lake/trips", "partition": {"format": "y_%Y/m_%m/d_%d/h_%H"}, **(source or {})},
        "primary_key": ["trip_id"],
    }  # fmt: skip
    (root / "silver_trips.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    project = Project(root)
    return LandingPlan(load_project(project, {}), project, root / "lake", Request(days or [DAY], **options))


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_rows_land_in_the_folder_of_their_hour(tmp_path: Path) -> None:
    made = plan(tmp_path, rows=600, invalid=0.0).land()
    folders = [str(file.path.parent.relative_to(tmp_path / "lake/trips")) for file in made.files]
    assert folders == [f"y_2026/m_02/d_03/h_{hour:02}" for hour in range(24)]
    for hour, file in enumerate(made.files):
        rows = rows_of(file.path)
        assert {row["requested_at"][:13] for row in rows} == {f"2026-02-03T{hour:02}"}
        assert all(row["requested_at"] < row["dropoff_at"] for row in rows)
    assert made.rows == 600


def test_few_rows_are_not_scattered_over_all_hours(tmp_path: Path) -> None:
    made = plan(tmp_path, rows=60, invalid=0.0).land()
    assert [file.path.parent.name for file in made.files] == ["h_00", "h_12"]


def test_a_stream_lays_one_window_after_another_and_ends(tmp_path: Path) -> None:
    seen: list[int] = []
    for report in plan(tmp_path, rows=100, invalid=0.0).stream():
        assert len(report.files) == 1
        seen.append(len(list((tmp_path / "lake").rglob("*.csv"))))
    assert seen == [1, 2, 3, 4]
    streamed = {path: path.read_bytes() for path in (tmp_path / "lake").rglob("*.csv")}
    assert {file.state for file in plan(tmp_path, rows=100, invalid=0.0).land().files} == {"unchanged"}
    assert len(streamed) == 4


def test_edge_cases_come_on_top_and_are_named(tmp_path: Path) -> None:
    source = {"format": "json", "options": {"multiLine": "true"}, "partition": {"format": "%Y/%m/%d"}}
    made = plan(tmp_path, source, rows=30, invalid=0.0, edge_cases=True).land()
    rows = json.loads(made.files[0].path.read_text())
    edges = made.files[0].edges
    assert len(rows) == made.rows == 30 + sum(edges.values())
    assert made.broken == 0
    kinds = {name.split(": ")[-1] for name in edges}
    assert kinds == {
        "empty",
        "boundary value",
        "unicode",
        "SQL and script text",
        "blank",
        "type confusion",
        "duplicate row",
    }
    said = {str(row["notes"]) for row in rows}
    assert {"'; DROP TABLE users; --", "日本語テキスト", "None", ""} <= said
    assert {2.0, 90.0, "NaN", "1e400"} <= {row["fare"] for row in rows}
    assert len({json.dumps(row) for row in rows}) == len(rows) - 1


def test_names_are_those_of_the_place(tmp_path: Path) -> None:
    names = {}
    for locale in ("de_DE", "ja_JP"):
        file = plan(tmp_path, {"partition": None}, rows=20, invalid=0.0, locale=locale).land().files[0]
        names[locale] = {row["full_name"] for row in rows_of(file.path)}
    assert all(any(letter > "぀" for letter in name) for name in names["ja_JP"])
    assert not any(letter > "぀" for name in names["de_DE"] for letter in name)


def test_an_unknown_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="'xx_YY' is not a locale"):
        plan(tmp_path, rows=5, locale="xx_YY").land()


def test_many_rows_are_spread_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "ROWS_OF_A_FILE", 40)
    made = plan(tmp_path, {"partition": {"format": "%Y/%m/%d"}}, rows=100, invalid=0.1).land()
    assert [(file.path.name, file.rows) for file in made.files] == [
        ("trips_1.csv", 33), ("trips_2.csv", 33), ("trips_3.csv", 34),
    ]  # fmt: skip
    ids = [row["trip_id"] for file in made.files for row in rows_of(file.path) if row["trip_id"]]
    copies = sum(file.faults.get("duplicate row", 0) for file in made.files)
    assert len(ids) - len(set(ids)) == copies
    assert made.broken == 10


def test_files_can_be_laid_elsewhere(tmp_path: Path) -> None:
    made = plan(tmp_path, rows=5, invalid=0.0)
    project = Project(tmp_path)
    request = Request([DAY], 5, invalid=0.0)
    moved = LandingPlan(load_project(project, {}), project, tmp_path / "lake", request, output=tmp_path / "out").land()
    assert [str(file.path.relative_to(tmp_path)) for file in moved.files] == [
        "out/trips/y_2026/m_02/d_03/h_00/trips_1.csv"
    ]
    assert not (tmp_path / "lake").exists()
    assert isinstance(made.land(), LandingReport)


def test_days_are_counted_back_from_the_last() -> None:
    assert requested_days("2026-02-01", "2026-02-03", 9) == [date(2026, 2, day) for day in (1, 2, 3)]
    assert requested_days(None, "2026-02-03", 2) == [date(2026, 2, 2), date(2026, 2, 3)]
    assert requested_days("2026-02-01", None, 2) == [date(2026, 2, 1), date(2026, 2, 2)]
    assert len(requested_days(None, None, 4)) == 4
    with pytest.raises(ProjectError, match="before the first day"):
        requested_days("2026-02-03", "2026-02-01", 1)
    with pytest.raises(ProjectError, match="write days as"):
        requested_days("yesterday", None, 1)
