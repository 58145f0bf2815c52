"""A mesh in the shapes of a public one runs unmodified: once, again without news, and once more with some."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from lakelogic_assets.authoring.documents import pdf
from lakelogic_assets.cli.app import run
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project
from lakelogic_assets.spark.workspace import Workspace
from tests.cli.test_docs import written
from tests.report.site_pages import broken_links, read
from tests.spark.mesh_files import DRIVERS, EDGE_CASES, TRIPS, land, write_mesh
from tests.spark.mesh_quirks import write_quirks

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

    def commits(self) -> dict[str, int]:
        """How many commits each table has."""
        logs = (self.lake / "warehouse").rglob("_delta_log/*.json")
        return dict(Counter(log.parent.parent.name for log in logs))


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
    assert _not_done(first) == {}
    assert len(first) == 8  # neither the contract that is switched off nor the one in no index
    assert _counts(first, "rides/bronze_app_trips") == (6, 6, 0)
    _judge_tables(mesh)

    ran_once = mesh.commits()
    _, second = mesh.reports("--all")
    assert {second[f"rides/bronze_app_{name}"]["report"]["status"] for name in ("trips", "drivers")} == {"no_new_data"}
    keyed = ("silver_app_trips", "silver_app_drivers", "gold_app_dim_driver", "gold_app_fact_trips")
    assert {second[f"rides/{name}"]["report"]["status"] for name in keyed} == {"unchanged"}
    again = {name for name, commits in mesh.commits().items() if commits > ran_once[name]}
    assert not {"bronze_app_trips", "bronze_app_drivers", *keyed} & again
    _judge_tables(mesh)

    _judge_news(mesh)
    _judge_site(mesh, tmp_path / "site")
    assert sorted(mesh.folder.rglob("*")) == before  # everything went to the lake


def _not_done(reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What did not go well, and why."""
    wrong = {name: each for name, each in reports.items() if each["state"] != "done"}
    return {name: each["error"] or each["waits_for"] or each["report"]["reasons"] for name, each in wrong.items()}


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
    assert "Left out because of errors" in pages["contracts/broken.bronze_feed_news.html"]
    assert "domains/shared.html" in pages


def test_the_graph_of_a_mesh_goes_across_its_domains(tmp_path: Path) -> None:
    registry = load_project(Project(write_mesh(tmp_path), "local_spark"), {})
    upstream = set(registry.graph.upstream["shared", "gold_marts_driver_health"])
    assert upstream == {("rides", "silver_app_trips"), ("rides", "gold_app_dim_driver")}
    assert not registry.find("silver_app_clicks").place.enabled
    assert {problem.location.file.parent.name for problem in registry.errors if problem.location.file} == {"broken"}


def test_all_that_a_mesh_writes_is_in_one_lake_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
    project = Project(write_mesh(tmp_path), "local_spark")
    places = [Workspace(project).destination(contract) for contract in load_project(project)]
    written = [text for place in places for text in (place.target, place.quarantine, place.run_log) if text]
    assert len(written) == 3 * len(places)
    assert [text for text in written if not Path(text).is_relative_to(tmp_path / ".lakehouse")] == []


