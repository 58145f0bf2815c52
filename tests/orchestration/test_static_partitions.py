"""Regions times days: each part of a day is read, replaced and recorded by itself."""

from __future__ import annotations

import dagster as dg

from tests.orchestration.conftest import Runner

SET = """
    name: daily_by_region
    cadence: daily
    start: "2026-02-01"
    end: "2026-03-01"
    static: {column: region, values: [eu, us]}
"""
CONTRACT = """
    version: 1.0.0
    info: {title: Visits, table_name: silver_web_visits, target_layer: silver, domain: shop}
    model:
      fields:
        - {name: visit_id, type: long, required: true}
        - {name: region, type: string, required: true}
        - {name: seen_on, type: date, required: true}
    source: {type: landing, path: .lakehouse/landing/visits, format: csv, watermark_field: seen_on, options: {header: "true"}}
    materialization: {strategy: overwrite, partition_by: [seen_on, region], reprocess_date_column: seen_on, target_path: lake.shop.silver_web_visits}
    extensions: {com.lakelogic.partitions: daily_by_region}
"""


def land(runner: Runner, *rows: tuple[int, str, str]) -> None:
    lines = ["visit_id,region,seen_on", *(f"{number},{region},{day}" for number, region, day in rows)]
    runner.shop.write(".lakehouse/landing/visits/all.csv", "\n".join(lines) + "\n")


def run(runner: Runner, key: str) -> dg.ExecuteInProcessResult:
    definitions = runner.shop.definitions()
    keys = [dg.AssetKey(["shop", "silver_web_visits"])]
    job = definitions.resolve_implicit_job_def_def_for_assets(keys)
    assert job is not None
    return job.execute_in_process(asset_selection=keys, partition_key=key, instance=runner.instance)


def test_a_part_of_a_day_is_replaced_and_the_others_stay(runner: Runner) -> None:
    runner.shop.write("partitions/daily_by_region.yaml", SET)
    runner.shop.write("contracts/web/silver_web_visits.yaml", CONTRACT)
    land(runner, (1, "eu", "2026-02-01"), (2, "us", "2026-02-01"), (3, "eu", "2026-02-02"))
    for key in ("2026-02-01|eu", "2026-02-01|us", "2026-02-02|eu"):
        assert run(runner, key).success
    assert [row[0] for row in runner.shop.rows("silver_web_visits", "visit_id")] == ["1", "2", "3"]
    land(runner, (7, "eu", "2026-02-01"), (8, "us", "2026-02-01"))
    result = run(runner, "2026-02-01|eu")
    assert [row[0] for row in runner.shop.rows("silver_web_visits", "visit_id")] == ["2", "3", "7"]
    assert {each.partition for each in result.get_asset_check_evaluations()} == {"2026-02-01|eu"}
    assert "2026-02-01|eu" in runner.recorded("silver_web_visits")
