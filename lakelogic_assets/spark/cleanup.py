"""After rows are safely in their table: what happens to the files they came from."""

from __future__ import annotations

import shutil
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import PostIngestion
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.boundaries import note_in_manifest
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.tables import fixed_prefix, is_uri


def clean_up(contract: Contract, read: SourceRead, scope: Scope) -> None:
    """Note, retain, delete or archive; a failure is a warning unless the contract calls it blocking."""
    source = contract.source
    if source is not None and source.watermark_strategy == "manifest" and source.manifest_path:
        note_in_manifest(scope, source.manifest_path, [file.path for file in read.snapshot.files])
    policy = (contract.source.post_ingestion if contract.source else None) or contract.server.post_ingestion
    if policy is None or policy.action == "retain":
        return
    for file in read.snapshot.files:
        if is_uri(file.path):
            scope.warn(f"`post_ingestion.action: {policy.action}` is for files of a disk; {file.path} is retained.")
            continue
        try:
            _handle(Path(file.path), policy, scope, read.snapshot.description)
        except OSError as error:
            message = (
                f"{file.path} could not be {'deleted' if policy.action == 'delete' else 'archived'}: {error.strerror}."
            )
            if policy.cleanup_is_blocking:
                raise EngineError(message) from error
            scope.warn(message)


def _handle(path: Path, policy: PostIngestion, scope: Scope, root: str) -> None:
    if policy.action == "delete":
        path.unlink(missing_ok=True)
        return
    archive = Path(scope.lakehouse.file_path(policy.archive_path or ""))
    # Files of different days often share a name, so the folders between source and file are kept.
    base = Path(fixed_prefix(root))
    kept = archive / (path.relative_to(base) if base in path.parents else path.name)
    kept.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.move(str(path), str(kept))