@pytest.fixture
def quirks(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Mesh:
    assert spark is not None
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("LAKELOGIC_CACHE_DIR", str(tmp_path / "cache"))
    return Mesh(write_quirks(tmp_path / "mesh"), tmp_path / "lake", capsys)


def test_a_mesh_of_quirks_loads_runs_on_made_data_and_on_what_others_deliver(
    quirks: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = quirks.call("generate", "--rows", "6", "--from", "2026-02-01", "--to", "2026-02-01")
    assert code == 0, said
    shutil.rmtree(quirks.lake / "volumes/local/nondelta/landing_marketing/ads/events")
    _deliver(quirks, {"marketing/ads/events/ga.csv": EVENTS})
    code, first = quirks.reports("--all")
    assert (code, _not_done(first), len(first)) == (0, {}, 18)
    assert {name: _counts(first, name)[2] for name in first} == dict.fromkeys(first, 0)
    assert all(_counts(first, name)[1] > 0 for name in first)
    cities = quirks.table("warehouse/local/reference/gold_internal_dim_city")
    assert {type(row["city_sk"]) for row in cities} == {int}
    assert [row["city_code"] for row in cities if row["city_sk"] == -1] == ["Unknown"]
    facts = quirks.table("warehouse/local/operations/gold_desk_fact_tickets")
    assert {row["city_sk"] for row in facts} <= {row["city_sk"] for row in cities} - {-1}
    licences = quirks.table("warehouse/local/operations/bronze_checks_licences")
    assert all(row["licence_number"] for row in licences)
    assert not [name for name in licences[0] if "text" in name]

    _deliver(quirks, _strange_files(next(row["city_code"] for row in cities if row["city_sk"] != -1)))
    code, second = quirks.reports("--all")
    assert (code, _not_done(second)) == (0, {})
    for name, why in {
        "operations_silver_desk_tickets": "Type Mismatch: satisfaction_rating cannot be cast to float",
        "operations_bronze_checks_licences": "licence_number",
        "marketing_silver_ads_spend": "[pre] Rule failed: positive_spend (spend >= 0)",
        "reference_silver_internal_cities": "[pre] Rule failed: city_code_required (city_code IS NOT NULL)",
    }.items():
        (row,) = quirks.table(f"warehouse/local/quarantine/{name}")
        assert why in " ".join(row["_lakelogic_errors"])
    requests = {row["request_id"]: row["fare"] for row in quirks.table("warehouse/local/marketing/silver_ads_requests")}
    assert (requests["r1"], requests["r2"]) == (2.0, 3.0)
    changed = quirks.table("warehouse/local/reference/gold_internal_dim_city")
    assert len(changed) == len(cities) + 1
    assert [row["is_current"] for row in changed if row["timezone"] == "Zulu"] == [True]
    unchanged = ("operations/silver_desk_tickets", "operations/gold_desk_fact_tickets")
    assert {second[name]["report"]["status"] for name in unchanged} == {"unchanged"}

    _judge_a_key_with_a_hole(quirks)
    monkeypatch.setenv("LAKELOGIC_INCLUDE_UNREGISTERED", "1")
    _judge_events_of_no_index(quirks)


def _judge_a_key_with_a_hole(mesh: Mesh) -> None:
    """It is one key, and once more the same one when it comes again."""
    _deliver(mesh, {"marketing/ads/spend/again.csv": "campaign_id,ad_group_id,spent_on,spend\nc,,2026-02-01,5\n"})
    code, third = mesh.reports("bronze_ads_spend", "silver_ads_spend")
    assert (code, _not_done(third), _counts(third, "marketing/bronze_ads_spend")[1]) == (0, {}, 1)
    report = third["marketing/silver_ads_spend"]["report"]
    unique = "campaign_id_ad_group_id_spent_on_unique"
    assert [rule["passed"] for rule in report["dataset_rules"] if rule["name"] == unique] == [True]
    assert report["status"] == "unchanged"
    spend = mesh.table("warehouse/local/marketing/silver_ads_spend")
    assert [float(row["spend"]) for row in spend if row["campaign_id"] == "c"] == [5.0]


def _judge_events_of_no_index(mesh: Mesh) -> None:
    """Microseconds since 1970 are no timestamp as text: no row is good, and the table is there without rows."""
    code, reports = mesh.reports("silver_ads_events")
    assert (code, _not_done(reports)) == (0, {})
    assert _counts(reports, "marketing/silver_ads_events") == (2, 0, 2)
    assert mesh.table("warehouse/local/marketing/silver_ads_events") == []
    held = mesh.table("warehouse/local/quarantine/marketing_silver_ads_events")
    assert {row["event_id"]: row["_lakelogic_errors"] for row in held} == {
        7: ["Type Mismatch: event_timestamp cannot be cast to timestamp"],
        None: [
            "Type Mismatch: event_id cannot be cast to long",
            "Type Mismatch: event_timestamp cannot be cast to timestamp",
            "[pre] Rule failed: event_id_required (event_id IS NOT NULL)",
        ],
    }


def test_an_entity_of_two_systems_is_the_own_one_where_a_system_depends_on_it(tmp_path: Path) -> None:
    registry = load_project(Project(write_quirks(tmp_path), "local_spark"), {})
    assert not registry.errors
    upstream = registry.graph.upstream
    assert set(upstream["marketing", "gold_social_channels"]) == {("marketing", "bronze_social_campaigns")}
    assert ("marketing", "bronze_ads_campaigns") in upstream["marketing", "silver_ads_spend"]
    assert ("marketing", "bronze_social_campaigns") not in upstream["marketing", "silver_ads_spend"]


EVENTS = "event_id,event_timestamp,event_params_json\n7,1769936400000000,{}\nseven,1769936400000000,{}\n"


def _deliver(mesh: Mesh, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        domain, rest = name.split("/", 1)
        path = mesh.lake / f"volumes/local/nondelta/landing_{domain}" / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1")


def _strange_files(city: str) -> dict[str, str]:
    """Files as other programs write them: words for numbers, an array, keys with a hole in them, a poor document."""
    hour = "y_2026/m_02/d_01/h_99"
    return {
        "operations/desk/tickets/y_2026/m_02/d_01/more.csv": (
            f"ticket_id,requester_id,city_code,satisfaction_rating,opened_at,closed_at\nx,y,{city},good,2026-02-01,\n"
        ),
        f"marketing/ads/spend/{hour}/edge_cases.csv": (
            "spend,campaign_id,ad_group_id,spent_on\n5,c,,2026-02-01\n5,c,,2026-02-01\n-5,d,g,2026-02-01\n"
        ),
        f"marketing/ads/requests/{hour}/array.json": json.dumps(
            [
                {"request_id": "r1", "requested_at": "2026-02-01 10:00:00", "fare": 1},
                {"request_id": "r1", "requested_at": "2026-02-01 11:00:00", "fare": 2},
                {"request_id": "r2", "requested_at": "2026-02-01 10:00:00", "fare": 3},
            ],
            indent=2,
        ),
        "reference/internal/city_master/more.csv": (
            f"city_code,city_name,timezone,launched_at\n{city},Zed,Zulu,\n,Nowhere,Zulu,\n"
        ),
        "operations/checks/licences/2026/missing.pdf": pdf(["Licence", "Name: Ann"]).decode("latin-1"),
    }
