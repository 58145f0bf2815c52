"""What dead runs and dying disks leave behind is found, and mended where nobody has to decide."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import doctor, locks
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from lakelogic_assets.processor import DataProcessor
    from tests.spark.conftest import Sandbox

TEXT = """\
model: {fields: [{name: id, type: int}]}
quality: {row_rules: [{name: positive, sql: id > 0}]}
materialization: {strategy: append}
"""
DAY = Window.day("2026-02-01")


def places(processor: DataProcessor) -> tuple[Any, ...]:
    contract = processor.contract
    return contract, processor.workspace.lakehouse(contract), processor.destination


@pytest.fixture
def ran(sandbox: Sandbox) -> DataProcessor:
    """A table after a run that went well, bad row and all."""
    sandbox.run(TEXT, [(1,), (-2,)], "id int", window=DAY)
    return sandbox.processor(TEXT)


@pytest.fixture
def died(ran: DataProcessor, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> DataProcessor:
    """The same after a run that died between its commit and its row in the log."""
    from lakelogic_assets.spark import execute

    with monkeypatch.context() as patch:
        patch.setattr(execute, "append_run", _die)
        with pytest.raises(KeyboardInterrupt):
            sandbox.run(TEXT, [(3,)], "id int", window=Window.day("2026-02-02"))
    return ran


def _die(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _whose_jvm_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that died here leaves the JVM of the tests in its note, which would be waited for."""
    monkeypatch.setattr(locks, "_is_java", lambda _: False)


def kinds(found: list[doctor.Ailment]) -> list[str]:
    return [each.kind for each in found]


def test_a_table_whose_runs_came_to_their_end_is_well(ran: DataProcessor) -> None:
    assert doctor.examine(*places(ran)) == []
    assert doctor.repair(*places(ran), None) == []


def test_a_run_that_died_after_its_commit_is_found_and_logged(died: DataProcessor) -> None:
    (found,) = doctor.examine(*places(died))
    assert (found.kind, found.needs_a_person) == ("dead run", False)
    assert "was published and not logged" in found.what
    (mended,) = doctor.repair(*places(died), None)
    assert mended.mended
    assert [row["status"] for row in read_runs(died.destination.run_log)] == ["success", "success"]
    assert doctor.examine(*places(died)) == []


def test_a_table_that_is_being_written_is_left_alone(died: DataProcessor) -> None:
    with table_lock(died.destination.target, None):
        (found,) = doctor.repair(*places(died), None)
        assert doctor.examine(*places(died)) == [found]
    assert found.kind == "busy"
    assert list(Intents(died.destination.intents, died.destination.target).open())


def test_files_that_no_commit_names_go_when_they_are_old_enough(ran: DataProcessor) -> None:
    target = Path(ran.destination.target)
    log = target / "_delta_log"
    young = [target / "young.parquet", log / ".8.json.abc.tmp"]
    old = [target / "old.parquet", log / ".9.json.abc.tmp"]
    for file in (*young, *old):
        file.write_bytes(b"left by a run that was killed")
    for file in old:
        _age(file)
    before = sorted(target.glob("part-*.parquet"))
    assert kinds(doctor.examine(*places(ran))) == ["drafts", "orphans"]
    assert all(each.mended for each in doctor.repair(*places(ran), None))
    assert all(file.exists() for file in young)
    assert not any(file.exists() for file in old)
    assert sorted(target.glob("part-*.parquet")) == before


def _age(file: Path) -> None:
    os.utime(file, (time.time() - 2 * doctor.SETTLED_SECONDS,) * 2)


def test_no_file_of_a_table_is_taken_for_an_orphan_nor_one_of_a_table_below(sandbox: Sandbox) -> None:
    text = (
        "model: {fields: [{name: id, type: int}, {name: at, type: string}]}\n"
        "materialization: {strategy: append, partition_by: [at]}\n"
    )
    sandbox.run(text, [(1, "2026-02-01 10:00"), (2, "50%"), (3, "a/b=c")], "id int, at string")
    processor = sandbox.processor(text)
    target = Path(processor.destination.target)
    write_deltalake(str(target / "below"), pa.table({"id": [1]}))
    DeltaTable(str(target)).create_checkpoint()
    for commit in (target / "_delta_log").glob("*.json"):
        commit.unlink()  # as Delta cleans its log up, once a checkpoint has all of it
    files = [file for file in target.rglob("*.parquet") if "_delta_log" not in file.parts]
    for file in files:
        _age(file)
    doctor.repair(*places(processor), None)
    assert len(files) == 4
    assert all(file.exists() for file in files)


def test_a_commit_that_a_disk_has_lost_is_told_and_needs_a_person(ran: DataProcessor, sandbox: Sandbox) -> None:
    sandbox.run(TEXT, [(5,)], "id int", window=Window.day("2026-02-03"))
    log = Path(ran.destination.target) / "_delta_log"
    newest = max(log.glob("*.json"))
    for file in (newest, log / f".{newest.name}.crc", newest.with_suffix(".crc")):
        file.unlink(missing_ok=True)
    (found,) = doctor.examine(*places(ran))
    assert (found.kind, found.needs_a_person) == ("lost commit", True)
    assert "2026-02-03" in found.what
    assert [each.mended for each in doctor.repair(*places(ran), None)] == [False]
    sandbox.run(TEXT, [(5,)], "id int", window=Window.day("2026-02-03"))
    assert doctor.examine(*places(ran)) == []


def test_an_empty_commit_is_told_and_not_read_as_no_commit(ran: DataProcessor) -> None:
    log = Path(ran.destination.target) / "_delta_log"
    max(log.glob("*.json")).write_bytes(b"")
    found = doctor.examine(*places(ran))
    assert "is empty, as a disk leaves it that lost power" in found[0].what
    assert found[0].needs_a_person


def test_a_table_that_is_gone_is_told(ran: DataProcessor, sandbox: Sandbox) -> None:
    Path(ran.destination.target).rename(sandbox.folder / "moved")
    assert kinds(doctor.examine(*places(ran))) == ["no table"]


def test_the_command_lists_mends_and_says_what_is_left(
    died: DataProcessor, sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    assert died.contract.table == "orders"
    words = ["doctor", str(sandbox.folder / "orders.yaml")]
    assert lakelogic(words) == 1
    assert "· orders: dead run:" in capsys.readouterr().out
    assert lakelogic([*words, "--repair"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 table: 1 mended, nothing left, 0 for a person"
    assert lakelogic([*words, "--json"]) == 0
    assert capsys.readouterr().out.strip() == "[]"
