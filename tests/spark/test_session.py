from __future__ import annotations

import logging.config
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkException

from lakelogic_assets.spark.session import ONE_MACHINE, SETTINGS, _told_in_public, local_session, session_alive

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_process_has_one_session(spark: SparkSession) -> None:
    assert local_session().sparkContext is spark.sparkContext


def test_every_setting_arrives(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    wanted = SETTINGS | ONE_MACHINE
    assert {key: conf.get(key) for key in wanted} == wanted


def test_no_secret_stands_in_the_list_of_processes() -> None:
    told = {"spark.master": "local", "spark.driver.memory": "1g"}
    secret = ("spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.access.key", "spark.hadoop.fs.azure.account.key.x",
              "spark.authenticate.secret", "spark.ssl.keyPassword", "spark.hadoop.fs.s3a.session.token")  # fmt: skip
    made = _told_in_public(SparkConf(loadDefaults=False).setAll([*told.items(), *((name, "x") for name in secret)]))
    assert {name: made.get(name) for name in told} == told
    assert not any(made.contains(name) for name in secret)


def test_a_delta_table_can_be_written_merged_and_read(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path / 'numbers'}`"
    spark.range(3).write.format("delta").save(str(tmp_path / "numbers"))
    spark.range(2, 5).createOrReplaceTempView("more")
    spark.sql(f"MERGE INTO {table} t USING more s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert sorted(row.id for row in spark.table(table).collect()) == [0, 1, 2, 3, 4]


def test_values_are_bound_and_not_pasted_into_sql(spark: SparkSession) -> None:
    hostile = "x' OR '1'='1"
    assert spark.sql("SELECT :value AS value", args={"value": hostile}).first() == (hostile,)


def test_a_date_is_a_date_in_utc(spark: SparkSession) -> None:
    row = spark.sql("SELECT cast(timestamp_seconds(0) AS string), current_timezone()").first()
    assert row == ("1970-01-01 00:00:00", "UTC")


def test_a_failed_query_prints_no_values(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})  # as Dagster does in every run
    with pytest.raises(PySparkException):
        spark.sql("SELECT cast(concat('secret', id) AS int) FROM range(3)").collect()
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_python_functions_run_on_the_interpreter_of_this_process(spark: SparkSession) -> None:
    rows = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert rows == [sys.executable]


def test_a_live_session_answers_the_ping(spark: SparkSession) -> None:
    assert session_alive(spark)


def run_python(program: str, cwd: Path) -> str:
    """What a fresh interpreter prints: a dead JVM must not be the one the other tests use."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dead_jvm_is_noticed_and_replaced_and_leaves_no_files(tmp_path: Path) -> None:
    printed = run_python(
        """
        from lakelogic_assets.spark.session import local_session, restart, session_alive
        first = local_session()
        first.sparkContext._gateway.proc.kill()
        first.sparkContext._gateway.proc.wait()
        print(session_alive(first))
        second = local_session()
        print(session_alive(second), second.range(3).count())
        second.stop()
        print(local_session().range(3).count())
        third = restart(conf={"spark.sql.shuffle.partitions": "3"})
        print(session_alive(second), session_alive(third), third.conf.get("spark.sql.shuffle.partitions"))
        """,
        tmp_path,
    )
    assert printed.splitlines() == ["False", "True 3", "3", "False True 3"]
    assert list(tmp_path.iterdir()) == []


def test_a_jvm_that_does_not_start_says_why_in_one_line(tmp_path: Path) -> None:
    printed = run_python(
        """
        from lakelogic_assets.errors import ProjectError
        from lakelogic_assets.spark.session import local_session
        try:
            local_session(conf={"spark.driver.memory": "4x"})
        except ProjectError as error:
            print(error)
        """,
        tmp_path,
    )
    assert printed == "Spark's JVM did not start: Invalid maximum heap size: -Xmx4x\n"
