"""What a materialization leaves: tables, figures, verdicts, and nothing where nothing was asked."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable

from tests.orchestration.conftest import Runner, Shop

DAY, NEXT, BROKEN = "2026-02-10", "2026-02-11", "2026-02-12"
SILVER = dg.AssetKey(["shop", "silver_till_orders"])


def version(runner: Runner, table: str) -> int:
    return DeltaTable(str(runner.shop.root / ".lakehouse/warehouse/lake/shop" / table)).version()


def metadata(runner: Runner, key: dg.AssetKey, partition: str | None = None) -> dict[str, Any]:
    chosen = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition] if partition else None)
    (record, *_) = runner.instance.fetch_materializations(chosen, limit=1).records
    assert record.asset_materialization is not None
    return {name: value.value for name, value in record.asset_materialization.metadata.items()}


@pytest.fixture(scope="module")
def landed(runner: Runner) -> Runner:
    runner.shop.land(DAY, 10, 950, -5, -7)
    assert runner.run("bronze_till_orders", "silver_till_orders", days=(DAY,)).success
    return runner


def test_a_materialization_tells_where_every_row_went(landed: Runner) -> None:
    found = metadata(landed, SILVER, DAY)
    assert (found["rows_read"], found["rows_good"], found["rows_quarantined"], found["rows_dropped"]) == (4, 2, 2, 0)
    assert found["dagster/partition_row_count"] == found["dagster/row_count"] == 2
    assert found["delta_version"] == version(landed, "silver_till_orders")
    (record,) = found["quarantine_by_rule"].records
    assert (record.data["rule"], record.data["rows"], record.data["share"]) == ("amount is not negative", 2, "50.00%")
    assert found["quarantine_table"].endswith("shop_silver_till_orders")
    assert {"read", "evaluate", "publish"} <= set(found["timings"])
    assert len(found["sample"].records) == 2


def test_columns_know_where_they_come_from(landed: Runner) -> None:
    lineage = metadata(landed, SILVER, DAY)["dagster/column_lineage"]
    (dep,) = lineage.deps_by_column["amount"]
    assert (dep.asset_key, dep.column_name) == (dg.AssetKey(["shop", "bronze_till_orders"]), "amount")


def test_checks_belong_to_the_day_and_to_its_materialization(landed: Runner) -> None:
    key = dg.AssetCheckKey(SILVER, "quarantine_ratio")
    summary = landed.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0]
    evaluation = summary.event.dagster_event.event_specific_data  # type: ignore[union-attr]
    assert evaluation.partition == DAY
    assert evaluation.target_materialization_data is not None


def test_a_check_alone_reads_the_table_and_writes_nothing(landed: Runner) -> None:
    before = version(landed, "silver_till_orders")
    defs = landed.shop.definitions()
    checks = dg.AssetSelection.checks(dg.AssetCheckKey(SILVER, "amount_is_usual"))
    job = dg.define_asset_job("look", checks)
    resolved = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("look")
    tags = {"dagster/partition": DAY}
    result = resolved.execute_in_process(instance=landed.instance, tags=tags)
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert evaluation.metadata["failed_rows"].value == 1
    assert version(landed, "silver_till_orders") == before
    assert not result.get_asset_materialization_events()


def test_a_day_without_data_is_materialized_with_no_rows(landed: Runner) -> None:
    result = landed.run("bronze_till_orders", "silver_till_orders", days=(NEXT,))
    assert result.success
    assert metadata(landed, SILVER, NEXT)["rows_good"] == 0
    assert len(result.get_asset_check_evaluations()) > 10


def test_the_same_day_again_leaves_the_same_rows(landed: Runner) -> None:
    before = landed.shop.rows("silver_till_orders", "order_id", "amount")
    assert landed.run("bronze_till_orders", "silver_till_orders", days=(DAY,)).success
    assert landed.shop.rows("silver_till_orders", "order_id", "amount") == before
    assert len(landed.shop.rows("bronze_till_orders", "order_id")) == 4


def test_an_asset_can_be_run_without_its_checks(landed: Runner) -> None:
    result = landed.run("silver_till_orders", days=(DAY,), checks=False)
    assert result.success
    assert result.get_asset_check_evaluations() == []


def test_a_table_by_day_is_not_run_without_a_day(landed: Runner) -> None:
    result = landed.run("bronze_till_orders")
    (told,) = [event.event_specific_data for event in result.all_events if event.is_step_failure]
    assert "is made by `daily` partitions" in str(told)
    assert len(landed.shop.rows("bronze_till_orders", "order_id")) == 4


def test_a_day_that_cannot_be_read_holds_what_needs_every_day(landed: Runner) -> None:
    first, second = "2026-02-24", "2026-02-25"
    landed.shop.land(first, 1)
    landed.shop.land(second, 1).write_bytes(b"\x00\x01not json\n")
    tables = ("bronze_till_orders", "silver_till_orders", "gold_till_totals", "gold_till_overview")
    result = landed.run(*tables, days=(first, second))
    assert not result.success
    assert landed.recorded("gold_till_totals") == [first]
    assert landed.recorded("gold_till_overview") == []


AFTER_DEATH = """
import sys, warnings
warnings.simplefilter("ignore")
import dagster as dg
from pathlib import Path
from pyspark import SparkContext
from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.project import Project

defs = build_definitions(Project(Path(sys.argv[1])))
job = defs.resolve_implicit_global_asset_job_def()
keys = [dg.AssetKey(["shop", "bronze_till_orders"])]
run = lambda: job.execute_in_process(asset_selection=keys, partition_key="2026-02-20").success
assert run()
SparkContext._gateway.proc.kill()
SparkContext._gateway.proc.wait()
assert run()
"""


def test_a_jvm_that_died_is_replaced_on_next_use(shop: Shop) -> None:
    shop.land("2026-02-20", 1)
    # In a process of its own: the session of this suite is everybody's.
    done = subprocess.run([sys.executable, "-c", AFTER_DEATH, str(shop.root)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_source_that_cannot_be_read_fails_in_one_sentence(landed: Runner) -> None:
    landed.shop.land(BROKEN, 1).write_bytes(b"\x00\x01not json\n")
    result = landed.run("bronze_till_orders", days=(BROKEN,))
    (told,) = [event.event_specific_data for event in result.all_events if event.is_step_failure]
    assert "orders.jsonl is not UTF-8 text" in str(told)
    assert "Py4J" not in str(told)
