"""One writer per table, and what a dead one leaves behind."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lakelogic_assets.errors import LockedError
from lakelogic_assets.spark import locks
from lakelogic_assets.spark.intents import Intent, Intents
from lakelogic_assets.spark.locks import table_lock


def test_a_second_writer_waits_until_the_first_is_done(tmp_path: Path) -> None:
    table, order = str(tmp_path / "t"), []

    def second() -> None:
        with table_lock(table, None):
            order.append("second")

    with table_lock(table, None):
        other = threading.Thread(target=second)
        other.start()
        time.sleep(0.2)
        order.append("first")
    other.join(timeout=120)
    assert order == ["first", "second"]


def test_a_writer_that_waits_too_long_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    with table_lock(table, None), pytest.raises(LockedError, match=str(os.getpid())):  # noqa: SIM117
        with table_lock(table, None, timeout=0.1):
            pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    code = (
        "import sys, time; from lakelogic_assets.spark.locks import table_lock\n"
        f"with table_lock({table!r}, None):\n    print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    child.kill()
    child.wait()
    child.stdout.close()
    started = time.monotonic()
    with table_lock(table, None, timeout=60):
        assert time.monotonic() - started < 60


def test_an_interrupted_writer_leaves_its_jvm_in_the_note_and_a_failed_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_is_java", lambda pid: pid == 4711)
    table = str(tmp_path / "t")
    with pytest.raises(ValueError, match="failed"), table_lock(table, 4711):
        raise ValueError("failed")
    with table_lock(table, 12, timeout=0.0):
        pass
    with pytest.raises(KeyboardInterrupt), table_lock(table, 4711):
        raise KeyboardInterrupt
    for other in (12, None):
        with pytest.raises(LockedError, match="left its JVM 4711 behind"), table_lock(table, other, timeout=0.0):
            pass
    # The same process goes on with the same JVM, in which Delta keeps the two apart.
    with table_lock(table, 4711, timeout=0.0):
        pass
    with table_lock(table, 12, timeout=0.0):
        pass


def test_an_intent_is_found_again_until_it_is_forgotten(tmp_path: Path) -> None:
    intents = Intents(tmp_path, "/lake/t")
    intents.note(Intent("c|full", 3, "/lake/t", {"run_id": "r1"}))
    assert [(i.app, i.generation, i.report) for i in intents.open()] == [("c|full", 3, {"run_id": "r1"})]
    intents.forget("c|full")
    assert list(intents.open()) == []


def test_intents_of_other_tables_are_not_seen(tmp_path: Path) -> None:
    Intents(tmp_path, "/lake/a").note(Intent("c|full", 1, "/lake/a", {}))
    assert list(Intents(tmp_path, "/lake/b").open()) == []


def test_an_intent_that_the_disk_has_damaged_is_kept_for_the_doctor(tmp_path: Path) -> None:
    intents = Intents(tmp_path, "/lake/t")
    intents.note(Intent("c|full", 1, "/lake/t", {}))
    file = next(intents.folder.glob("*.json"))
    file.write_text(json.dumps({"app": "x"})[:-3])
    assert list(intents.open()) == []
    assert intents.damaged() == [file]
    intents.note(Intent("c|full", 2, "/lake/t", {}))
    assert intents.damaged() == []


def test_two_processes_that_note_one_window_at_a_time_do_not_take_each_others_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intents, sync, pid = Intents(tmp_path, "s3://lake/t"), os.fsync, os.getpid()

    def beside(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        intents.note(Intent("c|full", 1, "s3://lake/t", {}))
        monkeypatch.setattr(os, "getpid", lambda: pid)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", beside)
    intents.note(Intent("c|full", 2, "s3://lake/t", {}))
    assert [intent.generation for intent in intents.open()] == [2]
    assert len([*intents.folder.iterdir()]) == 1


@pytest.mark.parametrize(
    ("host", "boot", "age", "left_alone"),
    [("elsewhere", "any", 0, True), ("elsewhere", "any", 90_000, False), (None, "an earlier start", 0, False)],
)
def test_without_a_lock_a_run_of_another_machine_has_a_day(
    host: str | None, boot: str, age: int, left_alone: bool, tmp_path: Path
) -> None:
    intents = Intents(tmp_path, "s3://lake/t")
    intents.note(Intent("c|full", 1, "s3://lake/t", {}))
    (file,) = intents.folder.iterdir()
    noted = json.loads(file.read_text())
    pid, began, here, _ = noted["owner"]
    file.write_text(json.dumps(noted | {"owner": [pid, began, host or here, boot]}))
    os.utime(file, (time.time() - age,) * 2)
    assert bool(list(intents.open())) is not left_alone


_NOTE_AND_STAY = """\
import sys, time
from pathlib import Path
from lakelogic_assets.spark.intents import Intent, Intents
Intents(Path(sys.argv[1]), sys.argv[2]).note(Intent("c|full", 1, sys.argv[2], {}))
print("noted", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(("target", "left_alone"), [("s3://lake/t", True), ("/lake/t", False)])
def test_without_a_lock_a_run_that_goes_on_beside_us_keeps_its_note_until_it_is_dead(
    target: str, left_alone: bool, tmp_path: Path
) -> None:
    """Whoever took it would log the run as failed or as done, and then that one would do so again."""
    command = [sys.executable, "-c", _NOTE_AND_STAY, str(tmp_path), target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "noted\n"
        assert bool(list(Intents(tmp_path, target).open())) is not left_alone
        other.kill()
    assert [intent.app for intent in Intents(tmp_path, target).open()] == ["c|full"]
    Intents(tmp_path, target).note(Intent("c|full", 2, target, {}))
    assert [intent.generation for intent in Intents(tmp_path, target).open()] == [2]
