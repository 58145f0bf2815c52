"""`lakelogic driver` from its registries to its tables, its summary and its figures; on real Spark and real Delta."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.request import urlopen

import duckdb
import pytest
from deltalake import DeltaTable

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.cli.metrics_server import MetricsServer
from lakelogic_assets.spark.run_log import read_runs
from tests.orchestration.conftest import Shop, make_shop

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

ONE, TWO = "2026-02-01", "2026-02-02"
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
CLOSED = 666
TILL, WAREHOUSE, REFERENCE = "contracts/shop/till", "contracts/shop/warehouse", "contracts/shop/reference"
TILLS = """
    version: 1.0.0
    info: {title: Tills, table_name: silver_reference_tills, target_layer: silver}
    model: {fields: [{name: till, type: string}]}
    source: {type: landing, path: tills.csv, format: csv}
    materialization: {strategy: overwrite}
"""


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Shop:
    """Bronze and silver in one registry, gold without days of its own and reference data in others."""
    assert spark is not None
    made = make_shop(tmp_path / "shop")
    index = (made.root / TILL / "_system.yaml").read_text()
    made.write(f"{TILL}/_system.yaml", "".join(line for line in index.splitlines(True) if "layer: gold" not in line))
    (made.root / TILL / "gold_till_overview.yaml").unlink()
    gold = (made.root / TILL / f"{GOLD}.yaml").read_text()
    (made.root / TILL / f"{GOLD}.yaml").unlink()
    made.write(f"{WAREHOUSE}/{GOLD}.yaml", gold.replace("extensions: {com.lakelogic.partitions: daily}\n", ""))
    made.write(
        f"{WAREHOUSE}/_registry.yaml", f"domain: shop\nentries: [{{entity: totals, contract_path: {GOLD}.yaml}}]\n"
    )
    made.write(f"{REFERENCE}/silver_reference_tills.yaml", TILLS)
    made.write(f"{REFERENCE}/tills.csv", "till\nleft\nright\n")
    entry = "{entity: tills, contract_path: silver_reference_tills.yaml}"
    made.write(f"{REFERENCE}/_registry.yaml", f"domain: shop\nentries: [{entry}]\n")
    return made


def windows(shop: Shop, table: str) -> list[tuple[str, str]]:
    path = shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log"
    rows = read_runs(str(path), contract=f"shop/{table}", with_reports=True)[::-1]
    return [(row["report"]["window"]["key"], row["status"]) for row in rows]


@pytest.fixture
def driver(shop: Shop, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def called(*words: str) -> tuple[int, str]:
        registry = str(shop.root / TILL / "_system.yaml")
        code = lakelogic(["driver", "--registry", registry, "--layers", "bronze,silver", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return called


def test_a_standing_call_that_resumes_takes_in_new_days_although_an_old_one_stays_blocked(
    shop: Shop, driver: Callable[..., tuple[int, str]]
) -> None:
    shop.write("partitions/daily.yaml", "name: daily\ncadence: daily\nstart: '2026-02-01'\nend: '2026-02-04'\n")
    state = shop.root / "state.json"
    nightly = ("--window", "last_success", "--state-path", str(state), "--resume")
    shop.land(ONE, CLOSED)
    assert driver(*nightly)[0] == 1
    first = json.loads(state.read_text())["pipeline_run_id"]
    shop.land(TWO, 11)
    code, said = driver(*nightly)
    assert code == 1, said
    assert json.loads(state.read_text())["pipeline_run_id"] == first
    assert (TWO, "success") in windows(shop, BRONZE)
    assert windows(shop, BRONZE).count((ONE, "success")) == 1
    assert shop.days(SILVER) == [TWO]
    assert windows(shop, SILVER).count((ONE, "blocked")) == 2

    # A state file of other work does not decide what is run.
    days = ("--window", "range", "--window-start-date", TWO, "--window-end-date", TWO)
    code, said = driver(*days, "--state-path", str(state), "--resume", "--dry-run")
    assert code == 0
    assert f"{state} names the run {first[:8]}, which asked for something else, so all of this is run" in said
    planned = [line.split()[1:3] for line in said.splitlines() if line.startswith("  …")]
    assert planned == [[f"shop/{BRONZE}", TWO], [f"shop/{SILVER}", TWO]]


class Night:
    """Calls of the driver over all registries of the shop, and what it told others."""

    def __init__(self, shop: Shop, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.shop, self.logs, self.capsys = shop, logs, capsys
        self.pages: list[str] = []
        days = ["--window", "range", "--window-start-date", ONE, "--window-end-date", TWO]
        self.asked = ["--layers", "reference,bronze,silver,gold", *days, "--state-path", str(logs / "state.json")]

    def call(self, *words: str | Path) -> tuple[int, str]:
        registries = [
            *("--registry", f"{TILL}/_system.yaml", "--reference-registry", f"{REFERENCE}/_registry.yaml"),
            *("--gold-registry", f"{WAREHOUSE}/_registry.yaml"),
        ]
        code = lakelogic(["driver", *registries, *map(str, words)])
        said = self.capsys.readouterr()
        return code, said.out + said.err

    def scrape(self, server: MetricsServer) -> None:
        with urlopen(server.url) as answer:  # noqa: S310 - the address of a server of this test
            self.pages.append(answer.read().decode())


@pytest.fixture
def night(shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Night:
    monkeypatch.chdir(shop.root)
    made = Night(shop, tmp_path / "logs", capsys)
    monkeypatch.setattr(MetricsServer, "linger", lambda server, _: made.scrape(server))
    return made


def test_a_driver_runs_mends_resumes_and_tells_everybody(night: Night) -> None:
    first = _a_range_over_all_layers_of_which_a_gate_holds_a_day(night)
    _one_day_of_one_entity_is_read_again_and_nothing_else(night)
    _what_is_left_is_done_under_the_first_name_and_everybody_is_told(night, first)
    _a_backfill_cuts_what_has_no_days_of_its_own_as_it_was_asked_to(night)


def _a_range_over_all_layers_of_which_a_gate_holds_a_day(night: Night) -> str:
    shop = night.shop
    shop.land(ONE, 10, 20)
    shop.land(TWO, CLOSED)
    code, said = night.call(*night.asked, "--summary-table", "lakelogic.night", "--metrics-backend", "json")
    assert code == 1, said
    assert shop.rows("silver_reference_tills", "till") == [("left",), ("right",)]
    assert shop.days(SILVER) == [ONE]
    state = json.loads((night.logs / "state.json").read_text())
    assert state["status"] == "partial"
    assert [f"shop/{SILVER}", TWO] not in state["done"]
    figures = json.loads((shop.root / ".lakehouse/_lakelogic/pipeline_metrics.json").read_text())
    assert figures["pipeline_run_id"] == state["pipeline_run_id"]
    (place,) = [line.removeprefix("summary row in ") for line in said.splitlines() if line.startswith("summary row")]
    (row,) = DeltaTable(place).to_pyarrow_table().to_pylist()
    assert (row["pipeline_run_id"], row["status"]) == (state["pipeline_run_id"], "partial")
    return str(state["pipeline_run_id"])


def _one_day_of_one_entity_is_read_again_and_nothing_else(night: Night) -> None:
    night.shop.land(TWO, 11)
    rebuild = ["--reprocess-start-date", TWO, "--reprocess-end-date", TWO]
    code, said = night.call("--layers", "bronze", "--entities", "orders", *rebuild)
    assert code == 0, said
    assert windows(night.shop, BRONZE) == [(ONE, "success"), (TWO, "success"), (TWO, "success")]
    assert len(windows(night.shop, SILVER)) == 2


def _what_is_left_is_done_under_the_first_name_and_everybody_is_told(night: Night, first: str) -> None:
    shop, database = night.shop, night.logs / "runs.duckdb"
    code, said = night.call(
        *night.asked, "--resume", "--summary-backend", "duckdb", "--summary-database", database,
        "--metrics-path", night.logs / "metrics.json", "--metrics-backend", "prometheus", "--metrics-port", "0",
    )  # fmt: skip
    assert code == 0, said
    assert windows(shop, SILVER)[2:] == [(TWO, "success")]
    assert len(windows(shop, BRONZE)) == 3
    assert shop.rows(GOLD, "ordered_on", "total") == [(ONE, "30.0"), (TWO, "11.0")]
    assert "metrics on http://127.0.0.1:" in said
    (page,) = night.pages
    assert 'lakelogic_pipeline_status{status="success"} 1' in page
    assert first in page
    told = json.loads((night.logs / "metrics.json").read_text())
    assert (told["pipeline_run_id"], told["status"]) == (first, "success")
    with duckdb.connect(str(database), read_only=True) as connection:
        found = connection.execute("SELECT pipeline_run_id, status FROM runs.lakelogic.pipeline_runs").fetchall()
    assert found == [(first, "success")]


def _a_backfill_cuts_what_has_no_days_of_its_own_as_it_was_asked_to(night: Night) -> None:
    weeks = ["--backfill-start-date", ONE, "--backfill-end-date", "2026-02-09", "--backfill-granularity", "week"]
    code, said = night.call("--layers", "gold", *weeks)
    assert code == 0, said
    assert [key for key, _ in windows(night.shop, GOLD)][-2:] == ["2026-02-01..2026-02-08", "2026-02-08..2026-02-10"]
    assert night.shop.rows(GOLD, "ordered_on", "total") == [(ONE, "30.0"), (TWO, "11.0")]
