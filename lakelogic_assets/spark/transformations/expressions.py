"""Free SQL expressions over the rows at hand: an error in one row is a NULL in that row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.lint_sql import current_frame
from lakelogic_assets.contract.sql import SqlFacts, expression_facts, to_spark
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.expressions import ERROR_ISOLATION, guarded
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.raising import can_raise
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, types_of
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations.values import typed

_ARRIVED: Final = f"{HIDDEN_PREFIX}arrived_"
_SHOWN: Final = 80


def computed(frame: DataFrame, field: str, text: str, scope: Scope) -> DataFrame:
    """The frame with a column that an expression gives, in the place of an older one of that name."""
    held = _Typed(frame, text, scope)
    with refusing(text):
        made = held.frame.withColumn(field, safe(held.frame, text, scope))
    return held.restored(made, keep=field)


def kept(frame: DataFrame, text: str, scope: Scope) -> DataFrame:
    """The rows for which an expression is TRUE."""
    held = _Typed(frame, text, scope)
    with refusing(text):
        made = held.frame.where(safe(held.frame, text, scope))
    return held.restored(made)


def safe(frame: DataFrame, text: str, scope: Scope) -> Column:
    """The expression as a column; guarded where it could raise, left bare for the scan where it cannot."""
    spark_text = to_spark(current_frame(text))
    expression = F.expr(spark_text)
    facts = expression_facts(current_frame(text))
    if facts.has_subquery or not can_raise(spark_text, types_of(frame)):
        return expression
    isolate_errors(scope)
    return guarded(scope.spark, expression)


def isolate_errors(scope: Scope) -> None:
    """Without it a part that two expressions share is computed outside of their guards."""
    for name, value in ERROR_ISOLATION.items():
        scope.spark.conf.set(name, value)


@contextmanager
def refusing(text: str) -> Iterator[None]:
    """Says which expression names something that Spark does not find; frames are analysed as they are built."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        reason = str(error).strip().splitlines()[0][:300]
        raise EngineError(f"The expression `{shown}` cannot run: {reason}") from error


class _Typed:
    """A frame whose declared columns have their types for the length of one expression.

    Before the schema is enforced every column of a text file is text, and `amount > 10` would compare words.
    """

    def __init__(self, frame: DataFrame, text: str, scope: Scope) -> None:
        facts: SqlFacts = expression_facts(current_frame(text))
        self._changed: dict[str, str] = {}
        columns: dict[str, Column] = {}
        for index, name in enumerate(sorted(facts.columns)):
            actual = find_column(frame, name)
            if actual is None:
                continue
            value, kind = typed(frame, actual, scope)
            if kind != frame.schema[actual].dataType:
                self._changed[actual] = f"{_ARRIVED}{index}"
                columns |= {self._changed[actual]: column(actual), actual: value}
        self._order = frame.columns
        self.frame = frame.withColumns(columns) if columns else frame

    def restored(self, frame: DataFrame, keep: str | None = None) -> DataFrame:
        """The columns as they arrived, except the one that the expression made."""
        if not self._changed:
            return frame
        names = [*self._order, *[name for name in frame.columns if name not in self._order]]
        held = set(self._changed.values())
        return frame.select(
            *[
                column(self._changed[name] if name in self._changed and name != keep else name).alias(name)
                for name in names
                if name not in held
            ]
        )
