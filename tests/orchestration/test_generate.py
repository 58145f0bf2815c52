"""The job that makes landing files."""

from __future__ import annotations

import json
from typing import Any

import dagster as dg

from tests.orchestration.conftest import Runner
from tests.orchestration.test_jobs import output_metadata, start, told

FILE = ".lakehouse/landing/orders/y_2026/m_02/d_20/orders_1.jsonl"


def made(runner: Runner, **config: Any) -> dg.ExecuteInProcessResult:
    return start(runner, "generate_data", "make_files", first_day="2026-02-20", days=1, **config)


def test_files_land_where_the_source_looks_and_the_run_says_what_is_wrong_with_them(runner: Runner) -> None:
    result = made(runner, select=["bronze_till_orders"], rows=40, invalid=0.1, seed=3)
    assert result.success
    rows = [json.loads(line) for line in (runner.shop.root / FILE).read_text().splitlines()]
    assert len(rows) == 40
    assert {row["ordered_on"] for row in rows} - {"2026-02-20"} != {"2026-02-20"}
    said = output_metadata(result, "make_files")
    assert (said["rows"], said["files"], said["broken"]) == (40, 1, sum(_is_odd(row) for row in rows) + _copies(rows))
    assert "silver_till_orders: amount is not negative" in said["contracts"]


def test_a_selection_that_nobody_knows_fails_with_one_sentence(runner: Runner) -> None:
    result = made(runner, select=["bronze_till_ordres"])
    assert not result.success
    assert "bronze_till_orders" in told(result)


def test_days_in_the_wrong_order_fail_with_one_sentence(runner: Runner) -> None:
    assert "before the first day" in told(made(runner, last_day="2026-02-19"))


def _is_odd(row: dict[str, Any]) -> bool:
    return not row["order_id"] or not isinstance(row["amount"], float | int) or not 0 <= row["amount"] < 900


def _copies(rows: list[dict[str, Any]]) -> int:
    return len(rows) - len({json.dumps(row) for row in rows})
