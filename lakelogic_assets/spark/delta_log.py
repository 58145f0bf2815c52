"""Facts from a Delta table's log, read without a Spark job."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

from deltalake import DeltaTable

RESET_MARK: Final = "lakelogic_reset"
"""The key in the metadata of a commit that emptied the table on purpose."""


def is_table(path: str) -> bool:
    """Whether something was ever committed there; a log folder alone is what a run that died leaves."""
    if "://" in path:
        return DeltaTable.is_deltatable(path)
    log = Path(path) / "_delta_log"
    return log.is_dir() and any(file.suffix in (".json", ".parquet") for file in log.iterdir())


def version(path: str) -> int | None:
    return DeltaTable(path).version() if is_table(path) else None


def table_id(path: str) -> str | None:
    """What a table keeps as long as it lives; None where there is none."""
    return str(DeltaTable(path).metadata().id) if is_table(path) else None


def known_rows(table: DeltaTable) -> int | None:
    """How many rows a table's log says it has; None where files have no statistics or rows were deleted in place."""
    if "deletionVectors" in (table.protocol().reader_features or ()):
        return None
    actions = table.get_add_actions(flatten=True)
    if "num_records" not in actions.schema.names:
        return None if actions.num_rows else 0
    counts = [*actions.column("num_records").to_pylist()]
    return None if None in counts else sum(counts)


def transaction_version(path: str, app_id: str) -> int | None:
    """The last generation that an application committed to a table; None when it never did."""
    return DeltaTable(path).transaction_version(app_id) if is_table(path) else None


def commits(path: str, limit: int | None = None) -> list[dict[str, Any]]:
    """The table's commits, newest first, each with its `metadata` of ours where it has any."""
    if not is_table(path):
        return []
    history = DeltaTable(path).history(limit)
    return [{**commit, "metadata": metadata_of(commit.get("userMetadata"))} for commit in history]


def stands(path: str, app_id: str) -> bool:
    """Whether what an application committed is still in the table: no reset and no restore has undone it since."""
    if transaction_version(path, app_id) is None:
        return False
    newest = math.inf
    for commit in commits(path):
        if commit["version"] > newest:
            continue
        if (commit["metadata"] or {}).get("app") == app_id:
            return True
        back = (commit.get("operationParameters") or {}).get("version")
        if commit.get("operation") == "RESTORE" and back is not None:
            newest = min(newest, int(back))
        elif RESET_MARK in (commit.get("userMetadata") or ""):
            return False
    return math.isinf(newest)


def metadata_of(text: str | None) -> dict[str, Any] | None:
    """What this engine wrote into a commit; None where somebody else made it."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "lakelogic" in found else None
