"""`python -m faults.victim` — a process that does what it is told, one line of JSON at a time, until it is killed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from delta.tables import DeltaTable as DeltaTables
from deltalake import DeltaTable
from pyspark.errors import PySparkException

from faults.clocks import shifted
from faults.points import Act, at_appearance, at_border
from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.errors import LakeLogicError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark import locks
from lakelogic_assets.spark.audit import audit
from lakelogic_assets.spark.failures import is_conflict
from lakelogic_assets.spark.maintenance import SAFE_HOURS, maintain
from lakelogic_assets.spark.session import jvm_pid, local_session

Command = dict[str, Any]
_jvms: list[int] = []
_TRIES = 20
_LONGEST_WAIT = 500.0
_BRIEF_VACUUM = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
_struck: list[str] = []
"""What the fault of this command did, once it has done it."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed must not be taken for an answer

    def say(answer: Command) -> None:
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()

    note_jvm()
    say({"ready": os.getpid(), "jvm": _jvms[-1]})
    for line in sys.stdin:
        command = json.loads(line)
        _struck.clear()
        say({"begun": True})
        say({**_answer(command), "jvm": _jvms[-1], "struck": bool(_struck)})


def note_jvm() -> None:
    found = jvm_pid(local_session())
    if found is not None and found not in _jvms:
        _jvms.append(found)


def _answer(command: Command) -> Command:
    try:
        return {"done": _DEEDS[command["do"]](command)}
    except LakeLogicError as error:
        return {"error": str(error), "kind": type(error).__name__, "retryable": error.retryable}
    except BaseException as error:
        return {"escaped": "".join(traceback.format_exception(error))[-3000:]}


def _run(command: Command) -> Command:
    processor = DataProcessor(command["contract"])
    note_jvm()
    window = Window.day(command["window"]) if command.get("window") else Window.full()
    clock = shifted(command.get("clock", 0.0), command.get("jumps"))
    # As on an object store: nobody in the engine waits for anybody.
    free = mock.patch.object(locks, "has_lock", return_value=False)
    lock = free if command.get("unlocked") else contextlib.nullcontext()
    with clock as told, lock, _sabotage(command.get("fault"), processor):
        try:
            report = processor.run(window=window, reprocess=command.get("reprocess", False))
        finally:
            note_jvm()
    return {"status": report.status, "warnings": report.warnings, "told": told}


@contextlib.contextmanager
def _sabotage(fault: Command | None, processor: DataProcessor) -> Iterator[None]:
    if fault is None:
        yield
        return
    place = processor.destination
    places = {"target": place.target, "quarantine": place.quarantine, "run_log": place.run_log}
    act = _act(fault, places)
    if "border" in fault:
        undo = at_border(fault["border"], act, fault.get("nth", 1))
    else:
        undo = at_appearance(fault["appearance"], places, act)
    try:
        yield
    finally:
        undo()


def _act(fault: Command, places: dict[str, str]) -> Act:
    def kill_python() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_jvm() -> None:
        os.kill(_jvms[-1], signal.SIGKILL)

    def kill_both() -> None:
        kill_jvm()
        kill_python()

    acts: dict[str, Act] = {
        "kill python": kill_python,
        "kill jvm": kill_jvm,
        "kill both": kill_both,
        "drop table": lambda: shutil.rmtree(places["target"], ignore_errors=True),
        "wait": lambda: _wait(Path(fault["here"]), Path(fault["go"])),
        "truncate": lambda: _cut(Path(fault["file"])),
        "replace": lambda: Path(fault["other"]).replace(fault["file"]),
        "remove": lambda: Path(fault["file"]).unlink(),
        "foreign delete": lambda: _foreign(places["target"], lambda table: table.delete("k = 'k00'")),
        "foreign compaction": lambda: _foreign(places["target"], lambda table: table.optimize.compact()),
    }

    def strike() -> None:
        _struck.append(fault["act"])
        acts[fault["act"]]()

    return strike


def _wait(here: Path, go: Path) -> None:
    here.touch()
    deadline = time.monotonic() + _LONGEST_WAIT
    while not go.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _cut(file: Path) -> None:
    """Half of the lines are gone, as after a copy that broke off."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")


def _foreign(path: str, change: Callable[[DeltaTable], object]) -> None:
    """A program that knows nothing of our locks."""
    if DeltaTable.is_deltatable(path):
        change(DeltaTable(path))


def _maintain(command: Command) -> Command:
    processor = DataProcessor(command["contract"])
    with _sabotage(command.get("fault"), processor):
        return maintain(processor.contract, local_session(), processor.destination, retention_hours=0.0).as_dict()


def _erase(command: Command) -> Command:
    """What a tool would do that forgets a person: the rows of one key go, and with them the files that held them.

    With the table's lock it removes every file that is not needed now. Without, it knows nothing of the run beside it:
    it has to leave young files alone, as every program has that shares a Delta table, and tries again after a conflict.
    """
    spark = local_session().newSession()
    for name, value in _BRIEF_VACUUM.items():
        spark.conf.set(name, value)
    processor = DataProcessor(command["contract"])
    target = processor.destination.target
    lock = locks.table_lock(target, jvm_pid(spark)) if command["locked"] else contextlib.nullcontext()
    with lock, _sabotage(command.get("fault"), processor):
        table = DeltaTables.forPath(spark, target)
        _until_it_is_alone(lambda: table.delete("k = 'k00'"))
        _until_it_is_alone(lambda: spark.sql(f"REORG TABLE delta.`{target}` APPLY (PURGE)"))
        table.vacuum(0.0 if command["locked"] else SAFE_HOURS)
    return {}


def _until_it_is_alone(step: Callable[[], object]) -> None:
    for _ in range(_TRIES):
        try:
            step()
        except PySparkException as error:
            if not is_conflict(error):
                raise
        else:
            return
    raise RuntimeError(f"another commit came in between {_TRIES} times")


def _lakelogic(command: Command) -> Command:
    """The command line as an operator calls it: exit code, and what it said."""
    said = io.StringIO()
    processor = DataProcessor(command["contract"])
    with _sabotage(command.get("fault"), processor), contextlib.redirect_stdout(said):
        try:
            code = lakelogic(command["words"])
        finally:
            note_jvm()
    return {"code": code, "said": said.getvalue()[-2000:]}


def _audit(command: Command) -> list[str]:
    runs = audit(DataProcessor(command["contract"]).destination)
    return [f"{run.window} generation {run.generation}: {fault}" for run in runs for fault in run.faults]


_DEEDS: dict[str, Callable[[Command], Any]] = {
    "run": _run,
    "maintain": _maintain,
    "erase": _erase,
    "lakelogic": _lakelogic,
    "audit": _audit,
}

if __name__ == "__main__":
    main()
