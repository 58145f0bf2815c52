"""The rules a contract really has."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.rules import DatasetRule, RowRule, dataset_rules, row_rules, severity_of, slug


def rules(*entries: dict[str, Any], **contract: Any) -> tuple[RowRule, ...]:
    return row_rules(Contract.model_validate({"quality": {"row_rules": list(entries)}, **contract}))


def dataset(*entries: dict[str, Any]) -> tuple[DatasetRule, ...]:
    return dataset_rules(Contract.model_validate({"quality": {"dataset_rules": list(entries)}}))


def test_a_rule_knows_where_it_was_written() -> None:
    fields = [{"name": "a", "type": "string", "required": True, "rules": [{"name": "r", "sql": "a > 0"}]}]
    written = {
        rule.name: rule.written_at for rule in rules({"sql": "a < 9"}, {"not_null": "b"}, model={"fields": fields})
    }
    assert written == {
        "a_required": ("model", "fields", 0, "required"),
        "r": ("model", "fields", 0, "rules", 0),
        "a_9": ("quality", "row_rules", 0, "sql"),
        "b_not_null": ("quality", "row_rules", 1, "not_null"),
    }


def test_inside_a_payload_options_win_over_those_beside_it() -> None:
    (rule,) = rules({"severity": "info", "category": "x", "not_null": {"field": "a", "severity": "warning"}})
    assert (rule.severity, rule.category) == ("warning", "x")


def test_null_fails_unless_a_rule_lets_it_pass() -> None:
    fields = [{"name": "a", "type": "int", "min": 1}]
    found = rules(
        {"name": "strict", "sql": "b > 0"}, {"name": "lax", "sql": "b > 1", "on_null": "pass"}, model={"fields": fields}
    )
    assert {rule.name: rule.null_passes for rule in found} == {"a_min": True, "strict": False, "lax": True}


def test_a_written_rule_of_the_same_name_replaces_a_hint() -> None:
    fields = [{"name": "a", "type": "string", "accepted_values": ["x"]}]
    found = rules({"accepted_values": {"field": "a", "values": ["x", "y"]}}, model={"fields": fields})
    assert [type(rule.test) for rule in found] == [forms.AcceptedValues]


def test_bounds_belong_to_sql() -> None:
    bounded, free = rules({"sql": "a", "must_be_between": [0, 1]}, {"sql": "b > 0"})
    assert bounded.bounds is not None
    assert bounded.bounds.must_be_between == (0, 1)
    assert free.bounds is None


def test_names_are_unique_by_a_number_behind_them() -> None:
    assert [
        rule.name
        for rule in rules({"name": "a", "sql": "x > 0"}, {"name": "a", "sql": "y > 0"}, {"name": "a", "sql": "z > 0"})
    ] == [
        "a",
        "a_2",
        "a_3",
    ]


@pytest.mark.parametrize(
    ("sql", "name"),
    [("email LIKE '%@%.%'", "email_like"), ("a > 0", "a_0"), ("(((", "rule"), ("x" * 100, "x" * 60)],
)
def test_a_rule_without_a_name_is_named_by_its_words(sql: str, name: str) -> None:
    assert slug(sql) == name


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        (None, "error"),
        ("WARNING", "warning"),
        ("warn", "warning"),
        ("Info", "info"),
        ("critical", "error"),
        ("wraning", "error"),
    ],
)
def test_a_severity_nobody_knows_is_an_error(word: str | None, severity: str) -> None:
    assert severity_of(word) == severity


def test_a_referential_rule_names_a_link_or_a_contract() -> None:
    by_link, by_contract, beside = rules(
        {"referential_integrity": {"field": "a", "reference": "l", "key": "k"}},
        {"referential_integrity": {"field": "a", "contract": "silver_x", "column": "k"}},
        {"referential_integrity": {"column": "a", "reference": "l"}},
    )
    tests = [rule.test for rule in (by_link, by_contract, beside)]
    assert [test.key_column for test in tests if isinstance(test, forms.ReferentialIntegrity)] == ["k", "k", "a"]
    assert by_contract.columns == ("a",)


@pytest.mark.parametrize(("written", "fraction"), [(0.05, 0.05), (5, 0.05), (1, 1.0), (0, 0.0)])
def test_a_ratio_above_one_is_percent(written: float, fraction: float) -> None:
    (rule,) = dataset({"null_ratio": {"field": "a", "max": written}})
    assert isinstance(rule.test, forms.NullRatio)
    assert rule.test.fraction == fraction


def test_a_rule_of_all_rows_runs_at_the_end_unless_it_says_otherwise() -> None:
    assert [rule.phase for rule in dataset({"unique": "a"}, {"unique": "b", "phase": "pre"})] == ["post", "pre"]


def test_a_written_rule_keeps_its_name_and_a_made_one_gives_way() -> None:
    fields = [{"name": "id", "type": "string", "required": True}]
    found = rules({"name": "id_required", "sql": "LENGTH(id) > 3"}, model={"fields": fields})
    assert [(rule.name, rule.written_at[0]) for rule in found] == [
        ("id_required_2", "model"),
        ("id_required", "quality"),
    ]


def test_milestones_of_an_accumulating_fact_are_held_against_each_other() -> None:
    dates = ["ordered", "paid", "gone", "sent", "arrived"]
    fields = [{"name": name, "type": "date"} for name in dates if name != "gone"]
    for kind, expected in (
        ("accumulating_snapshot", ["paid_not_before_ordered", "arrived_not_before_sent"]),
        ("periodic", []),
    ):
        fact = {"fact": {"type": kind, "milestone_dates": dates}, "strategy": "merge"}
        found = rules(model={"fields": fields}, materialization=fact)
        assert [rule.name for rule in found] == expected
        assert all(rule.null_passes and rule.severity == "error" and rule.phase == "pre" for rule in found)
    assert rules(
        model={"fields": fields},
        materialization=fact | {"fact": {"type": "accumulating", "milestone_dates": dates[:2]}},
    )[0].columns == ("paid", "ordered")
