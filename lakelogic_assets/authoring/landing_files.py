"""Rows → the bytes of a file, the same bytes for the same rows."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

import pyarrow as pa
from pyarrow import parquet

from lakelogic_assets.authoring.synthetic.rows import Row
from lakelogic_assets.authoring.synthetic.strategies import ColumnPlan
from lakelogic_assets.authoring.synthetic.values import as_text

Format = Literal["csv", "json", "jsonl", "parquet"]
EXACT_DIGITS: Final = 15
"""A decimal number with more digits changes its value when a program reads it as a float."""

_ARROW: Final = {
    "STRING": pa.string(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "BINARY": pa.binary(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"),
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_ESCAPED: Final = {"\\t": "\t", "\\u0001": "\x01", "\\x01": "\x01"}


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a source wants its files: the format and the reader options that writing must match."""

    format: Format
    options: Mapping[str, str]
    compressed: bool = False

    @property
    def is_typed(self) -> bool:
        """Whether a column can hold values of its type alone."""
        return self.format == "parquet"

    def option(self, *names: str) -> str | None:
        folded = {key.casefold(): value for key, value in self.options.items()}
        return next((folded[name] for name in names if name in folded), None)

    def render(self, columns: Sequence[ColumnPlan], rows: Sequence[Row]) -> bytes:
        """The content of a file."""
        content = (
            _parquet(columns, rows) if self.format == "parquet" else self._text(columns, rows).encode(self._charset)
        )
        # Without a time in its header the same content is the same file.
        return gzip.compress(content, mtime=0) if self.compressed else content

    def _text(self, columns: Sequence[ColumnPlan], rows: Sequence[Row]) -> str:
        if self.format == "csv":
            return _csv(columns, rows, self)
        return _json(rows, self) if self.format == "json" else _json_lines(rows)

    @property
    def _charset(self) -> str:
        return self.option("encoding", "charset") or "utf-8"


def _csv(columns: Sequence[ColumnPlan], rows: Sequence[Row], form: FileForm) -> str:
    said = form.option("sep", "delimiter") or ","
    quote = form.option("quote") or '"'
    escape = form.option("escape") or quote
    target = io.StringIO(newline="")
    writer = csv.writer(
        target,
        delimiter=_ESCAPED.get(said, said),
        quotechar=quote,
        doublequote=escape == quote,
        escapechar=None if escape == quote else escape,
        lineterminator="\n",
    )
    if (form.option("header") or "true").casefold() != "false":
        writer.writerow([column.name for column in columns])
    writer.writerows([[_cell(row[column.name]) for column in columns] for row in rows])
    return target.getvalue()


def _cell(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _json(rows: Sequence[Row], form: FileForm) -> str:
    """One array over many lines, unless the reader is told to expect an object a line."""
    if (form.option("multiline") or "true").casefold() == "false":
        return _json_lines(rows)
    return "[\n" + ",\n".join(_object(row) for row in rows) + "\n]\n"


def _json_lines(rows: Sequence[Row]) -> str:
    return "".join(_object(row) + "\n" for row in rows)


def _object(row: Row) -> str:
    return json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= EXACT_DIGITS else str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return as_text(value) if isinstance(value, date) else value


def _parquet(columns: Sequence[ColumnPlan], rows: Sequence[Row]) -> bytes:
    schema = pa.schema([(column.name, _arrow_type(column.type)) for column in columns])
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    target = io.BytesIO()
    parquet.write_table(table, target, compression="snappy")
    return target.getvalue()


def _arrow_type(spark_type: str) -> Any:
    """The type of a column; what has no plain counterpart is never filled, so any type holds it."""
    if decimal := _DECIMAL.fullmatch(spark_type):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if spark_type.startswith("ARRAY<"):
        return pa.list_(_arrow_type(spark_type.removeprefix("ARRAY<").removesuffix(">")))
    return _ARROW.get(spark_type, pa.string())
