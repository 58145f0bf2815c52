"""Rows from some moment on, as a test of columns on the way in and as text for what a write replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.spark.identifiers import column, find_name, quoted, text_literal

_ARROW = {
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
}


@dataclass(frozen=True)
class Since:
    """Where a column lies after a value; `back` seconds before it, where a run looks back."""

    column: str
    value: Any
    back: float | None = None
    includes: bool = True
    """Whether the value itself counts."""

    def test(self) -> Column:
        here = column(self.column)
        if self.back is not None:
            first = F.lit(self.value).try_cast("timestamp") - F.make_interval(secs=F.lit(self.back))
            return here.try_cast("timestamp") >= first
        return here >= F.lit(self.value) if self.includes else here > F.lit(self.value)

    def sql(self, types: Mapping[str, str]) -> str | None:
        """The same for a table with these columns; None where it has no such column to compare."""
        found = find_name(types, self.column)
        if found is None or "<" in types[found]:
            return None
        value = text_literal(self._text(types[found]))
        if self.back is not None:
            first = f"TRY_CAST({value} AS TIMESTAMP) - INTERVAL '{self.back:.6f}' SECOND"
            return f"TRY_CAST({quoted(found)} AS TIMESTAMP) >= {first}"
        return f"{quoted(found)} {'>=' if self.includes else '>'} TRY_CAST({value} AS {types[found].upper()})"

    def filter(self, types: Mapping[str, str]) -> pads.Expression | None:
        """The same for a reader without Spark; None where it cannot be said there."""
        found = find_name(types, self.column)
        if found is None or types[found] not in _ARROW:
            return None
        value = self.value
        if self.back is not None:
            if types[found] != "timestamp" or not isinstance(value, datetime):
                return None
            value = value - timedelta(seconds=self.back)
        try:
            bound = pa.scalar(value.astimezone(UTC) if isinstance(value, datetime) else value, _ARROW[types[found]])
        except (pa.ArrowException, TypeError):
            return None
        here = pads.field(found)
        return here >= bound if self.includes or self.back is not None else here > bound

    def _text(self, kind: str) -> str:
        if not isinstance(self.value, datetime):
            return str(self.value)
        # Spark hands out moments by the clock of this machine, and moments without a zone as they are.
        moment = self.value if kind == "timestamp_ntz" else self.value.astimezone(UTC)
        return moment.isoformat(sep=" ")
