"""What the engine is measured against: the same work in PySpark as an expert would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses


def make_source(spark: SparkSession, path: Path, rows: int, *, clean: bool = False, first: int = 0) -> None:
    """Rows of 12 columns; every fiftieth breaks `status = 'ok'`, unless they are `clean`."""
    source_rows(spark, rows, clean=clean, first=first).write.mode("overwrite").parquet(str(path))


def source_rows(spark: SparkSession, rows: int, *, clean: bool = False, first: int = 0) -> DataFrame:
    status = "'ok'" if clean else "IF(id % 50 = 0, 'x', 'ok')"
    return spark.range(first, first + rows).selectExpr(
        "id",
        *[f"CAST((id * {7 + n}) % 1000 AS DOUBLE) AS d{n}" for n in range(4)],
        *[f"CAST((id * {3 + n}) % 500 AS INT) AS i{n}" for n in range(3)],
        "CONCAT('name_', id % 1000) AS s0",
        "CONCAT('u', id, '@mail.com') AS email",
        "DATE_ADD(DATE'2024-01-01', CAST(id % 365 AS INT)) AS day",
        f"{status} AS status",
        "CAST(id AS STRING) AS code",
    )


def copy_rows(spark: SparkSession, source: Path, target: Path) -> None:
    spark.read.parquet(str(source)).write.format("delta").save(str(target))


def split_by_mask(spark: SparkSession, source: Path, target: Path, rules: Mapping[str, str]) -> None:
    """A mask, a fence, two writes."""
    mask = F.lit(0).cast("bigint")
    for bit, rule in enumerate(rules.values()):
        mask = mask.bitwiseOR(F.expr(f"CASE WHEN COALESCE({rule}, FALSE) THEN 0L ELSE {1 << bit}L END"))
    rows = spark.newSession().read.parquet(str(source)).withColumn("mask", mask)
    rows = rows.observe(Observation(), F.count(F.lit(1)).alias("rows"), F.count_if(F.col("mask") != 0).alias("bad"))
    rows.where("mask = 0").drop("mask").write.format("delta").save(f"{target}/good")
    failed = [F.when(F.col("mask").bitwiseAND(F.lit(1 << bit)) != 0, F.lit(name)) for bit, name in enumerate(rules)]
    bad = rows.where("mask <> 0").withColumn("errors", F.array_compact(F.array(*failed))).drop("mask")
    bad.write.format("delta").save(f"{target}/bad")


def split_by_structs(spark: SparkSession, source: Path, target: Path, rules: Mapping[str, str]) -> None:
    """The shape of the libraries for rules: each row gets an array of what it broke, and the array decides."""
    broken = [
        F.when(
            ~F.coalesce(F.expr(rule), F.lit(False)),
            F.struct(F.lit(name).alias("name"), F.lit(rule).alias("message"), F.lit("error").alias("level")),
        )
        for name, rule in rules.items()
    ]
    rows = spark.newSession().read.parquet(str(source))
    rows = rows.withColumn("errors", F.filter(F.array(*broken), lambda found: found.isNotNull()))
    rows.where(F.size("errors") == 0).drop("errors").write.format("delta").save(f"{target}/good")
    rows.where(F.size("errors") > 0).write.format("delta").save(f"{target}/bad")


_OPEN_END = "TIMESTAMP'9999-12-31'"


def begin_history(spark: SparkSession, source: Path, target: Path) -> None:
    _versions(spark.read.parquet(str(source)), "TIMESTAMP'1900-01-01'", "1", "'initial_load'").write.format(
        "delta"
    ).save(str(target))


def merge_history(spark: SparkSession, source: Path, target: Path, tracked: Sequence[str], moment: str) -> None:
    """SCD2 in one MERGE, of rows with news alone, which one join finds.

    A changed row comes twice: once to close its version, once with a null key, which matches nothing, as the new one.
    """
    table = DeltaTable.forPath(spark, str(target))
    rows = spark.read.parquet(str(source))
    is_new = F.col("t.id").isNull()
    differ = {name: ~F.col(f"s.{name}").eqNullSafe(F.col(f"t.{name}")) for name in tracked}
    found = rows.alias("s").join(table.toDF().where("is_current").alias("t"), F.expr("s.id = t.id"), "left")
    news = found.where(is_new | reduce(Column.__or__, differ.values())).select(
        "s.*",
        F.when(is_new, F.expr("TIMESTAMP'1900-01-01'")).otherwise(F.col(f"s.{moment}")).alias("starts"),
        F.when(is_new, 1).otherwise(F.col("t._version") + 1).alias("number"),
        F.when(is_new, "initial_load")
        .otherwise(F.concat_ws(",", *[F.when(differs, name) for name, differs in differ.items()]))
        .alias("reason"),
        F.explode(F.expr("IF(t.id IS NULL, ARRAY(s.id), ARRAY(s.id, NULL))")).alias("merge_key"),
    )
    staged = _versions(news, "starts", "number", "reason")
    values: dict[str, str | Column] = {name: f"s.{name}" for name in table.toDF().columns}
    merge = table.alias("t").merge(staged.alias("s"), "t.id = s.merge_key AND t.is_current")
    merge = merge.whenMatchedUpdate(set={"is_current": F.lit(False), "effective_to": f"s.{moment}"})
    merge.whenNotMatchedInsert(values=values).execute()


def _versions(rows: DataFrame, start: str, number: str, reason: str) -> DataFrame:
    """Rows as the current versions of their keys."""
    return rows.withColumns(
        {
            "_sk": F.expr(f"SUBSTRING(SHA2(CONCAT_WS('|', id, {start}), 256), 1, 16)"),
            "effective_from": F.expr(start),
            "effective_to": F.expr(_OPEN_END),
            "is_current": F.lit(True),
            "_version": F.expr(number).cast("bigint"),
            "_change_reason": F.expr(reason),
        }
    )


def copy_and_count(
    spark: SparkSession, source: Path, target: Path, unique: Sequence[str], nulls: Sequence[str]
) -> None:
    """A copy, and all questions to it in one aggregation."""
    copy_rows(spark, source, target)
    table = spark.read.format("delta").load(str(target))
    table.agg(
        F.count(F.lit(1)).alias("rows"),
        *[(F.count(F.lit(1)) - F.count_distinct(name)).alias(f"{name}_repeated") for name in unique],
        *[F.count_if(F.col(name).isNull()).alias(f"{name}_null") for name in nulls],
    ).collect()
