"""Row rules: what passes, what is quarantined, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lakelogic_assets import names

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

FIELDS = """
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: fare, type: double}
    - {name: kind, type: string}
"""
SCHEMA = "id int, fare double, kind string"


def ids(frame: object) -> list[int]:
    return sorted((row["id"] for row in frame.collect()), key=repr)  # type: ignore[attr-defined]


def test_a_rule_passes_only_where_it_is_true_and_null_fails(sandbox: Sandbox) -> None:
    text = FIELDS + "quality: {row_rules: [{name: pos, sql: fare >= 0}]}"
    outcome = sandbox.validate(text, [(1, 5.0, "a"), (2, -1.0, "b"), (3, None, "c")], SCHEMA)
    assert ids(outcome.good) == [1]
    assert ids(outcome.bad) == [2, 3]
    assert outcome.report.failed_row_rules == {"pos": 2}


def test_on_null_pass_lets_null_through(sandbox: Sandbox) -> None:
    text = FIELDS + "quality: {row_rules: [{name: pos, sql: fare >= 0, on_null: pass}]}"
    assert ids(sandbox.validate(text, [(1, None, "a"), (2, -1.0, "b")], SCHEMA).good) == [1]


def test_one_row_collects_all_of_its_reasons_and_categories(sandbox: Sandbox) -> None:
    text = FIELDS + (
        "quality:\n  row_rules:\n    - {name: pos, sql: fare >= 0}\n"
        "    - accepted_values: {field: kind, values: [a, b]}\n    - regex_match: {field: kind, pattern: '^[ab]$'}\n"
    )
    outcome = sandbox.validate(text, [(None, -1.0, "x")], SCHEMA)
    row = outcome.bad.first()
    assert row is not None
    assert [error.split("(")[0].strip() for error in row[names.ERRORS_COLUMN]] == [
        "[pre] Rule failed: id_required",
        "[pre] Rule failed: pos",
        "[pre] Rule failed: kind_accepted_values",
        "[pre] Rule failed: kind_regex_match",
    ]
    assert row[names.CATEGORIES_COLUMN] == ["completeness", "correctness", "validity"]


def test_a_warning_is_counted_and_never_quarantines(sandbox: Sandbox) -> None:
    text = FIELDS + "quality: {row_rules: [{name: cheap, sql: fare < 10, severity: warning}]}"
    outcome = sandbox.validate(text, [(1, 50.0, "a"), (2, 5.0, "b")], SCHEMA)
    assert ids(outcome.good) == [1, 2]
    assert outcome.report.failed_row_rules == {"cheap": 1}
    assert outcome.report.counts.quarantined == 0


def test_a_rule_that_raises_fails_that_row_only(sandbox: Sandbox) -> None:
    text = FIELDS + (
        "quality:\n  row_rules:\n    - {name: ratio, sql: 10 / fare > 1}\n"
        "    - {name: number, sql: CAST(kind AS INT) > 0}\n    - {name: also_number, sql: CAST(kind AS INT) < 100}\n"
    )
    outcome = sandbox.validate(text, [(1, 2.0, "5"), (2, 0.0, "5"), (3, 2.0, "x")], SCHEMA)
    assert ids(outcome.good) == [1]
    assert outcome.report.failed_row_rules == {"ratio": 1, "number": 1, "also_number": 1}


def test_a_pattern_from_a_column_that_is_none_fails_that_row_only(sandbox: Sandbox) -> None:
    text = FIELDS + (
        "quality: {row_rules: [{name: regex, sql: \"'a(' RLIKE kind\"}, {name: like, sql: \"'a(' LIKE concat('%', kind)\"}]}"
    )
    outcome = sandbox.validate(text, [(1, 1.0, "."), (2, 1.0, "("), (3, 1.0, "a\\")], SCHEMA)
    assert outcome.report.failed_row_rules == {"regex": 2, "like": 2}
    assert outcome.report.counts.quarantined == 3


def test_an_error_fails_a_row_even_where_null_would_pass(sandbox: Sandbox) -> None:
    text = FIELDS + "quality: {row_rules: [{name: n, sql: CAST(kind AS INT) > 0, on_null: pass}]}"
    outcome = sandbox.validate(text, [(1, 1.0, None), (2, 1.0, "x")], SCHEMA)
    assert ids(outcome.good) == [1]


def test_free_sql_may_look_into_links(sandbox: Sandbox) -> None:
    (sandbox.folder / "kinds.csv").write_text("code,live\na,1\nb,0\n")
    text = FIELDS + (
        "links: [{name: kinds, path: kinds.csv, type: csv}]\nquality:\n  row_rules:\n"
        "    - {name: known, sql: kind IN (SELECT code FROM kinds)}\n"
        "    - {name: live, sql: EXISTS (SELECT 1 FROM kinds k WHERE k.code = source.kind AND k.live = '1')}\n"
    )
    outcome = sandbox.validate(text, [(1, 1.0, "a"), (2, 1.0, "b"), (3, 1.0, "c"), (4, 1.0, None)], SCHEMA)
    assert ids(outcome.good) == [1]
    assert outcome.report.failed_row_rules == {"known": 2, "live": 3}


def test_referential_integrity_is_a_join_that_never_multiplies_rows(sandbox: Sandbox) -> None:
    (sandbox.folder / "kinds.csv").write_text("code\na\na\nb\n")
    text = FIELDS + (
        "links: [{name: kinds, path: kinds.csv, type: csv}]\nquality:\n  row_rules:\n"
        "    - referential_integrity: {field: kind, reference: kinds, key: code}\n"
    )
    outcome = sandbox.validate(text, [(1, 1.0, "a"), (2, 1.0, "z"), (3, 1.0, None)], SCHEMA)
    assert ids(outcome.good) == [1]
    assert outcome.report.failed_row_rules == {"kind_referential_integrity": 2}


def test_an_event_must_lie_within_one_of_the_lifetimes_of_its_key(sandbox: Sandbox) -> None:
    (sandbox.folder / "subs.csv").write_text(
        "sub,start_date,end_date\ns1,2024-01-01,2024-02-01\ns1,2024-06-01,\ns2,2024-01-01,2024-01-31\n"
    )
    text = (
        "model: {fields: [{name: id, type: int}, {name: sub, type: string}, {name: at, type: timestamp}]}\n"
        "links: [{name: subs, path: subs.csv, type: csv}, {name: starts, path: starts.csv, type: csv}]\n"
        "quality:\n  row_rules:\n"
        "    - lifecycle_window: {event_ts: at, event_key: sub, reference: subs, reference_key: sub}\n"
        "    - lifecycle_window: {event_ts: at, event_key: sub, reference: starts, reference_key: sub, name: begun}\n"
    )
    # A reference whose lives have no end has no column for it.
    (sandbox.folder / "starts.csv").write_text("sub,start_date\ns1,2024-01-10\ns2,2024-03-01\n")
    rows = [
        (1, "s1", "2024-01-15"),
        (2, "s1", "2024-03-15"),
        (3, "s1", "2030-01-01"),
        (4, "s2", "2024-02-02"),
        (5, "s9", "2024-01-01"),
    ]
    outcome = sandbox.validate(text, rows, "id int, sub string, at string")
    assert ids(outcome.good) == [1, 3]
    assert outcome.report.failed_row_rules == {"sub_lifecycle_window": 3, "begun": 2}


def test_values_are_compared_in_the_type_of_their_column(sandbox: Sandbox) -> None:
    text = (
        "model:\n  fields: [{name: id, type: int}, {name: code, type: string}, {name: n, type: int},"
        " {name: d, type: date}]\n"
        "quality:\n  row_rules:\n    - accepted_values: {field: code, values: [1, 2]}\n"
        "    - accepted_values: {field: n, values: ['1', 2]}\n"
        "    - accepted_values: {field: d, values: ['2024-01-01']}\n"
        "    - range: {field: d, min: '2023-01-01', max: '2025-01-01'}\n"
    )
    outcome = sandbox.validate(
        text, [(1, "1", 1, "2024-01-01"), (2, "01", 1, "2024-01-01")], "id int, code string, n int, d string"
    )
    assert ids(outcome.good) == [1]


def test_hints_of_fields_are_rules_that_let_null_pass(sandbox: Sandbox) -> None:
    text = (
        "model:\n  fields:\n    - {name: id, type: int}\n    - {name: fare, type: double, min: 0, max: 10}\n"
        "    - {name: kind, type: string, max_length: 2, accepted_values: [a, bb]}\n"
    )
    outcome = sandbox.validate(text, [(1, None, None), (2, 11.0, "a"), (3, 5.0, "ccc"), (4, -1.0, "bb")], SCHEMA)
    assert ids(outcome.good) == [1]
    assert outcome.report.failed_row_rules == {
        "fare_max": 1,
        "fare_min": 1,
        "kind_max_length": 1,
        "kind_accepted_values": 1,
    }


def test_a_rule_on_a_declared_column_that_is_absent_sees_null(sandbox: Sandbox) -> None:
    text = FIELDS + "quality: {row_rules: [{name: k, sql: kind IS NULL OR kind = 'a'}]}"
    outcome = sandbox.validate(text, [(1, 1.0)], "id int, fare double")
    assert ids(outcome.good) == [1]
    assert outcome.good.columns[:3] == ["id", "fare", "kind"]


def test_rules_after_the_post_steps_see_what_they_made(sandbox: Sandbox) -> None:
    text = FIELDS + (
        "transformations: [{derive: {field: tax, sql: fare * 0.2}}]\n"
        "quality: {row_rules: [{name: taxed, sql: tax > 1}]}"
    )
    outcome = sandbox.validate(text, [(1, 10.0, "a"), (2, 1.0, "b")], SCHEMA)
    assert ids(outcome.good) == [1]
    row = outcome.bad.first()
    assert row is not None
    assert row[names.ERRORS_COLUMN] == ["[post] Rule failed: taxed (tax > 1)"]
    assert (row["fare"], round(row["tax"], 3)) == (1.0, 0.2)


def test_more_than_sixty_rules_need_more_than_one_mask(sandbox: Sandbox) -> None:
    rules = "".join(f"    - {{name: r{n}, sql: fare <> {n}}}\n" for n in range(130))
    outcome = sandbox.validate(
        FIELDS + "quality:\n  row_rules:\n" + rules, [(1, 1.5, "a"), (2, 61.0, "b"), (3, 129.0, "c")], SCHEMA
    )
    assert ids(outcome.good) == [1]
    assert outcome.report.failed_row_rules == {"r61": 1, "r129": 1}


def test_a_window_of_days_counts_from_the_start_of_today(sandbox: Sandbox) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    rows = [(1, today - timedelta(days=30)), (2, today - timedelta(days=30, seconds=1)), (3, None)]
    text = "model: {fields: [{name: id, type: int}, {name: seen, type: %s}]}\n"
    text += "quality: {row_rules: [{lifecycle_window: {field: seen, window: %s}}]}"
    assert ids(sandbox.validate(text % ("timestamp", "30d"), rows, "id int, seen timestamp_ntz").good) == [1]
    assert ids(sandbox.validate(text % ("date", "30d"), rows, "id int, seen timestamp_ntz").good) == [1]
    moments = [(1, datetime.now(UTC) - timedelta(hours=35)), (2, datetime.now(UTC) - timedelta(hours=37))]
    assert ids(sandbox.validate(text % ("timestamp", "36h"), moments, "id int, seen timestamp").good) == [1]


def test_duckdbs_date_diff_counts_how_often_a_unit_begins(sandbox: Sandbox) -> None:
    text = (
        "quality: {row_rules: [{name: days, sql: \"date_diff('day', a, b) = 1 AND date_diff('month', a, b) = 1\"}]}\n"
    )
    text += "transformations: [{sql: \"SELECT *, DATE_DIFF('hour', a, b) AS hours FROM source\"}]"
    rows = [(1, "2024-01-31 23:00:00", "2024-02-01 01:00:00"), (2, "2024-01-30 01:00:00", "2024-01-30 23:00:00")]
    outcome = sandbox.validate(text, rows, "id int, a string, b string")
    assert [(row["id"], row["hours"]) for row in outcome.good.collect()] == [(1, 2)]


def test_a_milestone_before_the_one_it_follows_is_a_bad_row(sandbox: Sandbox) -> None:
    text = (
        "model: {fields: [{name: id, type: int}, {name: sent, type: date}, {name: arrived, type: date}]}\n"
        "primary_key: [id]\nmaterialization:\n"
        "  strategy: merge\n  fact: {type: accumulating_snapshot, milestone_dates: [sent, arrived]}\n"
    )
    rows = [(1, "2024-01-01", "2024-01-01"), (2, "2024-01-02", "2024-01-01"), (3, "2024-01-02", None), (4, None, None)]
    outcome = sandbox.validate(text, rows, "id int, sent string, arrived string")
    assert ids(outcome.good) == [1, 3, 4]
    assert outcome.report.failed_row_rules == {"arrived_not_before_sent": 1}
