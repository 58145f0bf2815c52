"""What is left when a run ends in the middle: nothing is lost, nothing counts twice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delivery
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from lakelogic_assets.processor import DataProcessor
    from tests.spark.conftest import Sandbox

NEWS = """\
model: {fields: [{name: id, type: int}, {name: day, type: string}]}
source:
  {type: landing, path: in, format: csv, load_mode: incremental, watermark_strategy: pipeline_log, options: {header: "true"}}
quality: {row_rules: [{name: positive, sql: id > 0}]}
"""
APPENDED = NEWS + "materialization: {strategy: append}\n"


def land(sandbox: Sandbox, name: str, *ids: int, day: str = "d1") -> Path:
    folder = sandbox.folder / "in"
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("id,day\n" + "".join(f"{number},{day}\n" for number in ids), encoding="utf-8")
    return file


def ids(sandbox: Sandbox, path: str) -> list[int]:
    return sorted(row[0] for row in sandbox.rows(path, "id"))


def statuses(processor: DataProcessor) -> list[str]:
    return [row["status"] for row in read_runs(processor.destination.run_log)][::-1]


class _DiedError(BaseException):
    """A process that is gone catches nothing."""


def _die(*_: Any, **__: Any) -> None:
    raise _DiedError


def test_bad_rows_of_a_batch_that_came_to_nothing_are_not_kept_twice(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(sandbox, "a.csv", 1, -1)
    processor = sandbox.processor(APPENDED)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "refuse_changes", _die)
        with pytest.raises(_DiedError):
            processor.run()
    assert ids(sandbox, processor.destination.quarantine) == [-1]
    # The next batch has another name, because another file has come meanwhile.
    land(sandbox, "b.csv", 2, -2)
    assert processor.run().counts.source == 4
    assert ids(sandbox, processor.destination.quarantine) == [-2, -1]
    assert ids(sandbox, processor.destination.target) == [1, 2]
    assert statuses(processor) == ["failed", "success"]


def test_a_clean_up_that_fails_leaves_the_published_rows_alone(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise EngineError("the archive is full")

    land(sandbox, "a.csv", 1, 2, -1)
    processor = sandbox.processor(APPENDED)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "clean_up", full)
        with pytest.raises(EngineError, match="the archive is full"):
            processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]
    land(sandbox, "b.csv", 3)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2, 3]
    assert ids(sandbox, processor.destination.quarantine) == [-1]
    assert sorted(statuses(processor)) == ["failed", "success", "success"]


def test_a_file_that_was_replaced_after_it_was_read_is_not_cleaned_away_unread(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = APPENDED.replace("format: csv,", "format: csv, post_ingestion: {action: delete},")
    file = land(sandbox, "a.csv", 1)
    processor = sandbox.processor(text)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "clean_up", _die)
        with pytest.raises(_DiedError):
            processor.run()
    land(sandbox, "a.csv", 2, 3)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2, 3]
    assert not file.exists()


def test_bad_rows_of_files_that_are_gone_outlive_their_table(sandbox: Sandbox) -> None:
    text = APPENDED.replace("format: csv,", "format: csv, post_ingestion: {action: delete},")
    land(sandbox, "a.csv", 1, -1)
    processor = sandbox.processor(text)
    processor.run()
    shutil.rmtree(processor.destination.target)
    land(sandbox, "b.csv", 2)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [2]
    assert ids(sandbox, processor.destination.quarantine) == [-1]


def test_a_quarantine_of_another_program_gets_the_bad_rows_too(sandbox: Sandbox) -> None:
    processor = sandbox.processor(APPENDED)
    sandbox.frame([(9, "old")], "id int, note string").write.format("delta").save(processor.destination.quarantine)
    land(sandbox, "a.csv", 1)
    assert processor.run().status == "success"
    land(sandbox, "b.csv", -2)
    processor.run()
    assert ids(sandbox, processor.destination.quarantine) == [-2, 9]


def test_a_run_that_finds_no_row_does_not_forget_how_far_the_others_came(sandbox: Sandbox) -> None:
    source = sandbox.processor("model: {fields: [{name: id, type: int}]}", "source").destination.target
    sandbox.frame([(1, "2026-02-01")], "id int, day string").write.format("delta").save(source)
    text = APPENDED.replace(
        "{type: landing, path: in, format: csv, load_mode: incremental,",
        "{type: table, path: 'table:lakehouse.default.source', load_mode: incremental, watermark_field: id,",
    )
    processor = sandbox.processor(text)
    processor.run()
    sandbox.spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 1")
    assert processor.run().counts.source == 0
    again = [(1, "2026-02-01"), (2, "2026-02-02")]
    sandbox.frame(again, "id int, day string").write.format("delta").mode("append").save(source)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_table_that_was_removed_is_made_anew_from_all_files(sandbox: Sandbox, strategy: str) -> None:
    text = f"{NEWS}primary_key: [id]\nmaterialization: {{strategy: {strategy}}}\n"
    land(sandbox, "a.csv", 1)
    processor = sandbox.processor(text)
    processor.run()
    shutil.rmtree(processor.destination.target)
    land(sandbox, "b.csv", 2)
    processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]


def test_what_was_written_to_a_former_table_does_not_count_for_the_present_one(sandbox: Sandbox) -> None:
    text = APPENDED.replace("path: in,", 'path: in, partition: {format: "d_%Y-%m-%d"},')
    for day in ("2026-02-01", "2026-02-02"):
        folder = sandbox.folder / "in" / f"d_{day}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(f"id,day\n{day[-1]},x\n", encoding="utf-8")
    processor = sandbox.processor(text)
    processor.run()
    shutil.rmtree(processor.destination.target)
    processor.run(window=Window.day("2026-02-02"))
    assert ids(sandbox, processor.destination.target) == [2]
    processor.run()
    assert 1 in ids(sandbox, processor.destination.target)


def test_a_partition_that_earlier_files_have_filled_is_not_replaced_by_a_further_one(sandbox: Sandbox) -> None:
    text = NEWS + "materialization: {strategy: partition, partition_by: [day]}\n"
    land(sandbox, "a.csv", 1, day="d1")
    processor = sandbox.processor(text)
    processor.run()
    land(sandbox, "b.csv", 2, day="d2")
    processor.run()
    land(sandbox, "c.csv", 3, day="d1")
    with pytest.raises(EngineError, match="a partition is replaced as a whole"):
        processor.run()
    assert ids(sandbox, processor.destination.target) == [1, 2]


def test_a_project_that_moves_reads_no_file_twice(sandbox: Sandbox, tmp_path: Path) -> None:
    from tests.spark.conftest import Sandbox as Moved

    here = Moved(sandbox.spark, tmp_path / "here and there")
    here.folder.mkdir()
    land(here, "a.csv", 1)
    here.processor(APPENDED).run()
    moved = Moved(sandbox.spark, tmp_path / "elsewhere")
    here.folder.rename(moved.folder)
    processor = moved.processor(APPENDED)
    assert processor.run().status == "no_new_data"
    assert ids(moved, processor.destination.target) == [1]
