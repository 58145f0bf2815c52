"""Days of the past from the command line: cut, turned, late, emptied and brought back; on real Spark and real Delta."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.spark.run_log import read_runs
from tests.orchestration.conftest import Shop, make_shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Call = Callable[..., str]

ONE, TWO, THREE = (f"2026-02-0{day}" for day in (1, 2, 3))
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
DAILY = """
    name: daily
    cadence: daily
    start: "2026-02-01"
    end: "2026-02-04"
"""


class Till:
    """A shop of three days whose gold table has none of its own; the tests here follow each other."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def runs(self, table: str) -> list[str]:
        """The windows that were run, in the order in which they began."""
        path = self.shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log"
        logged = read_runs(str(path), contract=f"shop/{table}", with_reports=True)
        found = [row for row in logged if row["status"] not in ("reset", "restored")]
        return [row["report"]["window"]["key"] for row in sorted(found, key=lambda row: row["report"]["started_at"])]

    def files(self, table: str) -> set[str]:
        return set(DeltaTable(str(self.shop.root / ".lakehouse/warehouse/lake/shop" / table)).file_uris())

    def version(self, table: str) -> int:
        return DeltaTable(str(self.shop.root / ".lakehouse/warehouse/lake/shop" / table)).version()

    @property
    def totals(self) -> list[tuple[str, str]]:
        return self.shop.rows(GOLD, "ordered_on", "total")


@pytest.fixture(scope="module")
def till(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Till:
    assert spark is not None
    shop = make_shop(tmp_path_factory.mktemp("rebuilding") / "shop")
    shop.write("partitions/daily.yaml", DAILY)
    path = f"contracts/shop/till/{GOLD}.yaml"
    shop.write(path, (shop.root / path).read_text().replace("extensions: {com.lakelogic.partitions: daily}\n", ""))
    for day in (ONE, TWO, THREE):
        shop.land(day, 10, 20)
    return Till(shop)


@pytest.fixture
def call(till: Till, capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*words: str) -> str:
        """What a call prints that ends well."""
        capsys.readouterr()
        code = lakelogic([*words, "--project", str(till.shop.root)])
        said = capsys.readouterr()
        assert code == 0, said.out + said.err
        return said.out

    return called


def planned(said: str) -> list[str]:
    return [line.split(" (")[0].removeprefix("  … shop/") for line in said.splitlines() if line.startswith("  …")]


def newest(call: Call) -> str:
    return call("runs").splitlines()[1].split()[0]


def test_a_backfill_by_weeks_from_the_newest_window_on_two_at_a_time(till: Till, call: Call) -> None:
    months = call("backfill", GOLD, "--from", "2026-01-31", "--to", THREE, "--by", "month", "--dry-run")
    assert planned(months) == [f"{GOLD} 2026-01-31..2026-02-01", f"{GOLD} 2026-02-01..2026-02-04"]
    call("backfill", f"+{GOLD}", "--from", ONE, "--to", THREE, "--by", "week", "--reverse", "--parallel", "2")
    assert till.runs(BRONZE) == till.runs(SILVER) == [THREE, TWO, ONE]
    assert till.runs(GOLD) == ["2026-02-01..2026-02-04"]
    assert till.totals == [(ONE, "30.0"), (TWO, "30.0"), (THREE, "30.0")]


def test_late_days_are_rebuilt_with_all_that_is_made_from_them_and_no_others(till: Till, call: Call) -> None:
    before = {table: till.files(table) for table in (BRONZE, SILVER, GOLD)}
    for day in (ONE, THREE):
        till.shop.land(day, 10, 20, 5)
    hints = [line for line in call("late", BRONZE).splitlines() if line.startswith("rebuild")]
    assert hints == [f"rebuild with: lakelogic reprocess shop/{BRONZE} --from {d} --to {d}" for d in (ONE, THREE)]
    call("late", "--run")
    assert sorted(till.runs(BRONZE)[3:]) == sorted(till.runs(SILVER)[3:]) == [ONE, THREE]
    assert sorted(till.runs(GOLD)[1:]) == ["2026-02-01..2026-02-02", "2026-02-03..2026-02-04"]
    assert till.totals == [(ONE, "35.0"), (TWO, "30.0"), (THREE, "35.0")]
    for table, files in before.items():
        assert not [file for file in files ^ till.files(table) if f"ordered_on={TWO}" in file]
    assert "no windows late" in call("late", "--run")
    assert f"late shop/{BRONZE} {ONE} shop/{BRONZE} {THREE}" in call("runs", newest(call))


def test_tables_are_emptied_come_back_and_are_loaded_anew(till: Till, call: Call) -> None:
    before = {table: till.shop.rows(table, "ordered_on") for table in (SILVER, GOLD)}
    totals = till.totals
    said = call("reset", SILVER, GOLD, "--yes")
    assert f"✓ shop/{GOLD}: emptied" in said
    assert "stale      shop/gold_till_overview" in said
    assert till.shop.rows(SILVER, "ordered_on") == till.totals == []
    said = call("restore", SILVER, GOLD, "--yes")
    assert f"✓ shop/{SILVER}: " in said
    assert {table: till.shop.rows(table, "ordered_on") for table in (SILVER, GOLD)} == before
    runs = len(till.runs(SILVER))
    said = call("reload", SILVER, GOLD, "--yes")
    assert "emptied" in said
    assert sorted(till.runs(SILVER)[runs:]) == [ONE, TWO, THREE]
    assert {table: till.shop.rows(table, "ordered_on") for table in (SILVER, GOLD)} == before
    assert till.totals == totals


def test_a_layer_is_emptied_and_goes_back_to_a_version_and_to_a_moment(till: Till, call: Call) -> None:
    before = {table: till.shop.rows(table, "ordered_on") for table in (BRONZE, SILVER, GOLD)}
    version, moment = till.version(SILVER), datetime.now(UTC).isoformat()
    for back in (("--version", str(version)), ("--to", moment)):
        said = call("reset", "--layer", "silver", "--yes")
        assert next(line for line in said.splitlines() if "emptied" in line).startswith(f"  ✓ shop/{SILVER}: emptied")
        assert {table: till.shop.rows(table, "ordered_on") for table in before} == before | {SILVER: []}
        call("restore", SILVER, *back, "--yes")
        assert {table: till.shop.rows(table, "ordered_on") for table in before} == before
    # The two resets and the two restores are commits of their own, and the history is kept.
    assert till.version(SILVER) == version + 4
