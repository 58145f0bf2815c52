"""Dataset rules that raise have failed; the run is judged as by any failed rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = "model: {fields: [{name: id, type: int}, {name: word, type: string}]}\n"
SCHEMA = "id int, word string"
RULES = """
quality:
  dataset_rules:
    - {name: share, sql: COUNT_IF(id > 0) / COUNT(*) > 0.5}
    - {name: whole, sql: "SELECT SUM(id) / COUNT(*) FROM source", must_be_greater_than: 0}
    - {name: number, sql: SUM(CAST(word AS INT)) >= 0}
    - {name: each, sql: CAST(word AS INT) >= 0}
    - {unique: id}
"""


def test_a_rule_that_raises_has_failed_and_the_others_are_judged(sandbox: Sandbox) -> None:
    empty = {rule.name: rule for rule in sandbox.validate(MODEL + RULES, [], SCHEMA).report.dataset_rules}
    assert (empty["share"].passed, empty["share"].value) == (False, None)
    assert "DIVIDE_BY_ZERO" in (empty["share"].note or "")
    assert (empty["whole"].passed, empty["id_unique"].passed) == (False, True)
    words = sandbox.validate(MODEL + RULES, [(1, "5"), (2, "secret")], SCHEMA).report.dataset_rules
    assert {rule.name: rule.passed for rule in words} == {
        "share": True,
        "whole": True,
        "number": False,
        "each": False,
        "id_unique": True,
    }
    assert not [rule for rule in words if "secret" in (rule.note or "")]


def test_a_run_ends_by_such_a_rule_as_by_any_other(sandbox: Sandbox) -> None:
    rule = "quality: {dataset_rules: [{name: r, sql: COUNT(*) / COUNT_IF(id > 9) > 0}], %s}\n"
    tolerant = MODEL + rule % "fail_pipeline_on_dataset_error: false"
    report = sandbox.run(tolerant, [(1, "a")], SCHEMA)
    assert (report.status, report.failed_dataset_rules) == ("success", ["r"])
    report = sandbox.run(MODEL + rule % "fail_pipeline_on_dataset_error: true", [(2, "a")], SCHEMA)
    assert report.status != "success"
    assert sandbox.target(tolerant, "id") == [(1,)]


def test_columns_of_the_engine_are_neither_required_of_a_row_nor_judged_before_they_are_there(sandbox: Sandbox) -> None:
    text = (
        "primary_key: [id]\nlineage: {enabled: true}\n"
        "model:\n  fields:\n    - {name: sk, type: string, required: true}\n"
        "    - name: id\n      type: int\n      required: true\n"
        "      rules: [{name: id_there, sql: id IS NOT NULL, severity: warning}]\n"
        "    - {name: _lakelogic_processed_at, type: timestamp, required: true}\n"
        "    - {name: number, type: long, generated: true, required: true}\n"
        "schema_policy: {evolution: strict}\n"
        "materialization: {strategy: merge, scd1: {surrogate_key: sk}}\n"
        "quality: {dataset_rules: [{unique: sk}, {unique: [id, number]}, {unique: id}]}\n"
    )
    report = sandbox.run(text, [(1, "a"), (2, "b"), (None, "c")], "id int, word string")
    assert {rule.name: rule.passed for rule in report.dataset_rules} == {
        "sk_unique": None,
        "id_number_unique": None,
        "id_unique": True,
    }
    assert (report.dataset_rules[0].note or "").startswith("not evaluated: sk is added by the engine")
    assert {rule.name: rule.failed for rule in report.row_rules} == {"id_required": 1, "id_there": 1}
    stored = sandbox.target(text, "id", "sk", "_lakelogic_processed_at")
    assert [row[0] for row in stored] == [1, 2]
    assert all(row[1] and row[2] for row in stored)


def test_a_key_of_several_columns_is_compared_as_a_merge_compares_it(sandbox: Sandbox) -> None:
    text = MODEL + "quality: {dataset_rules: [{unique: id}, {unique: [id, word]}]}\n"

    def duplicates(*rows: tuple[int | None, str | None]) -> dict[str, object]:
        return {rule.name: rule.value for rule in sandbox.validate(text, list(rows), SCHEMA).report.dataset_rules}

    assert duplicates((1, None), (1, "a"), (None, "a"), (2, None)) == {"id_unique": 2.0, "id_word_unique": 0.0}
    assert duplicates((1, None), (1, None), (2, "a"), (2, "a"))["id_word_unique"] == 2.0
    assert duplicates((None, None), (1, None))["id_word_unique"] == 1.0  # no part of the key is there
