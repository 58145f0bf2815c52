"""The declared shape held against the rows that came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets import names
from lakelogic_assets.errors import EngineError

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

TYPED = "model: {fields: [{name: v, type: %s}]}\n"


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        ("int", ["1", " -7 ", "0"], ["1.0", "abc", "9999999999", "１", ""]),
        ("double", ["1", "-1.5", ".5", "1e3"], ["NaN", "1d", "Infinity", "1e400", "x"]),
        ("decimal(5,2)", ["1", "123.45"], ["12345", "1,5", "１"]),
        (
            "date",
            ["2024-01-31", "2024-01-31 10:00:00"],
            ["2024", "2024-01", "12:30", "2024-02-31", "2024-01-01 25:00:00"],
        ),
        ("timestamp", ["2024-01-31", "2024-01-31T10:00:00Z"], ["12:30", "2024", "soon"]),
        ("boolean", ["true", "false", "1", "0"], ["maybe"]),
    ],
)
def test_text_is_cast_strictly_and_what_does_not_fit_is_quarantined(
    sandbox: Sandbox, kind: str, accepted: list[str], refused: list[str]
) -> None:
    rows = [(text,) for text in [*accepted, *refused]]
    outcome = sandbox.validate(TYPED % f'"{kind}"', rows, "v string")
    assert outcome.report.counts.good == len(accepted)
    raw = sorted(row[names.RAW_COLUMN]["v"] for row in outcome.bad.collect())
    assert raw == sorted(refused)


def test_null_is_not_a_failed_cast(sandbox: Sandbox) -> None:
    assert sandbox.validate(TYPED % "int", [(None,)], "v string").report.counts.good == 1


def test_a_fraction_does_not_silently_become_a_whole_number(sandbox: Sandbox) -> None:
    outcome = sandbox.validate(TYPED % "int", [(1.0,), (1.5,)], "v double")
    assert [row["v"] for row in outcome.good.collect()] == [1]


def test_what_the_contract_works_out_is_cut_off_to_the_whole_number_it_declares(sandbox: Sandbox) -> None:
    text = "model: {fields: [{name: a, type: int}, {name: b, type: int}, {name: c, type: int}, {name: v, type: int}]}\n"
    text += (
        'transformations:\n  - {sql: "SELECT v, v / 2 AS a FROM source", phase: pre}\n'
        "  - {derive: {field: b, sql: v * 0.5}}\n  - {derive: {field: c, sql: v / 0.000000001}}\n"
    )
    outcome = sandbox.validate(text, [(1.0,), (5.0,), (1.5,)], "v double")
    assert [(row["v"], row["a"], row["b"]) for row in outcome.good.collect()] == [(1, 0, 0)]
    errors = {row["v"]: row[names.ERRORS_COLUMN] for row in outcome.bad.collect()}
    assert errors == {5: ["Type Mismatch: c cannot be cast to int"], None: ["Type Mismatch: v cannot be cast to int"]}


def test_an_array_in_a_text_field_becomes_compact_json(sandbox: Sandbox) -> None:
    outcome = sandbox.validate(TYPED % "string", [(["a", "b"],)], "v array<string>")
    assert outcome.good.first()["v"] == '["a","b"]'


def test_cast_to_string_beats_declared_types(sandbox: Sandbox) -> None:
    outcome = sandbox.validate(TYPED % "double" + "server: {cast_to_string: true}", [("abc",)], "v string")
    assert outcome.good.first()["v"] == "abc"


STRICT = "schema_policy: {evolution: strict, unknown_fields: %s}\nlineage: {enabled: true}\n"
TWO = "model: {fields: [{name: id, type: int}, {name: v, type: string}]}\n"


def test_strict_does_not_quarantine_clean_rows_because_of_the_engines_own_columns(sandbox: Sandbox) -> None:
    schema = "id int, v string, _lakelogic_run_id string, _lakelogic_processed_at timestamp"
    outcome = sandbox.validate(TWO + STRICT % "quarantine", [(1, "a", "r", None)], schema)
    assert outcome.report.counts.good == 1


def test_strict_quarantines_rows_that_lack_a_declared_field(sandbox: Sandbox) -> None:
    outcome = sandbox.validate(TWO + STRICT % "allow", [(1,)], "id int")
    assert outcome.bad.first()[names.ERRORS_COLUMN] == ["Missing fields: v"]
    assert outcome.report.schema.missing == ("v",)


def test_strict_may_fail_the_run_instead(sandbox: Sandbox) -> None:
    text = TWO + "schema_policy: {evolution: strict, on_schema_violation: fail}\n"
    with pytest.raises(EngineError, match="lacks v"):
        sandbox.run(text, [(1,)], "id int")


def test_unknown_fields_quarantine_only_the_rows_that_carry_them(sandbox: Sandbox) -> None:
    outcome = sandbox.validate(
        TWO + STRICT % "quarantine", [(1, "a", "x"), (2, "b", None)], "id int, v string, z string"
    )
    assert [row["id"] for row in outcome.good.collect()] == [2]
    assert outcome.bad.first()[names.ERRORS_COLUMN] == ["Unknown fields present: z"]


def test_unknown_fields_are_kept_or_dropped_by_policy(sandbox: Sandbox) -> None:
    rows, schema = [(1, "a", "x")], "id int, v string, z string"
    assert "z" in sandbox.validate(TWO, rows, schema).good.columns
    dropped = sandbox.validate(TWO + "schema_policy: {unknown_fields: drop}\n", rows, schema).good
    assert "z" not in dropped.columns


def test_absent_optional_columns_are_typed_null_in_the_result(sandbox: Sandbox) -> None:
    good = sandbox.validate("model: {fields: [{name: id, type: int}, {name: d, type: date}]}\n", [(1,)], "id int").good
    assert dict(good.dtypes)["d"] == "date"
    assert good.first()["d"] is None


@pytest.mark.parametrize("name", ["a.b", "two words", "tick`s", "emoji 🚕", "semi;colon", "par(en)"])
def test_odd_column_names_survive_from_source_to_table(sandbox: Sandbox, name: str) -> None:
    text = f"model: {{fields: [{{name: id, type: int}}, {{name: {name!r}, type: int, required: true}}]}}\n"
    quoted = name.replace("`", "``")
    report = sandbox.run(text, [(1, "5"), (2, "x")], f"id int, `{quoted}` string")
    assert (report.counts.good, report.counts.quarantined) == (1, 1)
    assert sandbox.target(text, f"`{quoted}`") == [(5,)]


def test_columns_that_differ_from_the_model_only_in_case_are_held_to_it(sandbox: Sandbox) -> None:
    text = "model: {fields: [{name: id, type: integer}, {name: fare_amount, type: float, required: true, min: 0}]}\n"
    schema = "ID string, Fare_Amount string"
    outcome = sandbox.validate(text + STRICT % "quarantine", [("1", "2.5"), ("2", "x"), ("3", "-1")], schema)
    assert outcome.good.dtypes[:2] == [("id", "int"), ("fare_amount", "double")]
    assert [row["id"] for row in outcome.good.collect()] == [1]
    found = {row["ID"]: row for row in outcome.bad.collect()}
    assert found[2][names.ERRORS_COLUMN][0] == "Type Mismatch: fare_amount cannot be cast to float"
    assert found[2][names.RAW_COLUMN] == {"Fare_Amount": "x"}
    assert len(found[3][names.ERRORS_COLUMN]) == 1


@pytest.mark.parametrize("policy", ["quarantine", "drop"])
def test_stamps_of_upstream_that_a_contract_keeps_are_not_unknown(sandbox: Sandbox, policy: str) -> None:
    kept = "lineage: {enabled: true, preserve_upstream: [_lakelogic_run_id, batch], upstream_prefix: _src}\n"
    text = TWO + f"schema_policy: {{unknown_fields: {policy}}}\n" + kept
    rows, schema = [(1, "a", "r-7", "b")], "id int, v string, _lakelogic_run_id string, batch string"
    outcome = sandbox.validate(text, rows, schema)
    assert [(row["_src_lakelogic_run_id"], row["_src_batch"]) for row in outcome.good.collect()] == [("r-7", "b")]


def test_a_column_that_nobody_declares_is_refused_with_its_rows_and_does_not_reach_the_table(sandbox: Sandbox) -> None:
    text = TYPED % "int" + "server: {schema_policy: {evolution: strict, unknown_fields: quarantine}}\n"
    text += "transformations: [{derive: {field: made, sql: v + 1}}]\nmaterialization: {strategy: append}\n"
    assert sandbox.run(text, [("1",)], "v string").counts.good == 1
    report = sandbox.run(text, [("2", None), ("3", "x")], "v string, surprise string")
    assert (report.counts.good, report.counts.quarantined) == (1, 1)
    assert sandbox.target(text, "v", "made") == [(1, 2), (2, 3)]
    columns = sandbox.spark.read.format("delta").load(sandbox.processor(text).destination.target).columns
    assert "surprise" not in columns
    assert sandbox.quarantine(text, "v", "surprise") == [(3, "x")]


def test_a_column_that_steers_a_merge_is_none_that_nobody_declares(sandbox: Sandbox) -> None:
    text = """
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: v, type: string}]}
source: {type: landing, path: in, load_mode: cdc, cdc_op_field: op, cdc_delete_values: [D]}
server: {schema_policy: {unknown_fields: quarantine}}
materialization: {strategy: merge, soft_delete_column: ""}
"""
    assert sandbox.run(text, [(1, "a", "I"), (2, "b", "I")], "id int, v string, op string").counts.quarantined == 0
    assert sandbox.run(text, [(1, None, "D")], "id int, v string, op string").counts.quarantined == 0
    target = sandbox.processor(text).destination.target
    assert sandbox.rows(target, "id", "v") == [(2, "b")]
    assert "op" not in sandbox.spark.read.format("delta").load(target).columns
