"""Rules against what is in a table already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import NotFoundError
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.table_checks import check_table

if TYPE_CHECKING:
    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

MODEL = """
model:
  fields:
    - {name: id, type: int}
    - {name: fare, type: double}
    - {name: day, type: date}
    - {name: email, type: string, masking: redact}
    - {name: phone, type: string, masking: hash}
materialization: {strategy: append, reprocess_date_column: day}
service_levels: {freshness: {threshold: 6h, field: day}}
"""
LOOSE = MODEL + "quality: {}"
STRICT = (
    MODEL
    + """
quality:
  row_rules:
    - {name: cheap, sql: fare < 10, severity: warning}
    - {name: paid, sql: fare > 0}
    - {name: reachable, sql: "email LIKE '%@%'"}
    - {name: elsewhere, sql: other > 0}
  dataset_rules: [{unique: id}, {unique: phone}, {unique: email}, {row_count_between: {min: 1}}]
"""
)
ROWS = [
    (1, 5.0, "2026-02-03", "a@x", "1"),
    (1, -1.0, "2026-02-03", "b@x", "1"),
    (2, 50.0, "2026-02-04", "c@x", "2"),
]
SCHEMA = "id int, fare double, day string, email string, phone string"


def checked(sandbox: Sandbox, text: str, window: Window = FULL) -> RunReport:
    processor = sandbox.processor(text)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    return check_table(processor.contract, sandbox.spark, lakehouse, processor.destination, window)


def test_rules_are_judged_on_what_the_table_holds(sandbox: Sandbox) -> None:
    sandbox.run(LOOSE, ROWS, SCHEMA)
    target = sandbox.processor(STRICT).destination.target
    before = delta_log.version(target)
    report = checked(sandbox, STRICT)
    assert report.status == "success"
    assert report.counts.source == 3
    assert report.failed_row_rules == {"cheap": 1, "paid": 1}
    assert report.newest == "2026-02-04T00:00:00+00:00"
    assert delta_log.version(target) == before


def test_a_rule_that_the_table_cannot_answer_says_so(sandbox: Sandbox) -> None:
    sandbox.run(LOOSE, ROWS, SCHEMA)
    report = checked(sandbox, STRICT)
    notes = {rule.name: rule.note for rule in report.row_rules if rule.note}
    assert notes == {
        "reachable": "not evaluated: email is masked in the table",
        "elsewhere": "not evaluated: other is not in the table",
    }
    passed = {rule.name: rule.passed for rule in report.dataset_rules}
    assert passed == {"id_unique": False, "phone_unique": False, "email_unique": None, "row_count_between": True}


def test_only_the_rows_of_a_window_are_looked_at(sandbox: Sandbox) -> None:
    sandbox.run(LOOSE, ROWS, SCHEMA)
    report = checked(sandbox, STRICT, Window.day("2026-02-04"))
    assert (report.counts.source, report.failed_row_rules) == (1, {"cheap": 1})


def test_a_window_without_a_column_of_time_is_found_by_its_name(sandbox: Sandbox) -> None:
    timeless = LOOSE.replace(", reprocess_date_column: day", "")
    sandbox.run(timeless, ROWS[:1], SCHEMA, window=Window.day("2026-02-03"))
    sandbox.run(timeless, ROWS[2:], SCHEMA, window=Window.day("2026-02-04"))
    assert checked(sandbox, timeless, Window.day("2026-02-04")).counts.source == 1


def test_a_table_that_is_not_there_is_said_in_one_line(sandbox: Sandbox) -> None:
    with pytest.raises(NotFoundError, match="run it first"):
        checked(sandbox, STRICT)
