"""Late data through real runs: what the log, the commits and the stamps of the engine itself tell."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.late import late_windows

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

ORDERS = """
model: {fields: [{name: id, type: int}, {name: business_date, type: date}, {name: delivered_on, type: date}]}
primary_key: [id]
lineage: {enabled: true}
source: {type: table, path: "table:lakehouse.default.raw", load_mode: incremental, watermark_field: delivered_on}
materialization: {strategy: merge, partition_by: [delivered_on]}
"""
FACTS = """
model: {fields: [{name: id, type: int}, {name: business_date, type: date}]}
source: {type: table, path: "table:lakehouse.default.orders", load_mode: incremental, watermark_field: business_date}
materialization: {strategy: append}
"""
DAYS = [f"2026-02-0{day}" for day in range(1, 5)]


def test_a_line_of_the_second_day_that_comes_on_the_fourth_names_the_second_day_of_the_facts(sandbox: Sandbox) -> None:
    def deliver(day: str, *rows: tuple[int, str]) -> str:
        given = [(number, business, day) for number, business in rows]
        schema = "id int, business_date string, delivered_on string"
        return sandbox.run(ORDERS, given, schema, window=Window.day(day)).run_id

    def late() -> list[tuple[str, int | None, int]]:
        facts = sandbox.processor(FACTS, "facts")
        every = [Window.day(date(2026, 2, day)) for day in range(1, 5)]
        report = late_windows(facts.contract, facts.workspace, lambda _, __: every, datetime(2026, 2, 6, tzinfo=UTC))
        assert (report.missing, report.notes) == ((), ())
        return [(each.window.key, each.rows, each.gone) for each in report.late]

    deliver(DAYS[0], (1, DAYS[0]), (2, DAYS[1]), (3, DAYS[2]))
    sandbox.processor(FACTS, "facts").run(window=Window.range(DAYS[0], DAYS[2]))
    assert late() == []
    # Order 1 is delivered again: a MERGE moves it and copies its neighbours into a new file.
    deliver(DAYS[3], (4, DAYS[1]), (5, DAYS[3]), (1, DAYS[0]))
    sandbox.spark.sql(f"OPTIMIZE delta.`{sandbox.processor(ORDERS).destination.target}`")
    assert late() == [(DAYS[0], 1, 1), (DAYS[1], 1, 0)]
    sandbox.processor(FACTS, "facts").run(window=Window.range(DAYS[0], DAYS[1]))
    assert late() == []
