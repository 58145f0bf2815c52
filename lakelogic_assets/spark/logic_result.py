"""Whatever external logic returns becomes a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.external_logic import ExternalLogic
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.schema import data_type
from lakelogic_assets.spark.scope import Scope

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".orc": "orc"}
# Arrow's wide and view types hold the same values in another layout, which Spark does not read.
_PLAIN = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.null(): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def as_frame(result: Any, rows: DataFrame, scope: Scope, said: ExternalLogic, what: str) -> DataFrame:
    """A frame of Spark, pandas, polars or Arrow, a list of dictionaries, a path, or a tuple that begins with one.

    None means the rows as they were; where the file says that it wrote the output itself, that is read.
    """
    if isinstance(result, tuple) and result:
        result = result[0]
    if result is None:
        return _read(said.output_path, scope, said, what) if said.handles_output and said.output_path else rows
    if isinstance(result, DataFrame):
        return result
    if isinstance(result, str | Path):
        return _read(result, scope, said, what)
    if isinstance(result, list):
        return _from_dictionaries(result, rows, scope, what)
    table = _arrow(result)
    if table is None:
        raise EngineError(f"{what} returned a {type(result).__name__}, which is neither a frame nor a path.")
    return scope.spark.createDataFrame(_plain(table))


def _arrow(result: Any) -> pa.Table | None:
    """The result as an Arrow table; a library is recognised by its name, since it need not be installed."""
    if isinstance(result, pa.Table):
        return result
    if isinstance(result, pa.RecordBatch):
        return pa.Table.from_batches([result])
    library = type(result).__module__.split(".")[0]
    if library == "pandas" and hasattr(result, "columns"):
        return pa.Table.from_pandas(result, preserve_index=False)
    if library == "polars":
        collected = result.collect() if hasattr(result, "collect") else result
        return collected.to_arrow() if hasattr(collected, "to_arrow") else None
    return None


def _plain(table: pa.Table) -> pa.Table:
    fields = []
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        fields.append(pa.field(field.name, _PLAIN.get(kind, kind)))
    return table.cast(pa.schema(fields))


def _from_dictionaries(rows: Sequence[Any], input_rows: DataFrame, scope: Scope, what: str) -> DataFrame:
    if not all(isinstance(row, Mapping) for row in rows):
        raise EngineError(f"{what} returned a list of something else than dictionaries.")
    if not rows:
        return _empty(input_rows, scope)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return scope.spark.createDataFrame(
        _plain(pa.table({name: _column([row.get(name) for row in rows]) for name in names}))
    )


def _column(values: list[Any]) -> pa.Array:
    """One type for all values; text where they have none in common, which the declared type judges later."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _empty(input_rows: DataFrame, scope: Scope) -> DataFrame:
    """No rows, of the declared shape."""
    fields = scope.contract.model.fields
    if not fields:
        return input_rows.limit(0)
    return scope.spark.createDataFrame(
        [], T.StructType([T.StructField(f.name, data_type(f.spark_type)) for f in fields])
    )


def _read(place: str | Path, scope: Scope, said: ExternalLogic, what: str) -> DataFrame:
    """What the file wrote, read by its declared format, else by what it looks like."""
    path = scope.lakehouse.file_path(str(place))
    local = Path(path)
    if "://" not in path and not local.exists():
        raise EngineError(f"{what} returned {str(place)!r}, where nothing is.")
    if said.output_format:
        chosen = said.output_format.lower()
    elif (local / "_delta_log").is_dir():
        chosen = "delta"
    else:
        chosen = FORMATS.get(local.suffix.lower(), "parquet")
    reader = scope.spark.read.format("json" if chosen in ("jsonl", "ndjson") else chosen)
    return reader.option("header", "true").load(path) if chosen == "csv" else reader.load(path)
