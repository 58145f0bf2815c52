"""What dead runs and dying disks leave behind: found by looking, mended where that is safe. Needs no JVM."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from deltalake import DeltaTable

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import LockedError
from lakelogic_assets.spark import delta_log, local_dirs, parquet_table
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.failures import StorageFailure, of_storage
from lakelogic_assets.spark.intents import Intents
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.recovery import committed_by, recover
from lakelogic_assets.spark.run_log import RESET, RESTORED, is_logged, read_runs, standing
from lakelogic_assets.spark.tables import Lakehouse

SETTLED_SECONDS: Final = 86_400.0
"""Files that nobody refers to are left alone for so long: another program may be about to commit them."""
_REMEMBERED_RUNS: Final = 500
_BUSY: Final = "busy"


@dataclass(frozen=True, slots=True)
class Ailment:
    """One thing that is not as a run that came to its end leaves it."""

    contract: str
    kind: str
    what: str
    cure: str
    mended: bool = False
    needs_a_person: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(contract: Contract, lakehouse: Lakehouse, destination: Destination) -> list[Ailment]:
    """What is wrong with the tables of a contract; nothing is changed. What still runs is not judged."""
    patient = _Patient(contract, lakehouse, destination)
    if not os.access(Path(destination.target).parent, os.W_OK):
        return list(patient.ailments())  # where we may not write, there is no lock for us to take
    try:
        with table_lock(destination.target, None, timeout=0.0):
            return list(patient.ailments())
    except LockedError as error:
        return [_busy(contract, error)]


def repair(
    contract: Contract, lakehouse: Lakehouse, destination: Destination, environment: str | None
) -> list[Ailment]:
    """Mend what can be mended while nobody writes the table; what is left is for a person or for later."""
    found = examine(contract, lakehouse, destination)
    if not found or any(each.kind == _BUSY for each in found):
        return found
    patient = _Patient(contract, lakehouse, destination)
    try:
        with table_lock(destination.target, None, timeout=0.0):
            recover(contract, lakehouse, destination, environment)
            patient.sweep()
    except LockedError as error:
        return [_busy(contract, error)]
    left = examine(contract, lakehouse, destination)
    return [*(replace(each, mended=True) for each in found if each not in left), *left]


def swept_sessions(conf: Mapping[str, str]) -> list[Path]:
    """Removes the rows that killed sessions were working on, masked or not; the next session does so, too."""
    return local_dirs.sweep({*local_dirs.bases(conf), Path(tempfile.gettempdir())})


def _busy(contract: Contract, error: LockedError) -> Ailment:
    return Ailment("/".join(contract.key), _BUSY, str(error), "wait for it to end")


@dataclass(frozen=True)
class _Patient:
    contract: Contract
    lakehouse: Lakehouse
    destination: Destination

    def ailments(self) -> Iterator[Ailment]:
        yield from self._dead_runs()
        for kind, path in self._tables():
            broken = _unreadable(path)
            if broken:
                yield self._ailment("unreadable", f"the {kind} {path}: {broken}", _RESTORE, needs_a_person=True)
                continue
            yield from self._leftovers(kind, path)
        yield from self._forgotten_runs()

    def sweep(self) -> None:
        """Remove what no reader can see and no run will commit any more; the caller holds the table's lock."""
        parquet_table.heal(Path(self.destination.target))
        for kind, path in self._tables():
            # A quarantine may be shared; the caller has the target's lock already.
            with table_lock(path, None, timeout=0.0) if kind == "quarantine" else contextlib.nullcontext():
                if not _unreadable(path):
                    _remove(_drafts(path) + _orphans(path))

    def _tables(self) -> list[tuple[str, str]]:
        places = (("table", self.destination.target), ("quarantine", self.destination.quarantine))
        return [(kind, path) for kind, path in places if "://" not in path and delta_log.is_table(path)]

    def _dead_runs(self) -> Iterator[Ailment]:
        intents = Intents(self.destination.intents, self.destination.target)
        for intent in intents.open():
            committed = committed_by(self.destination, intent) is not None
            run = intent.report.get("run_id", "")
            what, cure = "began and was never published", "the next run of its window evaluates it again"
            if committed and is_logged(self.destination.run_log, run, "success"):
                what, cure = "was published, and its files or holds were left as they were", "the next run sees to them"
            elif committed:
                what, cure = "was published and not logged", "the next run logs it"
            yield self._ailment("dead run", f"{intent.app} (run {run}) {what}", cure)
        for path in intents.damaged():
            what = f"the disk has damaged the note of a run ({path})"
            cure = "look with `lakelogic audit` whether its window is whole, then remove the file"
            yield self._ailment("damaged note", what, cure, needs_a_person=True)

    def _leftovers(self, kind: str, path: str) -> Iterator[Ailment]:
        drafts, orphans = len(_drafts(path)), _orphans(path)
        if drafts:
            yield self._ailment("drafts", f"{drafts} commits of the {kind} that were never made", "they are removed")
        if orphans:
            size = sum(file.stat().st_size for file in orphans)
            what = f"{len(orphans)} files ({size:,} bytes) of the {kind} belong to no version of it"
            yield self._ailment("orphans", what, "they are removed")

    def _forgotten_runs(self) -> Iterator[Ailment]:
        """What the log last calls a success of a window must be in the table: a disk may have lost its commit."""
        target = self.destination.target
        if "://" in target or parquet_table.is_table(target):
            return
        known = delta_log.commits(target)
        oldest = min((int(commit["version"]) for commit in known), default=0)  # those before it are cleaned away
        ids = {(commit["metadata"] or {}).get("run_id") for commit in known}
        lost = [run for run in self._newest_successes() if run["run_id"] not in ids and _version(run) >= oldest]
        if lost and not known:
            what, cure = f"{_counted(lost)} logged and {target} is gone", f"`lakelogic reload {self.contract.table}`"
            yield self._ailment("no table", what, cure, needs_a_person=True)
        elif lost:
            windows = ", ".join(run["window"]["key"] for run in lost[:5])
            what = f"{_counted(lost)} logged and not in the table: {windows}"
            yield self._ailment("lost commit", what, "run these windows again", needs_a_person=True)

    def _newest_successes(self) -> list[dict[str, Any]]:
        """Of each window, its last success, unless a reset or a restore has undone it."""
        name = "/".join(self.contract.key)
        statuses = ("success", RESET, RESTORED)
        rows = read_runs(
            self.destination.run_log, contract=name, statuses=statuses, limit=_REMEMBERED_RUNS, with_reports=True
        )
        newest: dict[str, dict[str, Any]] = {}
        for report in standing(row["report"] for row in rows):
            newest.setdefault(report["window"]["key"], report)
        return list(newest.values())

    def _ailment(self, kind: str, what: str, cure: str, *, needs_a_person: bool = False) -> Ailment:
        return Ailment("/".join(self.contract.key), kind, what, cure, needs_a_person=needs_a_person)


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


