"""A feed that has brought nothing yet: what reads its table runs all the same, and the first rows fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.audit import audit

if TYPE_CHECKING:
    from lakelogic_assets.processor import DataProcessor
    from tests.spark.conftest import Sandbox

FEED = """
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: name, type: string}]}
source: {type: landing, path: landed, format: csv}
quality: {row_rules: [{not_null: id}]}
materialization: {target_path: "table:shop.feed", strategy: STRATEGY}
"""
READER = """
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: name, type: string}]}
source: {type: table, path: "table:shop.feed"}
materialization: {strategy: merge}
"""
LOOKUP = """
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: label, type: string}]}
source: {type: landing, path: orders, format: csv}
links: [{name: feed, type: table, table: shop.feed}]
transformations:
  - join: {reference: feed, on: id, key: id, fields: [name], prefix: found_}
  - derive: {field: label, sql: "coalesce(found_name, 'unknown')"}
server: {schema_policy: {unknown_fields: drop}}
"""


def land(sandbox: Sandbox, folder: str, text: str) -> None:
    (sandbox.folder / folder).mkdir(exist_ok=True)
    (sandbox.folder / folder / "rows.csv").write_text(text, encoding="utf-8")


def feed(strategy: str) -> str:
    more = {"scd2": "scd2, scd2: {timestamp_field: null, track_columns: [name]}"}
    return FEED.replace("STRATEGY", more.get(strategy, strategy))


@pytest.mark.parametrize("strategy", ["append", "overwrite", "merge", "scd2"])
def test_what_reads_the_feed_runs_before_and_after_its_first_rows(sandbox: Sandbox, strategy: str) -> None:
    land(sandbox, "orders", "id\n1\n")
    before = sandbox.processor(feed(strategy), "feed")
    assert before.run().status == "no_new_data"
    reader, lookup = sandbox.processor(READER, "reader"), sandbox.processor(LOOKUP, "orders")
    assert reader.run().status in ("success", "unchanged", "no_new_data")
    assert lookup.run().status == "success"
    assert sandbox.rows(lookup.destination.target, "id", "label") == [(1, "unknown")]

    land(sandbox, "landed", "id,name\n1,Ada\n,nobody\n")
    after = sandbox.processor(feed(strategy), "feed")
    report = after.run()
    assert (report.status, report.counts.good, report.counts.quarantined) == ("success", 1, 1)
    assert sandbox.rows(after.destination.target, "id", "name") == [(1, "Ada")]
    assert _faults(after) == []
    assert sandbox.processor(READER, "reader").run().counts.good == 1
    assert sandbox.processor(LOOKUP, "orders").run().status in ("success", "unchanged", "no_new_data")


def _faults(processor: DataProcessor) -> list[str]:
    audited = audit(processor.destination)
    assert audited
    return [fault for run in audited for fault in run.faults]


@pytest.mark.parametrize(
    "more",
    [
        "server: {schema_policy: {evolution: strict, unknown_fields: allow}}",
        "external_logic: {type: python, path: made.py}",
        "partition_by: [day]",
    ],
)
def test_no_table_is_made_where_only_rows_tell_its_shape(sandbox: Sandbox, more: str) -> None:
    (sandbox.folder / "made.py").write_text("def run(df, **_):\n    return df\n", encoding="utf-8")
    text = feed("append")
    text = text.replace("strategy: append", f"strategy: append, {more}") if "partition" in more else f"{text}{more}\n"
    text = text.replace("format: csv}", "format: csv, empty_behavior: skip}")
    processor = sandbox.processor(text, "feed")
    assert processor.run().status == "no_new_data"
    assert not delta_log.is_table(processor.destination.target)


def test_a_pattern_with_folders_finds_files_below(sandbox: Sandbox) -> None:
    text = feed("append").replace("format: csv}", 'format: csv, pattern: "**/*.csv"}')
    (sandbox.folder / "landed" / "2026" / "02").mkdir(parents=True)
    (sandbox.folder / "landed" / "2026" / "02" / "rows.csv").write_text("id,name\n7,Bo\n", encoding="utf-8")
    land(sandbox, "landed", "id,name\n1,Ada\n")
    assert sandbox.processor(text, "feed").run().counts.good == 2


STEERED = """
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: name, type: string}]}
source: {type: landing, path: landed, format: csv, load_mode: cdc, cdc_op_field: op, cdc_timestamp_field: at}
server: {schema_policy: {unknown_fields: drop}}
materialization: {strategy: merge}
"""
TRACKED = """
natural_key: [id]
model: {fields: [{name: id, type: int}, {name: name, type: string}]}
source: {type: landing, path: landed, format: csv}
materialization: {strategy: scd2, scd2: {timestamp_field: at, track_columns: [name]}}
"""
ROWS = "id,name,op,at\n1,Ada,I,2026-02-03 10:00:00\n"


@pytest.mark.parametrize("text", [STEERED, TRACKED], ids=["cdc", "scd2"])
@pytest.mark.parametrize("window", [FULL, Window.day("2026-02-03")], ids=str)
def test_a_feed_whose_rows_bring_more_than_is_declared_is_waited_for(
    sandbox: Sandbox, text: str, window: Window
) -> None:
    processor = sandbox.processor(text, "feed")
    assert processor.run(window=window).status == "no_new_data"
    assert not delta_log.is_table(processor.destination.target)
    land(sandbox, "landed", ROWS)
    assert sandbox.processor(text, "feed").run(window=window).counts.good == 1


def test_a_strict_table_whose_steps_make_more_than_is_declared_is_made_by_its_first_rows(sandbox: Sandbox) -> None:
    text = feed("append") + (
        "server: {schema_policy: {evolution: strict, unknown_fields: quarantine}}\n"
        "transformations: [{derive: {field: twice, sql: id * 2}}]\n"
    )
    assert sandbox.processor(text, "feed").run().status == "no_new_data"
    for rows in ("id,name\n1,Ada\n", "id,name\n1,Ada\n2,Bo\n"):
        land(sandbox, "landed", rows)
        assert sandbox.processor(text, "feed").run().status == "success"
    target = sandbox.processor(text, "feed").destination.target
    assert set(sandbox.rows(target, "id", "twice")) == {(1, 2), (2, 4)}


def test_the_unknown_member_comes_with_the_first_rows_and_their_stamps(sandbox: Sandbox) -> None:
    text = feed("scd2").replace("track_columns: [name]}", "track_columns: [name], unknown_member: {enabled: true}}")
    text += "lineage: {enabled: true}\n"
    processor = sandbox.processor(text, "feed")
    assert processor.run().status == "no_new_data"
    assert sandbox.rows(processor.destination.target, "id") == []
    land(sandbox, "landed", "id,name\n1,Ada\n")
    sandbox.processor(text, "feed").run()
    stamped = sandbox.rows(processor.destination.target, "_lakelogic_processed_at")
    assert len(stamped) == 2
    assert (None,) not in stamped
