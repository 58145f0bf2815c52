"""What is in a contract's quarantine, read from Delta without Spark: how many rows, for which reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from deltalake import DeltaTable, QueryBuilder

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
    table = DeltaTable(path)
    if names.ERRORS_COLUMN in (field.name for field in table.schema().fields):
        reasons = _own(table, contract, names.ERRORS_COLUMN).column(names.ERRORS_COLUMN)
        counted = pc.value_counts(pc.list_flatten(reasons)).to_pylist()
        found = {each["values"]: each["counts"] for each in counted}
        count, unexplained = len(reasons), reasons.null_count
    else:
        found, count = {}, _own(table, contract, names.QUARANTINE_CONTRACT_COLUMN).num_rows
        unexplained = count
    if unexplained:
        found[REASONS_NOT_KEPT] = unexplained
    worst = dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
    return Quarantined(path, count, worst, tuple(_own(table, contract, limit=rows).to_pylist()) if rows else ())


def _own(table: DeltaTable, contract: str, column: str | None = None, limit: int | None = None) -> pa.Table:
    """A column of the rows that are the contract's, or all of their columns."""
    if table.protocol().min_reader_version == 1:
        dataset, own = table.to_pyarrow_dataset(), pads.field(names.QUARANTINE_CONTRACT_COLUMN) == contract
        columns = [column] if column else None
        return dataset.to_table(columns, filter=own) if limit is None else dataset.head(limit, columns, filter=own)
    # With column mapping the files have names of their own, under which Arrow alone would look for nothing.
    wanted = f'"{column}"' if column else "*"
    key = contract.replace("'", "''")
    asked = f"SELECT {wanted} FROM rows WHERE \"{names.QUARANTINE_CONTRACT_COLUMN}\" = '{key}'"  # noqa: S608 - quoted
    some = "" if limit is None else f" LIMIT {limit:d}"
    return pa.table(QueryBuilder().register("rows", table).execute(asked + some).read_all())
