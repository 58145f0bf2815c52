"""Logs that get a row at a time: their many small files become one, so that reading them does not grow slow."""

from __future__ import annotations

import logging
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

log = logging.getLogger(__name__)

_MANY_FILES: Final = 64


def keep_few_files(path: str) -> bool:
    """Put small files together once they are many; gives whether it did. The caller holds the table's lock."""
    table = DeltaTable(path)
    if len(table.file_uris()) <= _MANY_FILES:
        return False
    try:
        table.optimize.compact()
        table.create_checkpoint()
    except (OSError, DeltaError):  # the row itself is safe, and the next one tries again
        log.debug("%s could not be put together", path, exc_info=True)
        return False
    return True
