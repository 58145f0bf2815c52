"""What is told of a quarantine without Spark is what Spark would tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.spark.quarantined import quarantined

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

SPACED = """\
model: {fields: [{name: id, type: int}, {name: net fare, type: double}]}
quality: {row_rules: [{name: positive, sql: "`net fare` > 0"}]}
materialization: {strategy: append}
"""


@pytest.mark.parametrize("text", [SPACED, SPACED.replace("net fare", "net_fare")], ids=["spaced", "plain"])
def test_bad_rows_are_counted_and_shown_whatever_their_columns_are_called(sandbox: Sandbox, text: str) -> None:
    fare = "net fare" if "net fare" in text else "net_fare"
    sandbox.run(text, [(1, 5.0), (2, -1.0), (3, -2.0)], f"id int, `{fare}` double")
    path = sandbox.processor(text).destination.quarantine
    found = quarantined(path, "orders", rows=5)
    assert (found.count, found.by_rule) == (2, {f"[pre] Rule failed: positive (`{fare}` > 0)": 2})
    assert sorted((row["id"], row[fare]) for row in found.rows) == [(2, -1.0), (3, -2.0)]
    assert quarantined(path, "another's", rows=1).count == 0


def test_bad_rows_without_reasons_are_counted_too(sandbox: Sandbox) -> None:
    text = SPACED + "quarantine: {include_error_reason: false}\n"
    sandbox.run(text, [(1, 5.0), (2, -1.0)], "id int, `net fare` double")
    found = quarantined(sandbox.processor(text).destination.quarantine, "orders")
    assert (found.count, found.by_rule) == (1, {"(reasons are not kept)": 1})


def test_a_name_with_a_space_inside_of_a_struct_can_be_stored(sandbox: Sandbox) -> None:
    text = """\
model: {fields: [{name: id, type: int}, {name: parts, type: "array<struct<`a b`: int>>"}]}
quality: {row_rules: [{name: positive, sql: id > 0}]}
"""
    rows = [(1, [(7,)]), (-1, [(8,)])]
    sandbox.run(text, rows, "id int, parts array<struct<`a b`: int>>")
    assert [row[1][0][0] for row in sandbox.target(text, "id", "parts")] == [7]
    (bad,) = quarantined(sandbox.processor(text).destination.quarantine, "orders", rows=5).rows
    assert bad["parts"] == [{"a b": 8}]


def test_the_id_of_a_bad_row_tells_nothing_about_what_is_masked(sandbox: Sandbox) -> None:
    text = """\
model: {fields: [{name: id, type: int}, {name: phone, type: string, pii: true, masking: redact}]}
quality: {row_rules: [{name: never, sql: id > 9}]}
"""
    sandbox.run(text, [(1, "555-0100"), (1, "555-0199"), (2, "555-0100")], "id int, phone string")
    ids = sandbox.quarantine(text, "id", "_lakelogic_row_id")
    assert [key for key, _ in ids] == [1, 1, 2]
    assert ids[0] == ids[1]
    assert ids[0][1] != ids[2][1]
