"""What is in a contract's quarantine, read from Delta without Spark: how many rows, for which reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as pads
from deltalake import DeltaTable

from lakelogic_assets import names
from lakelogic_assets.spark import delta_log

REASONS_NOT_KEPT = "(reasons are not kept)"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A row with two reasons counts once in `count` and under both of them in `by_rule`."""

    path: str
    count: int = 0
    by_rule: dict[str, int] = field(default_factory=dict)
    rows: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def quarantined(path: str, contract: str, *, rows: int = 0) -> Quarantined:
    """The rows that `contract` (`domain/table`) left at `path`; `rows` of them are shown, masked as they are stored."""
    if not delta_log.is_table(path):
        return Quarantined(path)
    dataset = DeltaTable(path).to_pyarrow_dataset()
    own = pads.field(names.QUARANTINE_CONTRACT_COLUMN) == contract
    if names.ERRORS_COLUMN in dataset.schema.names:
        reasons = dataset.to_table(columns=[names.ERRORS_COLUMN], filter=own).column(names.ERRORS_COLUMN)
        counted = pc.value_counts(pc.list_flatten(reasons)).to_pylist()
        found = {each["values"]: each["counts"] for each in counted}
        count, unexplained = len(reasons), reasons.null_count
    else:
        found, count = {}, dataset.count_rows(filter=own)
        unexplained = count
    if unexplained:
        found[REASONS_NOT_KEPT] = unexplained
    worst = dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
    return Quarantined(path, count, worst, tuple(dataset.head(rows, filter=own).to_pylist()) if rows else ())
