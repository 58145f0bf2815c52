"""A Delta write whose commit is kept back."""

import json
from pathlib import Path

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.held_write import hold

OPTIONS = {"txnAppId": "a|2026-02-03", "txnVersion": "1"}


def test_nothing_is_visible_until_the_commit_and_everything_after(spark: SparkSession, tmp_path: Path) -> None:
    path, observation = str(tmp_path / "t"), Observation()
    rows = spark.range(10).observe(observation, F.count(F.lit(1)).alias("n"))
    held = hold(rows, path, mode="Append", options=OPTIONS)
    assert observation.get["n"] == 10
    assert delta_log.commits(path) == []
    assert held.commit(json.dumps({"lakelogic": 1, "run_id": "r1"})) == 0
    assert spark.read.format("delta").load(path).count() == 10
    assert delta_log.commits(path)[0]["metadata"] == {"lakelogic": 1, "run_id": "r1"}
    assert delta_log.transaction_version(path, "a|2026-02-03") == 1


def test_a_discarded_write_leaves_neither_rows_nor_files(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    hold(spark.range(3), path, mode="Append", options={}).commit("{}")
    held = hold(spark.range(5), path, mode="Append", options=OPTIONS)
    files = held.files()
    assert files
    assert all(Path(file).exists() for file in files)
    held.discard()
    assert not any(Path(file).exists() for file in files)
    assert spark.read.format("delta").load(path).count() == 3


def test_one_window_of_a_table_is_replaced_and_the_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id int, w string")
    hold(rows, path, mode="Append", options=OPTIONS).commit("{}")
    again = spark.createDataFrame([(9, "a")], "id int, w string")
    options = {"txnAppId": "a|2026-02-03", "txnVersion": "2", "replaceWhere": "w = 'a'"}
    hold(again, path, mode="Overwrite", options=options).commit("{}")
    assert sorted(tuple(row) for row in spark.read.format("delta").load(path).collect()) == [(2, "b"), (9, "a")]


def test_delta_keeps_statistics_and_counts_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    hold(spark.range(7), path, mode="Append", options=OPTIONS, properties={"delta.appendOnly": "false"}).commit("{}")
    commit = delta_log.commits(path)[0]
    assert commit["operationMetrics"]["numOutputRows"] == "7"
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
    assert detail is not None
    assert detail["properties"]["delta.appendOnly"] == "false"