_RESTORE = "bring its log back from a copy, or move the folder aside and run its windows again"


def _unreadable(path: str) -> str | None:
    empty = [file.name for file in _commit_files(path) if file.stat().st_size == 0]
    if empty:
        return f"the commit {empty[0]} is empty, as a disk leaves it that lost power"
    try:
        DeltaTable(path)
        for file in _commit_files(path):
            for line in file.read_text(encoding="utf-8").splitlines():
                json.loads(line)
    except StorageFailure as error:
        return of_storage(error)
    except ValueError as error:
        return f"a commit of it is cut off ({error})"
    return None


def _commit_files(path: str) -> list[Path]:
    return sorted((Path(path) / "_delta_log").glob("*.json"))


def _drafts(path: str) -> list[Path]:
    """Commits that were being written when their process died."""
    return [file for file in (Path(path) / "_delta_log").glob("*.tmp") if _is_settled(file)]


def _is_settled(file: Path) -> bool:
    """Whether it is old enough to be nobody's work any more; a file that is gone meanwhile was somebody's."""
    try:
        return file.stat().st_mtime < time.time() - SETTLED_SECONDS
    except FileNotFoundError:
        return False


def _orphans(path: str) -> list[Path]:
    """Data files that no commit has ever named."""
    root = Path(path)
    named = {root / name for name in _named(path)}
    return [file for file in _data_files(root) if file not in named and _is_settled(file)]


def _data_files(folder: Path) -> Iterator[Path]:
    """Those of the table itself: neither its log, nor another table that lies below it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            hidden = entry.name.startswith(("_", ".")) and "=" not in entry.name
            if not hidden and not entry.is_symlink() and not (entry / "_delta_log").exists():
                yield from _data_files(entry)
        elif entry.suffix == ".parquet":
            yield entry


def _named(path: str) -> Iterator[str]:
    """The files of the newest version, and those that a commit still tells of, as the log spells them."""
    for name in DeltaTable(path).get_add_actions(flatten=True).column("path").to_pylist():
        yield unquote(name)
    for file in _commit_files(path):
        for line in file.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            yield from (unquote(action[kind]["path"]) for kind in ("add", "cdc", "remove") if kind in action)


def _version(report: Mapping[str, Any]) -> int:
    return int(report["versions_written"].get("target", -1))


def _counted(lost: Sequence[object]) -> str:
    return f"{len(lost)} runs are" if len(lost) > 1 else "a run is"
