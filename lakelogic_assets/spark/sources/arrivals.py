"""Files that have arrived since a look before, and the time they are about; nothing is read and no Spark is needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.sources.layout import DateLayout
from lakelogic_assets.spark.sources.selection import landed_files
from lakelogic_assets.spark.tables import Lakehouse, fixed_prefix, is_uri


@dataclass(frozen=True, slots=True)
class Arrival:
    path: str
    mtime: float
    span: tuple[datetime, datetime] | None = None
    """The time its folder stands for, where the source's layout has dates."""


def arrivals(contract: Contract, lakehouse: Lakehouse, since: float | None = None) -> tuple[Arrival, ...]:
    """Files of the contract's source changed after `since`, the oldest first; those of object stores are not listed."""
    source = contract.source
    if source is None or source.table is not None or not source.path:
        return ()
    place = lakehouse.source_path(source.path)
    if is_uri(place):
        return ()
    layout = DateLayout(source.partition.format) if source.partition else None
    root = fixed_prefix(place).rstrip("/") + "/"
    found = [
        Arrival(file.path, file.mtime, layout.span(file.path.removeprefix(root)) if layout else None)
        for file in landed_files(source, place, lakehouse)
        if since is None or file.mtime > since
    ]
    return tuple(sorted(found, key=lambda arrival: (arrival.mtime, arrival.path)))
