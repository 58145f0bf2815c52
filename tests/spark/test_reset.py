"""Tables that are emptied to be loaded anew, and brought back."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.errors import EngineError, NotFoundError
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.audit import audit
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.reset import ResetReport, plan_reset, reset_contract
from lakelogic_assets.spark.restore import RestorePlan, plan_restore, restore_contract
from lakelogic_assets.spark.run_log import last_success, read_runs, standing

if TYPE_CHECKING:
    from lakelogic_assets.processor import DataProcessor
    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

MODEL = """
model: {fields: [{name: id, type: int, required: true}, {name: fare, type: double}, {name: day, type: date}]}
quality: {row_rules: [{name: pos, sql: fare >= 0}]}
"""
SCHEMA = "id int, fare double, day string"
DAY, NEXT = Window.day("2024-01-01"), Window.day("2024-01-02")
ROWS = [(1, 5.0, "2024-01-01"), (2, -1.0, "2024-01-01"), (3, 7.0, "2024-01-01")]
FILES = """
model: {fields: [{name: id, type: int}]}
source: {type: landing, path: in, format: csv, load_mode: incremental}
materialization: {strategy: append}
"""


def reset(sandbox: Sandbox, text: str, name: str = "orders") -> ResetReport:
    processor = sandbox.processor(text, name)
    contract, lakehouse = processor.contract, processor.workspace.lakehouse(processor.contract)
    return reset_contract(contract, sandbox.spark, lakehouse, processor.destination)


def restore(sandbox: Sandbox, text: str, name: str = "orders", **where: Any) -> tuple[RestorePlan, RunReport]:
    processor = sandbox.processor(text, name)
    contract, lakehouse = processor.contract, processor.workspace.lakehouse(processor.contract)
    return restore_contract(contract, sandbox.spark, lakehouse, processor.destination, **where)


def ids(sandbox: Sandbox, text: str) -> tuple[list[Any], list[Any]]:
    target, aside = sandbox.target(text, "id"), sandbox.quarantine(text, "id")
    return [row[0] for row in target], [row[0] for row in aside]


@pytest.mark.parametrize(
    "strategy",
    [
        "materialization: {strategy: append, reprocess_policy: fail}",
        "materialization: {strategy: overwrite}",
        "materialization: {strategy: partition, partition_by: [day]}",
        "primary_key: [id]\nmaterialization: {strategy: merge}",
        "primary_key: [id]\nmaterialization: {strategy: scd2, scd2: {timestamp_field: day}}",
    ],
)
def test_a_window_that_is_run_after_a_reset_or_a_restore_writes_its_rows(sandbox: Sandbox, strategy: str) -> None:
    text = MODEL + strategy
    sandbox.run(text, ROWS, SCHEMA, window=DAY)
    reset(sandbox, text)
    assert ids(sandbox, text) == ([], [])
    again = sandbox.run(text, [*ROWS, (4, 1.0, "2024-01-01")], SCHEMA, window=DAY)
    assert (again.generation, ids(sandbox, text)) == (2, ([1, 3, 4], [2]))
    reset(sandbox, text)
    assert ids(sandbox, text) == ([], [])
    plan, report = restore(sandbox, text, version=0)
    assert (report.status, ids(sandbox, text)) == ("restored", ([1, 3], [2]))
    assert [each.split()[0] for each in plan.undone] == ["reset", "success", "reset"]
    if "fail" in strategy:
        with pytest.raises(EngineError, match="already"):
            sandbox.run(text, ROWS, SCHEMA, window=DAY)
        return
    third = sandbox.run(text, [(1, 9.0, "2024-01-01"), (5, 1.0, "2024-01-01")], SCHEMA, window=DAY)
    assert third.generation == 3
    assert {1, 5} <= set(ids(sandbox, text)[0])
    assert all(run.holds for run in audit(sandbox.processor(text).destination))


def state(processor: DataProcessor) -> dict[str, Any] | None:
    return last_success(processor.destination.run_log, "orders", None, None, None)


def land(sandbox: Sandbox, name: str, rows: str, at: int) -> None:
    path = sandbox.folder / "in" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"id\n{rows}\n")
    os.utime(path, (1_700_000_000 + at,) * 2)


@pytest.mark.parametrize("strategy", ["max_target", "manifest, manifest_path: done.json"])
def test_a_run_after_a_reset_reads_everything_and_after_a_restore_only_what_is_new(
    sandbox: Sandbox, strategy: str
) -> None:
    text = FILES.replace("incremental}", f"incremental, watermark_strategy: {strategy}}}")
    land(sandbox, "a.csv", "1", 0)
    first = sandbox.processor(text).run()
    assert sandbox.processor(text).run().status == "no_new_data"
    done = reset(sandbox, text)
    assert state(sandbox.processor(text)) is None
    if "manifest" in strategy:
        assert json.loads((sandbox.folder / "done.json").read_text()) == {"processed_partitions": []}
        assert done.manifest_backup is not None
        assert len(json.loads(Path(done.manifest_backup).read_text())["processed_partitions"]) == 1
    land(sandbox, "b.csv", "2", 10)
    assert sandbox.processor(text).run().counts.good == 2
    restore(sandbox, text)
    assert (state(sandbox.processor(text)) or {})["run_id"] == first.run_id
    assert sandbox.processor(text).run().counts.good == 1
    assert sandbox.target(text, "id") == [(1,), (2,)]


def test_only_the_contracts_own_rows_leave_a_quarantine_that_others_use_too(sandbox: Sandbox) -> None:
    text = MODEL + "quarantine: {target: lakehouse.default.aside}\nmaterialization: {strategy: append}"
    for name in ("orders", "others"):
        sandbox.processor(text, name).run(sandbox.frame(ROWS, SCHEMA), window=DAY)
    aside = sandbox.processor(text).destination.quarantine
    reset(sandbox, text)
    assert sandbox.rows(aside, "_lakelogic_quarantined_by") == [("others",)]
    sandbox.processor(text, "others").run(sandbox.frame([(8, -1.0, None)], SCHEMA), window=NEXT)
    restore(sandbox, text)
    found = sandbox.rows(aside, "_lakelogic_quarantined_by", "id")
    assert found == [("orders", 2), ("others", 2), ("others", 8)]


def test_the_plan_says_what_would_go_and_changes_nothing(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: append}"
    sandbox.run(text, ROWS, SCHEMA, window=DAY)
    processor = sandbox.processor(text)
    # It waits for a signature, and still does after the restore.
    asks = {"reasons": ["too many bad rows"], "ratio": 0.5}
    held = Hold(processor.contract.key, NEXT, ("too few rows",), "run-9", "2026-02-03T00:00:00+00:00", asks, "call-9")
    holds = Holds(processor.destination.holds)
    holds.note(held)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    plan = plan_reset(processor.contract, lakehouse, processor.destination, ["gold"])
    assert (plan.rows, plan.quarantined, plan.holds) == (2, 1, (held,))
    assert plan.bytes > plan.files > 0
    assert (plan.version, plan.downstream) == (0, ("gold",))
    assert delta_log.version(processor.destination.target) == 0
    reset(sandbox, text)
    assert holds.of(processor.contract.key) == []
    assert [row["status"] for row in read_runs(processor.destination.run_log)] == ["reset", "success"]
    restore(sandbox, text)
    assert holds.of(processor.contract.key) == [held]


def test_nothing_is_logged_where_there_is_nothing_to_reset(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: append}"
    assert reset(sandbox, text).run is None
    assert read_runs(sandbox.processor(text).destination.run_log) == []


def test_a_reset_that_died_after_its_commit_is_logged_by_the_next_run(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: overwrite}"
    sandbox.run(text, ROWS, SCHEMA)
    processor = sandbox.processor(text)
    report = reset(sandbox, text).run
    assert report is not None
    intents = Intents(processor.destination.intents, processor.destination.target)
    intents.note(Intent("orders|reset", 1, processor.destination.target, replace(report, run_id="died").as_dict()))
    sandbox.run(text, ROWS, SCHEMA)
    rows = [(row["run_id"], row["status"]) for row in read_runs(processor.destination.run_log)]
    assert ("died", "reset") in rows
    assert list(intents.open()) == []


def test_tables_of_plain_files_and_append_only_tables_are_refused(sandbox: Sandbox) -> None:
    plain = MODEL + "materialization: {strategy: append, format: parquet}"
    with pytest.raises(EngineError, match="no history to go back to"):
        reset(sandbox, plain)
    text = MODEL + "materialization: {strategy: append, table_properties: {delta.appendOnly: true}}"
    sandbox.run(text, ROWS, SCHEMA)
    with pytest.raises(EngineError, match="appendOnly"):
        reset(sandbox, text)


def test_where_a_restore_goes_must_be_there(sandbox: Sandbox) -> None:
    text = MODEL + "materialization: {strategy: append}"
    processor = sandbox.processor(text)
    with pytest.raises(NotFoundError, match="no table"):
        plan_restore(processor.contract, processor.destination)
    sandbox.run(text, ROWS, SCHEMA, window=DAY)
    between = datetime.now(UTC)
    sandbox.run(text, ROWS, SCHEMA, window=NEXT)
    for where, match in (({}, "was not reset"), ({"version": 7}, "has versions 0 to 1")):
        with pytest.raises(NotFoundError, match=match):
            plan_restore(processor.contract, processor.destination, **where)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="as old as"):
        plan_restore(processor.contract, processor.destination, to=between - timedelta(days=1))
    assert plan_restore(processor.contract, processor.destination, to=between).version == 0


def report_of(status: str, *, wrote: int | None = None, back_to: int | None = None, **said: Any) -> dict[str, Any]:
    return {
        "status": status,
        "versions_written": {"target": wrote} if wrote is not None else {},
        "versions_read": {"target": back_to} if back_to is not None else {},
        "window": FULL.as_dict(),
        **said,
    }


def test_of_resets_and_restores_only_what_they_leave_stands() -> None:
    first, second = report_of("success", wrote=0), report_of("success", wrote=1)
    emptied, third = report_of("reset", wrote=2, back_to=1), report_of("success", wrote=3)
    back = report_of("restored", wrote=4, back_to=0)
    oldest_first = [first, second, emptied, third, back]

    def left(count: int) -> list[Any]:
        return list(standing(reversed(oldest_first[:count])))

    assert [left(count) for count in range(1, 6)] == [[first], [second, first], [], [third], [first]]
    oldest_first += [report_of("success", wrote=5), report_of("restored", wrote=6, back_to=4)]
    # Version 4 was itself a way back to version 0.
    assert left(7) == [first]
