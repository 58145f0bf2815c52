"""After rows are safely in their table: what happens to the files they came from."""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import PostIngestion
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.boundaries import note_in_manifest
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.listing import HALF_COPIED, TAKEN_ASIDE, changed_files
from lakelogic_assets.spark.sources.selection import after_reading
from lakelogic_assets.spark.sources.snapshot import FileStat
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix, is_uri


def clean_up(contract: Contract, read: SourceRead, scope: Scope) -> None:
    """Note, retain, delete or archive; a failure is a warning unless the contract calls it blocking."""
    snapshot = read.snapshot
    clean_up_files(contract, scope.lakehouse, snapshot.files, snapshot.description, scope.warn)


def clean_up_files(
    contract: Contract, lakehouse: Lakehouse, files: Iterable[FileStat], root: str, warn: Callable[[str], None]
) -> None:
    """The same for files that are known by name; those that are gone already are done with."""
    # What was replaced since it was read is another file, which nobody has read yet.
    files, source = tuple(files), contract.source
    unread = {file for file in files if _is_unread(file)}
    if source is not None and source.watermark_strategy == "manifest" and source.manifest_path:
        note_in_manifest(lakehouse, source.manifest_path, [file.path for file in files if file not in unread])
    policy = after_reading(contract, contract.source)
    if policy is None or policy.action == "retain":
        return
    for file in files:
        if file in unread and not os.path.lexists(_aside(file)):
            continue
        if is_uri(file.path):
            warn(f"`post_ingestion.action: {policy.action}` is for files of a disk; {file.path} is retained.")
            continue
        if not lakehouse.holds(file.path):
            warn(f"{file.path} is outside of the project's roots, so it is retained.")
            continue
        try:
            _handle(file, policy, lakehouse, root)
        except OSError as error:
            message = (
                f"{file.path} could not be {'deleted' if policy.action == 'delete' else 'archived'}: {error.strerror}."
            )
            if policy.cleanup_is_blocking:
                raise EngineError(message) from error
            warn(message)


def _is_unread(file: FileStat) -> bool:
    """Whether another file has come under its name since it was read."""
    return Path(file.path).exists() and bool(changed_files([file]))


def _aside(file: FileStat) -> Path:
    """Where it lies while it is dealt with: each delivery under one name has a place of its own."""
    path = Path(file.path)
    return path.with_name(f".{path.name}.{file.size}-{round(file.mtime * 1e9)}{TAKEN_ASIDE}")


def _handle(file: FileStat, policy: PostIngestion, lakehouse: Lakehouse, root: str) -> None:
    """Delete or archive what was read and nothing else: whoever delivers does not wait until a look at it is over.

    So the file is taken aside first, under a name that is no data and that a later run finds if this one dies.
    """
    path, aside = Path(file.path), _aside(file)
    if os.path.lexists(aside):
        _settle(aside, file, policy, lakehouse, root)
    if os.path.lexists(path) and not changed_files([file]):
        path.rename(aside)
        _settle(aside, file, policy, lakehouse, root)


def _settle(aside: Path, file: FileStat, policy: PostIngestion, lakehouse: Lakehouse, root: str) -> None:
    path = Path(file.path)
    if changed_files([replace(file, path=str(aside))]):
        _move(aside, path)
    elif policy.action == "delete":
        aside.unlink(missing_ok=True)
    else:
        try:
            _move(aside, _archived(path, policy, lakehouse, root))
        except OSError:
            _move(aside, path)
            raise


def _archived(path: Path, policy: PostIngestion, lakehouse: Lakehouse, root: str) -> Path:
    archive = Path(lakehouse.file_path(policy.archive_path or ""))
    # Files of different days often share a name, so the folders between source and file are kept.
    base = Path(fixed_prefix(root))
    kept = archive / (path.relative_to(base) if base in path.parents else path.name)
    kept.parent.mkdir(parents=True, exist_ok=True)
    return kept


def _move(source: Path, wanted: Path) -> None:
    """To the name or, where another file has it, to one beside it; nothing is overwritten, and nothing kept twice."""
    for name in _names(source, wanted):
        if _placed(source, name) or (name.is_file() and filecmp.cmp(source, name, shallow=False)):
            break
    source.unlink(missing_ok=True)


def _names(source: Path, wanted: Path) -> Iterator[Path]:
    """The name itself, the name with the time of the delivery, and one that only the same bytes can have."""
    yield wanted
    written = datetime.fromtimestamp(source.stat().st_mtime, UTC)
    ending = "".join(wanted.suffixes)
    dated = f"{wanted.name.removesuffix(ending)}.{written:%Y%m%dT%H%M%SZ}"
    yield wanted.with_name(dated + ending)
    with source.open("rb") as content:
        yield wanted.with_name(f"{dated}-{hashlib.file_digest(content, 'sha256').hexdigest()}{ending}")


def _placed(source: Path, name: Path) -> bool:
    """Whether the file stands under the name now, as a whole or not at all; False where the name is taken."""
    if os.path.lexists(name):
        return False
    if source.parent != name.parent and (source.is_symlink() or source.stat().st_dev != name.parent.stat().st_dev):
        # Beside its place first, under a name that is no data: a copy takes a while, and may not come to its end.
        draft = name.with_name(f".{name.name}{HALF_COPIED}")
        try:
            shutil.copy2(source, draft)
            return _placed(draft, name)
        finally:
            draft.unlink(missing_ok=True)
    try:
        os.link(source, name, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        source.rename(name)
    return True
