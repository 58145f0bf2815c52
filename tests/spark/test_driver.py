"""Both drivers give the same answers. What Spark Connect is asked for is public, so a session of our own answers it too."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from lakelogic_assets.errors import ProjectError, TableGoneError
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.driver import Changed, Clauses, Driver, driver_of
from lakelogic_assets.spark.driver.classic import ClassicDriver
from lakelogic_assets.spark.driver.connect import ConnectDriver, connected
from lakelogic_assets.spark.expressions import ERROR_ISOLATION
from lakelogic_assets.spark.materialization.transaction import Txn
from lakelogic_assets.spark.tally import tallied

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

DRIVERS = pytest.mark.parametrize("driver", [ClassicDriver(), ConnectDriver()], ids=["classic", "connect"])
TXN = {"txnAppId": "a|w", "txnVersion": "1"}


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    made = spark.newSession()
    for key, value in ERROR_ISOLATION.items():
        made.conf.set(key, value)
    return made


def rows_of(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(path).collect())


def test_a_session_of_our_own_is_asked_through_its_jvm(spark: SparkSession) -> None:
    assert isinstance(driver_of(spark), ClassicDriver)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / (id - 2) > 0", [False, False, None, True]),
        ("CAST(IF(id = 2, 'x', '1') AS INT)", [1, 1, None, 1]),
        ("element_at(array(1, 2, 3), CAST(id AS INT))", [None, 1, 2, 3]),
        ("raise_error('no')", [None, None, None, None]),
        ("2147483647 + CAST(id AS INT)", [2147483647, None, None, None]),
        ("to_date(IF(id = 2, 'never', '2026-02-03'))", [date(2026, 2, 3), date(2026, 2, 3), None, date(2026, 2, 3)]),
        ("map('k', 4 / (id - 1))", [{"k": -4.0}, None, {"k": 4.0}, {"k": 2.0}]),
        ("IF(id = 2, NULL, id = 1)", [False, True, None, False]),
    ],
)
@DRIVERS
def test_what_raises_in_one_row_is_null_in_that_row(
    session: SparkSession, driver: Driver, text: str, expected: list[Any]
) -> None:
    shared = driver.guarded(session, F.expr(text))
    found = session.range(4).select("id", shared.alias("once"), shared.alias("twice")).orderBy("id").collect()
    assert [row.once for row in found] == [row.twice for row in found] == expected


@DRIVERS
def test_a_schema_is_told_as_text(session: SparkSession, driver: Driver) -> None:
    frame = session.sql("SELECT 1 AS id, named_struct('b', 'x', 'first-name', 'y', 'c', array(1.5)) AS a")
    assert StructType.fromJson(json.loads(driver.schema_json(frame))) == frame.schema


@DRIVERS
def test_rows_are_evaluated_once_and_counted_on_their_way(session: SparkSession, driver: Driver) -> None:
    frame, tally = tallied(session.range(10), F.count(F.lit(1)).alias("rows"))
    kept = driver.evaluated(frame.where("id > 6").withColumn("drawn", F.rand()))
    assert tally.observation.get == {"rows": 10}
    assert kept.collect() == kept.collect()
    assert kept.count() == 3


@DRIVERS
def test_held_rows_are_read_before_they_are_published(session: SparkSession, driver: Driver, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    held = driver.hold(session.range(5), path, mode="Append", options=TXN, properties={"delta.appendOnly": "false"})
    read = held.read()
    assert read is not None
    assert (held.rows(), read.count(), delta_log.commits(path)) == (5, 5, [])
    assert held.commit('{"lakelogic": 1}') == 0
    assert delta_log.commits(path)[0]["metadata"] == {"lakelogic": 1}
    assert delta_log.transaction_version(path, "a|w") == 1
    assert session.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0]["properties"]["delta.appendOnly"] == "false"


@DRIVERS
def test_one_window_is_replaced_and_a_discarded_one_leaves_nothing(
    session: SparkSession, driver: Driver, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    first = session.createDataFrame([(1, "a"), (2, "b")], "id int, w string")
    driver.hold(first, path, mode="Append", options=TXN, partition_by=["w"]).commit("{}")
    driver.hold(first, path, mode="Append", options=TXN | {"txnVersion": "2"}, partition_by=["w"]).discard()
    again = session.createDataFrame([(9, "a")], "id int, w string")
    options = {"txnAppId": "a|w", "txnVersion": "3", "replaceWhere": "w = 'a'"}
    assert driver.hold(again, path, mode="Overwrite", options=options, partition_by=["w"]).commit("{}") == 1
    assert rows_of(session, path) == [(2, "b"), (9, "a")]


@DRIVERS
def test_a_table_that_vanishes_meanwhile_is_not_made_of_half_its_rows(
    session: SparkSession, driver: Driver, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    driver.hold(session.range(2), str(path), mode="Append", options=TXN).commit("{}")
    held = driver.hold(session.range(2), str(path), mode="Append", options=TXN | {"txnVersion": "2"})
    path.rename(tmp_path / "gone")
    with pytest.raises(TableGoneError, match="was removed while it was written"):
        held.commit("{}")


@DRIVERS
def test_changes_are_merged_in_one_named_commit_that_may_bring_a_column(
    session: SparkSession, driver: Driver, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    session.range(4).write.format("delta").save(path)
    changes = session.createDataFrame(
        [(1, "u", "x"), (3, "d", "y"), (7, "i", "z")], "id bigint, act string, new string"
    )
    said = {"`id`": "s.`id`", "`new`": "s.`new`"}
    act = F.col("s.act")
    clauses = Clauses(
        F.col("t.id") == F.col("s.id"),
        delete=act == "d",
        update=(act == "u", {"`new`": "s.`new`"}),
        insert=(act == "i", said),
        counts=Changed(1, 1, 1, 300),
    )
    driver.merge(session, changes, path, Txn("app", 4, "proof"), clauses)
    assert rows_of(session, path) == [(0, None), (1, "x"), (2, None), (7, "z")]
    assert delta_log.transaction_version(path, "app") == 4
    assert delta_log.commits(path)[0]["userMetadata"] == "proof"
    # A name that stayed behind would make Delta drop this silently.
    session.range(20, 21).withColumn("new", F.lit("n")).write.format("delta").mode("append").save(path)
    assert delta_log.commits(path)[0].get("userMetadata") is None


@DRIVERS
def test_files_of_an_object_store_are_found(session: SparkSession, driver: Driver, tmp_path: Path) -> None:
    for name in ("a.csv", "_SUCCESS", ".hidden.csv", "day=1/c.csv", "deep/d.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("id\n1\n")

    def found(path: str, *, recursive: bool = False) -> list[str]:
        files = driver.files_at(session, path, recursive=recursive)
        assert all(file.size == 5 for file in files)
        return sorted(file.path.removeprefix(f"file:{tmp_path}/") for file in files)

    assert found(f"file:{tmp_path}") == ["a.csv", "day=1/c.csv"]
    assert found(f"file:{tmp_path}", recursive=True) == ["a.csv", "day=1/c.csv", "deep/d.csv"]
    assert found(f"file:{tmp_path}/a*.csv") == ["a.csv"]
    assert found(f"file:{tmp_path}/nothing") == []


def test_a_server_that_does_not_answer_is_named_at_once() -> None:
    with pytest.raises(ProjectError, match=r"No Spark Connect server answers at sc://127\.0\.0\.1:1: start it"):
        connected("sc://127.0.0.1:1", {})
