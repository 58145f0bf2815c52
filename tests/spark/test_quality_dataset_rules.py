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
