"""What fails once the rows are published does not make the run one that published nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark import delivery, doctor, execute
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.run_log import read_runs
from tests.spark.test_crashes import APPENDED, NEWS, ids, land, statuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakelogic_assets.processor import DataProcessor
    from lakelogic_assets.spark.publishing import Prepared
    from tests.spark.conftest import Sandbox

FRAMED = "model: {fields: [{name: id, type: int}]}\nmaterialization: {strategy: append}\n"


def intents(processor: DataProcessor) -> list[str]:
    open_ones = Intents(processor.destination.intents, processor.destination.target).open()
    return [intent.app.split("|")[0] for intent in open_ones]


def last_report(processor: DataProcessor) -> dict[str, Any]:
    report: dict[str, Any] = read_runs(processor.destination.run_log, with_reports=True)[0]["report"]
    return report


def on_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[Prepared, str], int]) -> None:
    """Let the first run commit in another way."""
    prepare = execute.prepare

    def prepared(*said: Any) -> Prepared:
        made = prepare(*said)
        monkeypatch.setattr(execute, "prepare", prepare)
        return replace(made, commit=lambda metadata: act(made, metadata))

    monkeypatch.setattr(execute, "prepare", prepared)


def test_a_blocking_clean_up_fails_a_run_that_says_it_has_published(sandbox: Sandbox) -> None:
    policy = "post_ingestion: {action: archive, archive_path: done, cleanup_is_blocking: true},"
    land(sandbox, "a.csv", 1, 2)
    (sandbox.folder / "done").write_text("a file where a folder should be")
    processor = sandbox.processor(APPENDED.replace("format: csv,", f"format: csv, {policy}"))
    with pytest.raises(EngineError, match=r"published as version 0, but .*a\.csv could not be archived"):
        processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]
    said = last_report(processor)
    assert (said["status"], said["versions_written"], said["counts"]["good"]) == ("failed", {"target": 0}, 2)
    (sandbox.folder / "done").unlink()
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]
    assert (sandbox.folder / "done" / "a.csv").exists()
    assert intents(processor) == []


@pytest.mark.parametrize("races", [0, 1])
def test_files_that_could_not_be_noted_are_seen_to_by_the_next_run(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, races: int
) -> None:
    def lost(*_: Any) -> int:
        raise PySparkException("[DELTA_CONCURRENT_APPEND] somebody was faster")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    land(sandbox, "a.csv", 1)
    strategy = "watermark_strategy: manifest, manifest_path: seen.jsonl"
    processor = sandbox.processor(APPENDED.replace("watermark_strategy: pipeline_log", strategy))
    if races:
        on_commit(monkeypatch, lost)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "clean_up", full)
        report = processor.run()
    assert report.status == "success"
    assert report.warnings[races:] == (
        "Published, although something after the commit failed: No space left on device",
    )
    contract = processor.contract
    (found,) = doctor.examine(contract, processor.workspace.lakehouse(contract), processor.destination)
    assert "its files or holds were left as they were" in found.what
    land(sandbox, "b.csv", 2)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]
    assert statuses(processor) == ["success", "success"]
    assert intents(processor) == []


def test_a_table_that_cannot_be_arranged_is_published_all_the_same(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: Any) -> None:
        raise RuntimeError("a secret value")

    land(sandbox, "a.csv", 1)
    processor = sandbox.processor(APPENDED)
    monkeypatch.setattr(delivery, "arrange", wrong)
    report = processor.run()
    assert (report.status, report.versions_written) == ("success", {"target": 0})
    assert report.warnings == ("Published, although something after the commit failed: RuntimeError",)
    assert intents(processor) == []


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_commit_that_came_through_although_spark_failed_is_a_success(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    def broken_off(made: Prepared, metadata: str) -> int:
        made.commit(metadata)
        raise PySparkException("a job after the commit was cancelled")

    land(sandbox, "a.csv", 1)
    processor = sandbox.processor(f"{NEWS}primary_key: [id]\nmaterialization: {{strategy: {strategy}}}\n")
    on_commit(monkeypatch, broken_off)
    report = processor.run()
    assert (report.status, report.versions_written) == ("success", {"target": 0})
    assert "a job after the commit was cancelled" in report.warnings[0]
    assert statuses(processor) == ["success"]
    assert ids(sandbox, processor.destination.target) == [1]


def test_rows_that_a_caller_gives_again_under_the_same_run_are_not_added_twice(sandbox: Sandbox) -> None:
    for _ in range(2):
        sandbox.run(FRAMED, [(1,), (2,)], "id int", pipeline_run_id="nightly-7")
    assert sandbox.target(FRAMED, "id") == [(1,), (2,)]
    sandbox.run(FRAMED, [(1,)], "id int", pipeline_run_id="nightly-8")
    sandbox.run(FRAMED, [(1,)], "id int")
    sandbox.run(FRAMED, [(1,)], "id int")
    assert sandbox.target(FRAMED, "id") == [(1,), (1,), (1,), (1,), (2,)]


@pytest.mark.parametrize("step", ["judge_run", "deliver.write_quarantine"])
def test_a_run_that_fails_before_its_commit_leaves_no_files(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def wrong(*_: Any) -> None:
        raise EngineError("cannot be judged")

    land(sandbox, "a.csv", 1, 2)
    processor = sandbox.processor(APPENDED)
    place = execute if step == "judge_run" else delivery
    monkeypatch.setattr(place, step.removeprefix("deliver."), wrong)
    for _ in range(2):
        with pytest.raises(EngineError, match="cannot be judged"):
            processor.run()
    assert list(Path(processor.destination.target).rglob("*.parquet")) == []


def test_a_race_that_was_lost_while_the_source_changed_leaves_no_failed_run_behind(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: Prepared, metadata: str) -> int:
        assert json.loads(metadata)["window"].startswith("batch:")
        land(sandbox, "b.csv", 2)
        raise PySparkException("[DELTA_CONCURRENT_APPEND] somebody was faster")

    land(sandbox, "a.csv", 1, -1)
    processor = sandbox.processor(APPENDED)
    on_commit(monkeypatch, lost)
    assert processor.run().status == "success"
    assert intents(processor) == []
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]
    assert ids(sandbox, processor.destination.quarantine) == [-1]
    assert statuses(processor) == ["success", "no_new_data"]
