"""After rows are safely in their table: what happens to the files they came from."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import PostIngestion
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.boundaries import note_in_manifest
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.listing import changed_files
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
    files, source = _unchanged(files), contract.source
    if source is not None and source.watermark_strategy == "manifest" and source.manifest_path:
        note_in_manifest(lakehouse, source.manifest_path, [file.path for file in files])
    policy = after_reading(contract, contract.source)
    if policy is None or policy.action == "retain":
        return
    for file in files:
        if is_uri(file.path):
            warn(f"`post_ingestion.action: {policy.action}` is for files of a disk; {file.path} is retained.")
            continue
        if not lakehouse.holds(file.path):
            warn(f"{file.path} is outside of the project's roots, so it is retained.")
            continue
        try:
            _handle(Path(file.path), policy, lakehouse, root)
        except OSError as error:
            message = (
                f"{file.path} could not be {'deleted' if policy.action == 'delete' else 'archived'}: {error.strerror}."
            )
            if policy.cleanup_is_blocking:
                raise EngineError(message) from error
            warn(message)


def _unchanged(files: Iterable[FileStat]) -> tuple[FileStat, ...]:
    return tuple(file for file in files if not Path(file.path).exists() or not changed_files([file]))


def _handle(path: Path, policy: PostIngestion, lakehouse: Lakehouse, root: str) -> None:
    if policy.action == "delete":
        path.unlink(missing_ok=True)
        return
    archive = Path(lakehouse.file_path(policy.archive_path or ""))
    # Files of different days often share a name, so the folders between source and file are kept.
    base = Path(fixed_prefix(root))
    kept = archive / (path.relative_to(base) if base in path.parents else path.name)
    kept.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.move(str(path), str(kept))
