"""Whole runs: what is published, what is held back, what a rerun leaves."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets import names
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.audit import audit
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.run_log import last_success

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = """
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: fare, type: double}
    - {name: day, type: date}
quality: {row_rules: [{name: pos, sql: fare >= 0}]}
"""
SCHEMA = "id int, fare double, day string"
DAY = Window.day("2024-01-01")
ROWS = [(1, 5.0, "2024-01-01"), (2, -1.0, "2024-01-01"), (3, 7.0, "2024-01-01")]


@pytest.mark.parametrize(
    "strategy",
    [
        "materialization: {strategy: append}",
        "materialization: {strategy: overwrite}",
        "materialization: {strategy: partition, partition_by: [day]}",
        "primary_key: [id]\nmaterialization: {strategy: merge}",
        "primary_key: [id]\nmaterialization: {strategy: scd2, scd2: {timestamp_field: day}}",
    ],
)
def test_a_window_run_twice_leaves_the_same_table_and_one_copy_in_quarantine(sandbox: Sandbox, strategy: str) -> None:
    text = MODEL + strategy
    columns = ("id", "fare", "day")
    first = sandbox.run(text, ROWS, SCHEMA, window=DAY)
    before = sandbox.target(text, *columns), sandbox.quarantine(text, "id")
    second = sandbox.run(text, ROWS, SCHEMA, window=DAY)
    assert (sandbox.target(text, *columns), sandbox.quarantine(text, "id")) == before
    assert [row[0] for row in before[0]] == [1, 3]
    assert before[1] == [(2,)]
    assert first.counts == second.counts
    assert all(run.holds for run in audit(sandbox.processor(text).destination))


def test_another_window_stays_when_one_is_run_again(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: append}"
    sandbox.run(text, ROWS, SCHEMA, window=DAY)
    sandbox.run(text, [(9, 1.0, "2024-01-02")], SCHEMA, window=Window.day("2024-01-02"))
    sandbox.run(text, [(4, 1.0, "2024-01-01")], SCHEMA, window=DAY)
    assert sandbox.target(text, "id") == [(4,), (9,)]
    assert sandbox.quarantine(text, "id") == []


def test_a_partition_run_replaces_only_its_window(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: partition, partition_by: [day]}"
    sandbox.run(text, [(1, 1.0, "2024-01-01"), (2, 2.0, "2024-01-02")], SCHEMA)
    sandbox.run(text, [(3, 3.0, "2024-01-01")], SCHEMA, window=DAY)
    assert sandbox.target(text, "id") == [(2,), (3,)]


def test_a_failed_dataset_rule_publishes_nothing_and_keeps_the_evidence(sandbox: Sandbox) -> None:
    text = (
        MODEL.replace("quality: {", "quality: {dataset_rules: [{unique: id}], ") + "materialization: {strategy: append}"
    )
    report = sandbox.run(text, [(1, 1.0, None), (1, 2.0, None), (2, -1.0, None)], SCHEMA)
    destination = sandbox.processor(text).destination
    assert report.status == "blocked"
    assert report.reasons == ("dataset rule id_unique failed: 1.0 (duplicates = 0)",)
    assert not delta_log.is_table(destination.target)
    assert sandbox.quarantine(text, "id") == [(2,)]
    assert last_success(destination.run_log, "orders", None, None, None) is None


def test_a_contract_may_publish_in_spite_of_a_failed_dataset_rule(sandbox: Sandbox) -> None:
    text = MODEL.replace(
        "quality: {", "quality: {fail_pipeline_on_dataset_error: false, dataset_rules: [{unique: id}], "
    )
    report = sandbox.run(text, [(1, 1.0, None), (1, 2.0, None)], SCHEMA)
    assert (report.status, report.failed_dataset_rules) == ("success", ["id_unique"])
    assert sandbox.target(text, "id") == [(1,), (1,)]


def test_without_a_quarantine_a_bad_row_stops_the_run_and_is_not_dropped(sandbox: Sandbox) -> None:
    report = sandbox.run(MODEL + "quarantine: {enabled: false}", ROWS, SCHEMA)
    assert report.status == "blocked"


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ("{name: r, sql: COUNT(*) = 2}", True),
        ("{name: r, sql: COUNT(*) = 3}", False),
        ("{name: r, sql: SELECT MAX(fare) < 6 FROM source}", False),
        ("{name: r, sql: SUM(fare), must_be_between: [10, 13]}", True),
        ("{name: r, sql: SUM(fare), must_be_less_than: 10}", False),
        ("{name: r, sql: SELECT NULL}", False),
        ("{null_ratio: {field: day, max: 0}}", True),
        ("{null_ratio: {field: day, max: 50}}", True),
        ("{row_count_between: {min: 2, max: 2}}", True),
        ("{row_count_between: {min: 3}}", False),
    ],
)
def test_dataset_rules_can_pass_and_can_fail(sandbox: Sandbox, rule: str, passed: bool) -> None:
    text = MODEL.replace("quality: {", f"quality: {{dataset_rules: [{rule}], ")
    outcome = sandbox.validate(text, ROWS, SCHEMA)
    assert [each.passed for each in outcome.report.dataset_rules] == [passed]


def test_dropped_rows_are_counted_and_never_silent(sandbox: Sandbox) -> None:
    text = MODEL + "transformations: [{filter: {sql: fare <> 7}}, {deduplicate: {on: [id], sort_by: [fare]}}]\n"
    counts = sandbox.run(text, [*ROWS, (1, 6.0, None)], SCHEMA).counts
    assert (counts.source, counts.good, counts.quarantined, counts.dropped) == (4, 1, 1, 2)
    assert sandbox.target(text, "id", "fare") == [(1, 6.0)]


def test_rows_that_steps_make_are_counted_too(sandbox: Sandbox) -> None:
    text = (
        "model: {fields: [{name: id, type: int}, {name: tag, type: string}]}\n"
        "transformations: [{explode: {field: tags, output: tag}}]\n"
    )
    counts = sandbox.run(text, [(1, ["a", "b", "c"])], "id int, tags array<string>").counts
    assert (counts.source, counts.good, counts.dropped) == (1, 3, -2)


def test_the_proof_stands_in_the_commit_itself(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: overwrite}"
    report = sandbox.run(text, ROWS, SCHEMA)
    proof = delta_log.commits(sandbox.processor(text).destination.target)[0]["metadata"]
    assert proof["counts"] == {"source": 3, "good": 2, "quarantined": 1, "dropped": 0}
    assert (proof["run_id"], proof["window"], proof["generation"]) == (report.run_id, "full", 1)


def test_an_audit_finds_a_commit_whose_numbers_do_not_add_up(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: overwrite}"
    sandbox.run(text, ROWS, SCHEMA)
    destination = sandbox.processor(text).destination
    log = next((sandbox.folder / destination.target / "_delta_log").glob("*.json"))
    log.write_text(log.read_text().replace('\\"source\\": 3', '\\"source\\": 4'))
    (run,) = audit(destination)
    assert run.faults == ("4 rows were read and 3 are accounted for",)


def test_a_run_that_died_after_its_commit_is_logged_by_the_next(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: overwrite}"
    report = sandbox.run(text, ROWS, SCHEMA)
    destination = sandbox.processor(text).destination
    died = replace(report, run_id="died", status="success")
    Intents(destination.intents, destination.target).note(Intent("orders|full", 1, destination.target, died.as_dict()))
    sandbox.run(text, ROWS, SCHEMA)
    rows = sandbox.rows(destination.run_log, "run_id", "status")
    assert ("died", "success") in rows
    assert list(Intents(destination.intents, destination.target).open()) == []


def test_a_run_that_died_before_its_commit_is_logged_as_failed(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: overwrite}"
    report = sandbox.run(text, ROWS, SCHEMA)
    destination = sandbox.processor(text).destination
    died = replace(report, run_id="died").as_dict()
    Intents(destination.intents, destination.target).note(Intent("orders|full", 99, destination.target, died))
    sandbox.run(text, ROWS, SCHEMA)
    assert ("died", "failed") in sandbox.rows(destination.run_log, "run_id", "status")


def test_a_column_the_table_lacks_is_added_or_refused_by_policy(sandbox: Sandbox) -> None:
    narrow = "model: {fields: [{name: id, type: int}]}\nmaterialization: {strategy: append}\n"
    wide = "model: {fields: [{name: id, type: int}, {name: v, type: string}]}\nmaterialization: {strategy: append}\n"
    sandbox.run(narrow, [(1,)], "id int")
    with pytest.raises(EngineError, match="`v` is not in the table"):
        sandbox.run(wide + "schema_policy: {evolution: strict}\n", [(2, "a")], "id int, v string")
    sandbox.run(wide, [(2, "a")], "id int, v string")
    assert sandbox.target(wide, "id", "v") == [(1, None), (2, "a")]


def test_a_type_is_widened_and_never_narrowed(sandbox: Sandbox) -> None:
    text = "model: {{fields: [{{name: id, type: {0}}}]}}\nmaterialization: {{strategy: append}}\n"
    sandbox.run(text.format("int"), [(1,)], "id int")
    sandbox.run(text.format("long"), [(2**40,)], "id bigint")
    assert sandbox.target(text.format("long"), "id") == [(1,), (2**40,)]
    with pytest.raises(EngineError, match="id"):
        sandbox.run(text.format("string"), [("x",)], "id string")


def test_a_failed_run_says_why_in_one_line_and_is_logged(sandbox: Sandbox) -> None:
    text = MODEL + "transformations: [{sql: SELECT nothing_like_it FROM source}]\n"
    with pytest.raises(EngineError, match="nothing_like_it") as failure:
        sandbox.run(text, ROWS, SCHEMA)
    assert "\n" not in str(failure.value)
    assert sandbox.rows(sandbox.processor(text).destination.run_log, "status") == [("failed",)]


def test_descriptions_and_properties_of_the_contract_are_the_tables_own(sandbox: Sandbox) -> None:
    text = (
        "model:\n  fields:\n    - {name: id, type: int, description: The number}\n"
        "    - {name: mail, type: string, pii: true, masking: hash}\n"
        "materialization: {strategy: overwrite, table_properties: {delta.appendOnly: false}}\n"
    )
    sandbox.run(text, [(1, "a@b.c")], "id int, mail string")
    target = sandbox.processor(text).destination.target
    schema = sandbox.spark.read.format("delta").load(target).schema
    assert schema["id"].metadata == {"comment": "The number"}
    properties = sandbox.spark.sql(f"DESCRIBE DETAIL delta.`{target}`").first()["properties"]
    assert properties["delta.appendOnly"] == "false"
    assert properties["delta.dataSkippingStatsColumns"] == "id"
    assert names.WINDOW_COLUMN not in schema.names


def test_statistics_name_each_column_once_also_where_the_contract_declares_a_stamp(sandbox: Sandbox) -> None:
    text = (
        "model:\n  fields:\n    - {name: id, type: int}\n    - {name: _lakelogic_processed_at, type: timestamp}\n"
        "    - {name: mail, type: string, pii: true, masking: hash}\n"
        "lineage: {enabled: true}\nmaterialization: {strategy: append}\n"
    )
    sandbox.run(text, [(1, "a@b.c")], "id int, mail string", window=DAY)
    target = sandbox.processor(text).destination.target
    properties = sandbox.spark.sql(f"DESCRIBE DETAIL delta.`{target}`").first()["properties"]
    named = properties["delta.dataSkippingStatsColumns"].split(",")
    assert sorted(named) == ["_lakelogic_processed_at", "_lakelogic_window", "id"]


def test_an_undeclared_operation_column_steers_the_merge_and_is_not_stored(sandbox: Sandbox) -> None:
    text = (
        "model: {fields: [{name: id, type: int}, {name: v, type: string}, {name: at, type: timestamp}]}\n"
        "primary_key: [id]\nschema_policy: {unknown_fields: drop}\n"
        "source: {load_mode: cdc, cdc_op_field: op, cdc_delete_values: [D], cdc_timestamp_field: at}\n"
        "materialization: {strategy: merge}\n"
    )
    rows = [(1, "a", "2024-01-01", "I"), (2, "b", "2024-01-01", "I"), (1, "a", "2024-01-02", "D")]
    sandbox.run(text, rows, "id int, v string, at string, op string")
    found = sandbox.target(text, "id", names.IS_DELETED_COLUMN)
    assert [(key, bool(gone)) for key, gone in found] == [(1, True), (2, False)]
    assert "op" not in sandbox.spark.read.format("delta").load(sandbox.processor(text).destination.target).columns


@pytest.mark.parametrize("strategy", ["strategy: append", "strategy: overwrite", "strategy: merge"])
def test_a_new_table_orders_its_rows_by_cluster_by(sandbox: Sandbox, strategy: str) -> None:
    text = MODEL + f"primary_key: [id]\nmaterialization: {{{strategy}, cluster_by: [day, id]}}"
    for day in ("2024-01-01", "2024-01-02"):
        sandbox.run(text, [(int(day[-1]), 5.0, day)], SCHEMA, window=Window.day(day))
    target = sandbox.processor(text).destination.target
    detail = sandbox.spark.sql(f"DESCRIBE DETAIL delta.`{target}`").collect()[0]
    assert detail["clusteringColumns"] == ["day", "id"]


def test_a_report_says_which_code_finished_its_rows(sandbox: Sandbox) -> None:
    code = "def run(rows):\n    return rows\n"
    (sandbox.folder / "logic.py").write_text(code)
    text = MODEL + "external_logic: {type: python, path: logic.py, engine: spark}"
    report = sandbox.run(text, ROWS, SCHEMA)
    assert report.external_code == hashlib.sha256(code.encode()).hexdigest()


def test_a_dataset_rule_of_phase_pre_sees_the_rows_of_the_split(sandbox: Sandbox) -> None:
    rules = "dataset_rules: [{name: all, sql: COUNT(*) >= 2, phase: pre}, {name: some, sql: COUNT(*) = 1}]"
    text = MODEL.replace("quality: {", f"quality: {{{rules}, ")
    text += "transformations: [{filter: {sql: id = 1}, phase: post}]\nmaterialization: {strategy: append}"
    report = sandbox.run(text, ROWS, SCHEMA)
    assert {rule.name: rule.passed for rule in report.dataset_rules} == {"all": True, "some": True}


def test_a_quarantine_may_keep_only_what_the_last_run_left(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: append}\nquarantine: {write_mode: overwrite}"
    sandbox.run(text, ROWS, SCHEMA, window=DAY)
    sandbox.run(text, [(7, -1.0, "2024-01-02")], SCHEMA, window=Window.day("2024-01-02"))
    assert sandbox.quarantine(text, "id") == [(7,)]
    sandbox.run(text, [(8, 1.0, "2024-01-03")], SCHEMA, window=Window.day("2024-01-03"))
    assert sandbox.quarantine(text, "id") == []


def test_a_source_that_is_not_read_here_takes_the_rows_it_is_given(sandbox: Sandbox) -> None:
    text = MODEL + "source: {type: bigquery, query: SELECT 1}\nmaterialization: {strategy: append}"
    assert sandbox.run(text, ROWS, SCHEMA).status == "success"
    with pytest.raises(EngineError, match="reads from `bigquery`, which is not supported"):
        sandbox.processor(text).run()


def test_logic_that_makes_its_own_rows_overwrites_them_in_every_window(sandbox: Sandbox) -> None:
    (sandbox.folder / "made.py").write_text("def run(df, **_):\n    return [{'id': 1}, {'id': 2}]\n", encoding="utf-8")
    text = """
model: {fields: [{name: id, type: int}]}
source: {type: landing, path: nothing, format: csv}
external_logic: {type: python, path: made.py}
materialization: {strategy: overwrite}
"""
    for day in ("2026-02-03", "2026-02-04", "2026-02-03"):
        report = sandbox.processor(text).run(window=Window.day(day))
        assert not [warning for warning in report.warnings if "they stay" in warning]
    assert sandbox.target(text, "id") == [(1,), (2,)]
