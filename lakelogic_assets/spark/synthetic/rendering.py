"""Rows → the columns of a file: typed ones, texts, or one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any, Final

from lakelogic_assets.plan.synthetic import ColumnPlan, as_text
from lakelogic_assets.spark.identifiers import quoted, text_literal
from lakelogic_assets.spark.synthetic.forms import DAYS, SECONDS, UNITS, Made, literal
from lakelogic_assets.spark.synthetic.frame import LENGTH, OFFSET, Rows

_NO_VALUE: Final = "cast(null as string)"
_KEPT: Final = {UNITS: ("DECIMAL", "DOUBLE", "FLOAT"), SECONDS: ("TIMESTAMP",), DAYS: ("DATE",)}
"""Forms that say as text what a column of these types would say."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Columns of their own types, for Parquet."""

    spark_type: str

    def of_value(self, value: Any) -> str:
        return literal(value, self.spark_type)

    def of_made(self, made: Made, spark_type: str) -> str:
        return made.typed(spark_type)


class Texts:
    """Everything as text, for CSV; where a number belongs may stand anything."""

    def of_value(self, value: Any) -> str:
        return _NO_VALUE if value is None else text_literal(as_text(value))

    def of_made(self, made: Made, spark_type: str) -> str:
        if spark_type == "STRING" or _says_the_same(made, spark_type):
            return made.text()
        return Made(made.typed(spark_type), spark_type).text()


class Bare(Texts):
    """What JSON has without quotes, unless something else stands there."""

    def of_value(self, value: Any) -> str:
        plain = float(value) if isinstance(value, Decimal) else value
        return text_literal(json.dumps(plain, ensure_ascii=False, default=as_text))

    def of_made(self, made: Made, spark_type: str) -> str:
        return f"coalesce({super().of_made(made, spark_type)}, 'null')"


def typed_columns(rows: Rows) -> list[str]:
    return [_aliased(rows, column, Typed(column.type)) for column in rows.batch.feed.columns]


def text_columns(rows: Rows) -> list[str]:
    return [_aliased(rows, column, Texts()) for column in rows.batch.feed.columns]


def json_line(rows: Rows) -> str:
    """A row as one object; keys stand in the order of the contract and none is left out."""
    runs = [(bare, list(columns)) for bare, columns in groupby(rows.batch.feed.columns, _is_bare)]
    parts = [part for bare, columns in runs for part in (_bare(rows, columns) if bare else [_in_quotes(rows, columns)])]
    listed = ", ',', ".join(parts)
    return f"concat('{{', {listed}, '}}')"


def json_array_line(rows: Rows) -> str:
    """A row as one element of the array that its file is."""
    begin = f"if({OFFSET} = 0, '[\\n', '')"
    return f"concat({begin}, {json_line(rows)}, if({OFFSET} = {LENGTH} - 1, '\\n]', ','))"


def _aliased(rows: Rows, column: ColumnPlan, form: Typed | Texts) -> str:
    return f"{rows.told(column, form.of_made(rows.made(column), column.type), form)} as {quoted(column.name)}"


def _says_the_same(made: Made, spark_type: str) -> bool:
    return spark_type.startswith(_KEPT.get(made.form, (made.form,)))


def _is_bare(column: ColumnPlan) -> bool:
    return Made("", column.type).is_bare_in_json


def _bare(rows: Rows, columns: Sequence[ColumnPlan]) -> list[str]:
    form = Bare()
    values = [(each.name, rows.told(each, form.of_made(rows.made(each), each.type), form)) for each in columns]
    return [f"concat({text_literal(json.dumps(name, ensure_ascii=False) + ':')}, {value})" for name, value in values]


def _in_quotes(rows: Rows, columns: Sequence[ColumnPlan]) -> str:
    form = Texts()
    values = [(each.name, rows.told(each, form.of_made(rows.made(each), each.type), form)) for each in columns]
    pairs = ", ".join(f"{text_literal(name)}, {value}" for name, value in values)
    # Every value in it is a text or null, so the braces at its ends are the object's own.
    return f"trim(both '{{}}' from to_json(named_struct({pairs}), map('ignoreNullFields', 'false')))"
