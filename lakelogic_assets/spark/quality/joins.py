"""Rules that look into another dataset, answered by a join instead of a subquery per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.rules import RowRule
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.schema import HIDDEN_PREFIX

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
    keys = other.select(column(test.key_column).alias(f"{flag}_key")).where(F.col(f"{flag}_key").isNotNull()).distinct()
    keys = keys.withColumn(flag, F.lit(True))
    joined = frame.join(keys, column(test.field) == F.col(f"{flag}_key"), "left")
    # A key that is NULL has no answer, so the rule's own `on_null` decides.
    found = F.when(column(test.field).isNotNull(), F.coalesce(F.col(flag), F.lit(False)))
    return joined.drop(f"{flag}_key").withColumn(flag, found)


def _with_lifetime(frame: DataFrame, test: forms.LifecycleWindow, other: DataFrame, flag: str) -> DataFrame:
    """An event inside one of the lifetimes of its key; several lifetimes never multiply rows."""
    event_key, event_ts, reference_key = test.event_key or "", test.event_ts or "", test.reference_key or ""
    start = column(test.start_field).try_cast("timestamp")
    end = F.coalesce(column(test.end_field).try_cast("timestamp"), F.lit(test.end_default).cast("timestamp"))
    lives = (
        other.groupBy(column(reference_key).alias(f"{flag}_key"))
        .agg(F.collect_list(F.struct(start.alias("start"), end.alias("end"))).alias(f"{flag}_lives"))
        .where(F.col(f"{flag}_key").isNotNull())
    )
    joined = frame.join(lives, column(event_key) == F.col(f"{flag}_key"), "left")
    moment = column(event_ts).try_cast("timestamp")

    def covers(life: Column) -> Column:
        return (moment >= life["start"]) & (moment <= life["end"])

    known = column(event_key).isNotNull() & moment.isNotNull()
    alive = F.when(known, F.coalesce(F.exists(F.col(f"{flag}_lives"), covers), F.lit(False)))
    return joined.withColumn(flag, alive).drop(f"{flag}_key", f"{flag}_lives")
