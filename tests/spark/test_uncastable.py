"""Values that a step cannot cast: their rows are held back, never the run, and nothing becomes NULL unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets import names

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = "model: {fields: [{name: id, type: int}, {name: amount, type: double}]}\n"
ROWS = [(1, "5"), (2, "many"), (3, None)]
SCHEMA = "id int, word string"


@pytest.mark.parametrize("phase", ["pre", "post"])
@pytest.mark.parametrize("further", ["", "  - {filter: {sql: id > 0}, phase: PHASE}\n"])
def test_a_row_that_a_cast_step_cannot_cast_is_quarantined(sandbox: Sandbox, phase: str, further: str) -> None:
    text = MODEL + f"transformations:\n  - {{cast: {{columns: {{word: int}}}}, phase: {phase}}}\n"
    text += further.replace("PHASE", phase)
    outcome = sandbox.validate(text, ROWS, SCHEMA)
    assert sorted(row.id for row in outcome.good.collect()) == [1, 3]
    (bad,) = outcome.bad.collect()
    assert bad[names.ERRORS_COLUMN] == ["Type Mismatch: word cannot be cast to int"]
    assert bad[names.RAW_COLUMN] == {"word": "many"}
    assert not [name for name in (*outcome.good.columns, *outcome.bad.columns) if name.startswith("__ll_")]
    assert (outcome.report.counts.source, outcome.report.counts.quarantined) == (3, 1)


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_a_query_that_meets_a_bad_value_gives_null_and_goes_on(sandbox: Sandbox, phase: str) -> None:
    query = "SELECT id, CAST(word AS DOUBLE) AS amount, to_date(word) AS day, 'CAST(x' AS note FROM source"
    text = MODEL + f'transformations: [{{sql: "{query}", phase: {phase}}}]'
    outcome = sandbox.validate(text, ROWS, SCHEMA)
    assert sorted((row.id, row.amount, row.note) for row in outcome.good.collect()) == [
        (1, 5.0, "CAST(x"),
        (2, None, "CAST(x"),
        (3, None, "CAST(x"),
    ]


def test_a_required_column_holds_back_what_a_query_could_not_cast(sandbox: Sandbox) -> None:
    required = MODEL.replace("type: double", "type: double, required: true")
    text = required + 'transformations: [{sql: "SELECT id, CAST(word AS DOUBLE) AS amount FROM source", phase: pre}]'
    outcome = sandbox.validate(text, ROWS, SCHEMA)
    assert [row.id for row in outcome.good.collect()] == [1]


def test_a_cast_step_that_asks_for_whole_numbers_cuts_fractions_off(sandbox: Sandbox) -> None:
    fields = ", ".join(f"{{name: {name}, type: int}}" for name in ("id", "word", "share", "told", "arrived"))
    text = f"model: {{fields: [{fields}]}}\n"
    text += "transformations: [{cast: {columns: {word: integer, share: int, told: double}}}]\n"
    rows = [
        (1, "1.5", 2.7, "3.9", 1.0),
        (2, "-1.5", -2.7, "1e2", 1.0),
        (3, "1d", 1.0, "1", 1.0),
        (4, "1", 1.0, "1", 1.5),
    ]
    outcome = sandbox.validate(text, rows, "id int, word string, share double, told string, arrived double")
    assert sorted(tuple(row) for row in outcome.good.collect()) == [(1, 1, 2, 3, 1), (2, -1, -2, 100, 1)]
    assert {row.id: row[names.ERRORS_COLUMN] for row in outcome.bad.collect()} == {
        3: ["Type Mismatch: word cannot be cast to integer"],
        4: ["Type Mismatch: arrived cannot be cast to int"],
    }
