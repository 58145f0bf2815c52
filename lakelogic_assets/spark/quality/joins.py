"""Rules that look into another dataset, answered by a join instead of a subquery per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.rules import RowRule
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.transformations.values import kind_of, matched

Reference = Callable[[RowRule], DataFrame]


def answer_joins(frame: DataFrame, rules: Sequence[RowRule], reference: Reference) -> tuple[DataFrame, dict[str, str]]:
    """The frame with a flag column for every rule that needs a join, and rule → flag column."""
    flags: dict[str, str] = {}
    for index, rule in enumerate(rules):
        test = rule.test
        if isinstance(test, forms.ReferentialIntegrity) or (
            isinstance(test, forms.LifecycleWindow) and not test.window
        ):
            flags[rule.name] = f"{HIDDEN_PREFIX}found_{rule.phase}_{index}"
            other = reference(rule)
            if isinstance(test, forms.ReferentialIntegrity):
                frame = _with_existence(frame, test, other, flags[rule.name])
            else:
                frame = _with_lifetime(frame, test, other, flags[rule.name])
    return frame, flags


def _with_existence(frame: DataFrame, test: forms.ReferentialIntegrity, other: DataFrame, flag: str) -> DataFrame:
    value, key = _sides(frame, test.field, other, test.key_column)
    keys = other.select(key.alias(f"{flag}_key")).where(F.col(f"{flag}_key").isNotNull()).distinct()
    keys = keys.withColumn(flag, F.lit(True))
    joined = frame.join(keys, value == F.col(f"{flag}_key"), "left")
    # A key that is NULL has no answer, so the rule's own `on_null` decides.
    found = F.when(column(test.field).isNotNull(), F.coalesce(F.col(flag), F.lit(False)))
    return joined.drop(f"{flag}_key").withColumn(flag, found)


def _with_lifetime(frame: DataFrame, test: forms.LifecycleWindow, other: DataFrame, flag: str) -> DataFrame:
    """An event inside one of the lifetimes of its key; several lifetimes never multiply rows."""
    event_key, event_ts, reference_key = test.event_key or "", test.event_ts or "", test.reference_key or ""
    start = column(test.start_field).try_cast("timestamp")
    end = F.lit(test.end_default).try_cast("timestamp")
    if "end_field" in test.model_fields_set or find_column(other, test.end_field):
        end = F.coalesce(column(test.end_field).try_cast("timestamp"), end)
    value, key = _sides(frame, event_key, other, reference_key)
    lives = (
        other.groupBy(key.alias(f"{flag}_key"))
        .agg(F.collect_list(F.struct(start.alias("start"), end.alias("end"))).alias(f"{flag}_lives"))
        .where(F.col(f"{flag}_key").isNotNull())
    )
    joined = frame.join(lives, value == F.col(f"{flag}_key"), "left")
    moment = column(event_ts).try_cast("timestamp")

    def covers(life: Column) -> Column:
        return (moment >= life["start"]) & (moment <= life["end"])

    known = column(event_key).isNotNull() & moment.isNotNull()
    alive = F.when(known, F.coalesce(F.exists(F.col(f"{flag}_lives"), covers), F.lit(False)))
    return joined.withColumn(flag, alive).drop(f"{flag}_key", f"{flag}_lives")


def _sides(frame: DataFrame, name: str, other: DataFrame, key: str) -> tuple[Column, Column]:
    """The row's value and the key it must meet, so that a word beside numbers is a row's fault and not the run's."""
    own, there = find_column(frame, name), find_column(other, key)
    if own is None or there is None:
        return column(name), column(key)
    return matched(column(own), kind_of(frame, own), column(there), kind_of(other, there))
