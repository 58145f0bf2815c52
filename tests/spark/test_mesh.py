"""A mesh in the shapes of a public one runs unmodified: once, again without news, and once more with some."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from lakelogic_assets.cli.app import run
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project
from tests.cli.test_docs import written
from tests.report.site_pages import broken_links, read
from tests.spark.mesh_files import DRIVERS, EDGE_CASES, TRIPS, land, write_mesh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Mesh:
    folder: Path
    lake: Path
    capture: Any

    def call(self, *words: str) -> tuple[int, str]:
        code = run([*words[:1], "--project", str(self.folder), "--env", "local_spark", *words[1:]])
        return code, self.capture.readouterr().out

    def reports(self, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
        code, said = self.call("run", *words, "--json")
        return code, {each["asset"]: each for each in json.loads(said)}

    def table(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = DeltaTable(str(self.lake / name)).to_pyarrow_table().to_pylist()
        return found

    def changed_files(self) -> dict[str, int]:
        """Commits that changed data, table by table."""
        logs = (self.lake / "warehouse").rglob("_delta_log/*.json")
        found: dict[str, int] = {}
        for log in logs:
            actions = [json.loads(line) for line in log.read_text().splitlines()]
            name = log.parent.parent.name
            found[name] = found.get(name, 0) + any("add" in each or "remove" in each for each in actions)
        return found


@pytest.fixture
def mesh(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Mesh:
    assert spark is not None  # one session for the whole suite
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("LAKELOGIC_CACHE_DIR", str(tmp_path / "cache"))
    made = Mesh(write_mesh(tmp_path / "mesh"), tmp_path / "lake", capsys)
    land(made.lake, "app/drivers/y_2026/m_02/d_01/h_08/drivers.csv", DRIVERS)
    land(made.lake, "app/trips/y_2026/m_02/d_01/h_09/trips.csv", TRIPS)
    land(made.lake, "app/trips/y_2026/m_02/d_01/h_99/edge_cases.csv", EDGE_CASES)
    land(made.lake, "calendar/dim_date_seed/seed.csv", "date_key\n20260101\n20260102\n")
    return made


def test_a_mesh_runs_across_its_domains_and_again_without_news(mesh: Mesh, tmp_path: Path) -> None:
    before = sorted(mesh.folder.rglob("*"))
    code, first = mesh.reports("--all")
    assert first.pop("broken/bronze_feed_news")["state"] == "left_out"
    assert code == 1  # because of the domain that nobody can read, and of nothing else
    assert {
        name: each["error"] or each["report"]["reasons"] for name, each in first.items() if each["state"] != "done"
    } == {}
    assert len(first) == 8  # neither the contract that is switched off nor the one in no index
    assert _counts(first, "rides/bronze_app_trips") == (6, 6, 0)
    _judge_tables(mesh)

    ran_once = mesh.changed_files()
    _, second = mesh.reports("--all")
    assert {second[f"rides/bronze_app_{name}"]["report"]["status"] for name in ("trips", "drivers")} == {"no_new_data"}
    again = {
        name: changes - ran_once[name] for name, changes in mesh.changed_files().items() if changes > ran_once[name]
    }
    silent = {
        "bronze_app_trips",
        "silver_app_trips",
        "silver_app_drivers",
        "gold_app_dim_driver",
        "gold_app_fact_trips",
    }
    assert not silent & set(again)
    _judge_tables(mesh)

    _judge_news(mesh)
    _judge_site(mesh, tmp_path / "site")
    assert sorted(mesh.folder.rglob("*")) == before  # everything went to the lake


def _counts(reports: dict[str, dict[str, Any]], name: str) -> tuple[int, int, int]:
    counts = reports[name]["report"]["counts"]
    return counts["source"], counts["good"], counts["quarantined"]


def _judge_tables(mesh: Mesh) -> None:
    trips = {row["trip_id"]: row for row in mesh.table("warehouse/local/rides/silver_app_trips")}
    assert set(trips) == {"t1", "t3", "t5"}
    assert (trips["t5"]["driver_id"], trips["t5"]["fare_amount"], trips["t5"]["rating"]) == ("d2", 12.0, None)
    assert trips["t1"]["payload_json"] == '{"a": "x, y"}'
    held = {
        row["trip_id"]: row["_lakelogic_errors"]
        for row in mesh.table("warehouse/local/quarantine/rides_silver_app_trips")
    }
    assert held == {
        "t2": ["[pre] Rule failed: positive_spend (fare_amount >= 0)"],
        "t4": ["Type Mismatch: rating cannot be cast to float"],
    }
    facts = {row["trip_id"]: row["driver_sk"] for row in mesh.table("warehouse/local/rides/gold_app_fact_trips")}
    assert facts["t3"] == "-1"
    assert facts["t1"] != "-1"
    health = {row["driver_id"]: row for row in mesh.table("warehouse/local/shared/gold_marts_driver_health")}
    assert {name: (row["trips"], row["status"]) for name, row in health.items()} == {
        "d1": (1, "active"), "d2": (1, "active"), "d9": (1, None),
    }  # fmt: skip
    days = mesh.table("warehouse/local/rides/gold_calendar_dim_date")
    assert (len(days), min(row["date_key"] for row in days), days[0]["is_holiday_us"]) == (365, 20260101, None)
    for domain in ("rides", "shared"):
        assert mesh.table(f"warehouse/local/{domain}/_pipeline_run_log")
    assert {row["name"] for row in mesh.table("warehouse/local/rides/silver_app_drivers")} == {"***REDACTED***"}


def _judge_news(mesh: Mesh) -> None:
    """A driver rests: only the new file is read, and the dimension knows both."""
    land(
        mesh.lake,
        "app/drivers/y_2026/m_02/d_02/h_07/drivers.csv",
        "driver_id,name,status,updated_at\nd2,Bob,resting,2026-02-02 07:00:00\n",
    )
    code, third = mesh.reports("bronze_app_drivers", "silver_app_drivers", "gold_app_dim_driver")
    assert code == 0  # the domain that cannot be read was not asked for
    assert _counts(third, "rides/bronze_app_drivers") == (1, 1, 0)
    rows = mesh.table("warehouse/local/rides/gold_app_dim_driver")
    history = {(row["driver_id"], row["version_number"]): row for row in rows}
    assert {key for key in history if key[0] in ("d1", "d2")} == {("d1", 1), ("d2", 1), ("d2", 2)}
    old, new = history["d2", 1], history["d2", 2]
    assert (old["effective_from"].year, old["is_current"], old["effective_to"]) == (1900, False, new["effective_from"])
    assert (new["status"], new["is_current"], new["effective_to"].year) == ("resting", True, 9999)
    (unknown,) = [row for row in rows if row["driver_sk"] == "-1"]
    assert (unknown["driver_id"], unknown["is_current"]) == ("Unknown", True)


def _judge_site(mesh: Mesh, folder: Path) -> None:
    code, _ = mesh.call("docs", "--output", str(folder))
    pages = written(folder)
    assert code == 1  # as after the run: a domain is left out
    assert broken_links(pages) == []
    told = " ".join(read(pages["contracts/rides.silver_app_trips.html"]).words)
    assert "[pre] Rule failed: positive_spend (fare_amount >= 0)" in told
    assert "Type Mismatch: rating cannot be cast to float" in told
    assert "published" in told
    assert "2 rows" in told
    index = " ".join(read(pages["index.html"]).words)
    assert "broken/_domain.yaml:2:1" in index
    assert "domains/shared.html" in pages


def test_the_graph_of_a_mesh_goes_across_its_domains(tmp_path: Path) -> None:
    registry = load_project(Project(write_mesh(tmp_path), "local_spark"), {})
    upstream = set(registry.graph.upstream["shared", "gold_marts_driver_health"])
    assert upstream == {("rides", "silver_app_trips"), ("rides", "gold_app_dim_driver")}
    assert not registry.find("silver_app_clicks").place.enabled
    assert {problem.location.file.parent.name for problem in registry.errors if problem.location.file} == {"broken"}
