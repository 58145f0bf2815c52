"""The share of bad rows that a registry promises, as a gate: `gates: {quarantine_ratio: block}`; on real Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

    from tests.orchestration.conftest import Shop

ONE, TWO = "2026-02-01", "2026-02-02"
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"


def test_too_many_bad_rows_hold_their_day_and_what_is_below_and_a_few_do_not(
    shop: Shop, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """The registry of this shop promises at most half, and its resources make a gate of that."""
    assert spark is not None
    words = ["run", BRONZE, SILVER, GOLD, "--from", ONE, "--to", TWO, "--project", str(shop.root)]
    shop.land(ONE, 10, 20, -1)
    shop.land(TWO, 10, -1, -2)
    assert lakelogic(words) == 1
    said = capsys.readouterr().out
    assert f"shop/{SILVER} {TWO}: blocked (66.7% of the rows were quarantined; 50.0% are allowed)" in said
    assert shop.days(SILVER) == shop.days(GOLD) == [ONE]
    log = str(shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log")
    (held,) = read_runs(log, contract=f"shop/{GOLD}", statuses=["held"], with_reports=True)
    assert held["report"]["window"]["key"] == TWO
    shop.land(TWO, 10, 20, -2)
    assert lakelogic(words) == 0
    assert shop.rows(GOLD, "ordered_on", "total") == [(ONE, "30.0"), (TWO, "30.0")]
