"""What the engine is measured against: the same work in PySpark as an expert would write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses


def make_source(spark: SparkSession, path: Path, rows: int, *, clean: bool = False) -> None:
    """Rows of 12 columns; every fiftieth breaks `status = 'ok'`, unless they are `clean`."""
    status = "'ok'" if clean else "IF(id % 50 = 0, 'x', 'ok')"
    spark.range(rows).selectExpr(
        "id",
        *[f"CAST((id * {7 + n}) % 1000 AS DOUBLE) AS d{n}" for n in range(4)],
        *[f"CAST((id * {3 + n}) % 500 AS INT) AS i{n}" for n in range(3)],
        "CONCAT('name_', id % 1000) AS s0",
        "CONCAT('u', id, '@mail.com') AS email",
        "DATE_ADD(DATE'2024-01-01', CAST(id % 365 AS INT)) AS day",
        f"{status} AS status",
        "CAST(id AS STRING) AS code",
    ).write.parquet(str(path))


def copy_rows(spark: SparkSession, source: Path, target: Path) -> None:
    spark.read.parquet(str(source)).write.format("delta").save(str(target))


def split_by_hand(spark: SparkSession, source: Path, target: Path, rules: Mapping[str, str]) -> None:
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
