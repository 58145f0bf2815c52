"""The rows of a run log, the newest first, and no more of their wide columns than somebody asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable

SEQUENCE: Final = "_lakelogic_sequence"
"""The column by which the log itself says which of its rows came later: a clock may go back, its versions never do."""
TIMESTAMP: Final = "timestamp"
_FIRST_SLICE: Final = 64
"""So many rows at first and then twice as many each time: mostly the newest few tell all."""


def dataset_of(table: DeltaTable, path: str) -> pads.Dataset:
    files = [unquote(uri) for uri in table.file_uris()]
    if not files or "://" in path or table.protocol().reader_features or table.metadata().partition_columns:
        return table.to_pyarrow_dataset()
    form = pads.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    return pads.dataset(files, format=form, schema=pa.schema(table.schema().to_arrow()))


class LogRows:
    """Rows of a log as it is now, in the order in which they were logged, whatever the clocks of their runs said.

    Those that were logged before the log counted them are the oldest, in the order of their times.
    """

    def __init__(self, path: str, chosen: pads.Expression | None) -> None:
        table = DeltaTable(path)
        self.log_id = str(table.metadata().id)
        self._dataset = dataset_of(table, path)
        self._chosen = chosen
        counted = [SEQUENCE] if SEQUENCE in self._dataset.schema.names else []
        self._order = [(name, "descending") for name in (*counted, TIMESTAMP)]

    @cached_property
    def runs(self) -> list[tuple[str, str]]:
        """The id of each run, and how it ended."""
        return [*zip(self._known["run_id"].to_pylist(), self._known["status"].to_pylist(), strict=True)]

    def newest(self, columns: Sequence[str], count: int | None = None) -> Iterator[pa.Table]:
        """So many of the newest rows, or all of them, slice by slice."""
        many = self._known.num_rows if count is None else min(count, self._known.num_rows)
        first, size = 0, _FIRST_SLICE
        while first < many:
            after, chosen = self._slice(first, size)
            yield self._read(columns, chosen).slice(0, many - first)
            first, size = after, size * 2

    @cached_property
    def _known(self) -> pa.Table:
        return self._read(["run_id", "status", *(name for name, _ in self._order)], self._chosen)

    @cached_property
    def _sequences(self) -> list[int | None]:
        is_counted = SEQUENCE in self._known.schema.names
        return self._known[SEQUENCE].to_pylist() if is_counted else [None] * self._known.num_rows

    def _slice(self, first: int, size: int) -> tuple[int, pads.Expression | None]:
        """Where the next slice begins, and what chooses this one: never a part of those with one number."""
        numbers, newest = self._sequences, self._sequences[first]
        after = min(first + size, len(numbers))
        if newest is None:
            within = pads.field(SEQUENCE).is_null() if first else None
            after = len(numbers)
        else:
            while after < len(numbers) and numbers[after] == numbers[after - 1]:
                after += 1
            if numbers[after - 1] is None:
                after = numbers.index(None)
            within = (pads.field(SEQUENCE) <= newest) & (pads.field(SEQUENCE) >= numbers[after - 1])
        if within is None or self._chosen is None:
            return after, self._chosen if within is None else within
        return after, self._chosen & within

    def _read(self, columns: Sequence[str], chosen: pads.Expression | None) -> pa.Table:
        asked = [*dict.fromkeys((*columns, *(name for name, _ in self._order)))]
        return self._dataset.to_table(columns=asked, filter=chosen).sort_by(self._order).select([*columns])
