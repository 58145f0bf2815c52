"""A MERGE by our own hands does what Delta's command does, to fewer files, and leaves alone what it may not touch."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.errors import RaceLostError
from lakelogic_assets.spark import delta_log, locks
from lakelogic_assets.spark.driver import FEW_BYTES, Changed, Clauses, driver_of
from lakelogic_assets.spark.failures import SparkFailure, is_conflict
from lakelogic_assets.spark.materialization.keys import same_key
from lakelogic_assets.spark.materialization.transaction import ACTION, DELETE, INSERT, UPDATE, Txn, column_of
from lakelogic_assets.spark.rewriting import _merged, _Rewriting, rewritten

SCHEMA = f"id int, v string, {ACTION} string"
CHANGES = [(1, "one", UPDATE), (3, None, DELETE), (90, "new", INSERT), (91, None, INSERT)]
SIZES = pytest.mark.parametrize("size", [300, FEW_BYTES + 1], ids=["few", "many"])


class Table:
    """Ten rows in five files, and changes to them."""

    def __init__(self, spark: SparkSession, path: Path, **properties: str) -> None:
        self.spark, self.path, self.generation = spark, str(path), 0
        rows = (
            spark.range(10).selectExpr("CAST(id AS INT) AS id", "CONCAT('old ', id) AS v").repartitionByRange(5, "id")
        )
        rows.write.format("delta").options(**properties).save(self.path)

    @property
    def files(self) -> set[str]:
        return set(DeltaTable(self.path).file_uris())

    @property
    def on_disk(self) -> set[str]:
        return {str(file) for file in Path(self.path).rglob("*.parquet") if "_delta_log" not in file.parts}

    def rows(self) -> dict[int, str | None]:
        found = [tuple(row)[:2] for row in self.spark.read.format("delta").load(self.path).collect()]
        assert len(dict(found)) == len(found)
        return dict(found)

    def merge(self, changes: list[tuple[Any, ...]], size: int = 300, schema: str = SCHEMA, **counts: int) -> bool:
        frame = self.spark.createDataFrame(changes, schema)
        self.generation += 1
        txn = Txn("app", self.generation, f"generation {self.generation}")
        clauses = _clauses(frame, changes, size, counts)
        driver = driver_of(self.spark)
        if not rewritten(self.spark, frame, self.path, txn, clauses, driver.was_taken):
            driver.merge(self.spark, frame, self.path, txn, clauses)
            return False
        return True


def _clauses(frame: DataFrame, changes: list[tuple[Any, ...]], size: int, counts: dict[str, int]) -> Clauses:
    kinds = [change[2] for change in changes]
    told = {"inserted": kinds.count(INSERT), "updated": kinds.count(UPDATE), "deleted": kinds.count(DELETE), **counts}
    action = column_of("s", ACTION)
    sets = {f"`{name}`": f"s.`{name}`" for name in frame.columns if name != ACTION}
    return Clauses(
        same_key(["id"]),
        delete=action == DELETE,
        update=(action == UPDATE, {name: value for name, value in sets.items() if name != "`id`"}),
        insert=(action == INSERT, sets),
        counts=Changed(size=size, **told),
    )


@SIZES
def test_only_files_with_changes_are_rewritten_and_the_commit_says_what_was_done(
    spark: SparkSession, tmp_path: Path, size: int
) -> None:
    table = Table(spark, tmp_path / "t")
    before, expected = table.files, table.rows()
    assert table.merge(CHANGES, size)
    expected |= {1: "one", 90: "new", 91: None}
    del expected[3]
    assert table.rows() == expected
    assert len(before & table.files) == 3
    commit = delta_log.commits(table.path)[0]
    assert (commit["operation"], commit["userMetadata"], commit["readVersion"]) == ("MERGE", "generation 1", 0)
    assert delta_log.transaction_version(table.path, "app") == 1
    metrics = {name: int(value) for name, value in commit["operationMetrics"].items()}
    assert (metrics["numTargetRowsInserted"], metrics["numTargetRowsUpdated"], metrics["numTargetRowsDeleted"]) == (
        2,
        1,
        1,
    )
    assert (metrics["numTargetRowsCopied"], metrics["numTargetFilesRemoved"], metrics["numSourceRows"]) == (2, 2, 4)


def test_what_only_inserts_reads_no_file_and_what_changes_most_asks_for_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, tmp_path / "t")
    before = table.files
    assert table.merge([(70, "new", INSERT)])
    assert before < table.files
    assert table.merge([(number, "all", UPDATE) for number in range(10)])
    assert not before & table.files
    assert set(table.rows().values()) == {"all", "new"}


@SIZES
def test_any_changes_in_any_order_leave_what_they_say(spark: SparkSession, tmp_path: Path, size: int) -> None:
    table, drawn = Table(spark, tmp_path / "t"), random.Random(size)  # noqa: S311
    expected = table.rows()
    for number in range(4):
        there = drawn.sample(sorted(expected), 4)
        changes = [(key, f"{number}", drawn.choice((UPDATE, DELETE))) for key in there]
        changes += [(100 * (number + 1) + place, "new", INSERT) for place in range(drawn.randrange(4))]
        assert table.merge(changes, size)
        for key, value, action in changes:
            expected[key] = value
            if action == DELETE:
                del expected[key]
        assert table.rows() == expected


@pytest.mark.parametrize(
    ("properties", "schema"),
    [
        ({"delta.enableChangeDataFeed": "true"}, SCHEMA),
        ({"delta.enableDeletionVectors": "true"}, SCHEMA),
        ({"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}, SCHEMA),
        ({}, f"id int, v string, {ACTION} string, more int"),
    ],
    ids=["change feed", "deletion vectors", "column mapping", "a new column"],
)
def test_what_is_not_plain_is_left_to_deltas_command(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str], schema: str
) -> None:
    table = Table(spark, tmp_path / "t", **properties)
    more = (7,) if "more" in schema else ()
    assert not table.merge([(*change, *more) for change in CHANGES], schema=schema)
    assert (table.rows()[1], table.rows()[90], 3 in table.rows()) == ("one", "new", False)


def test_files_that_do_not_hold_what_was_promised_are_thrown_away(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t")
    assert not table.merge(CHANGES, inserted=5)
    assert table.files < table.on_disk
    replaced = 2
    assert len(table.on_disk) == len(table.files) + replaced
    assert (table.rows()[1], table.rows()[90]) == ("one", "new")


def test_a_change_that_meets_no_row_or_two_is_left_to_deltas_command(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t")
    assert not table.merge([(1, "one", UPDATE), (77, "nobody", UPDATE)])
    assert (table.rows()[1], 77 in table.rows()) == ("one", False)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_is_interrupted_after_its_commit_keeps_its_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    table, commit = Table(spark, tmp_path / "t"), _Rewriting.commit

    def interrupted(work: _Rewriting, *rest: Any) -> None:
        commit(work, *rest)
        raise error

    monkeypatch.setattr(_Rewriting, "commit", interrupted)
    with pytest.raises(error):
        table.merge(CHANGES)
    assert (table.rows()[1], table.rows()[90]) == ("one", "new")


def test_a_commit_of_another_program_is_a_conflict_and_leaves_no_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, commit = Table(spark, tmp_path / "t"), _Rewriting.commit

    def late(work: _Rewriting, *rest: Any) -> None:
        other = spark.newSession().range(50, 51, 1, 1).selectExpr("CAST(id AS INT) AS id", "'other' AS v")
        spark.sql(f"DELETE FROM delta.`{table.path}` WHERE id = 1")
        other.write.format("delta").mode("append").save(table.path)
        commit(work, *rest)

    monkeypatch.setattr(_Rewriting, "commit", late)
    before = table.on_disk
    with pytest.raises(SparkFailure) as raised:
        table.merge(CHANGES)
    assert is_conflict(raised.value)
    assert table.on_disk - before == table.files - before
    monkeypatch.undo()
    table.generation = 0
    assert table.merge([(2, "again", UPDATE)])
    table.generation = 0
    monkeypatch.setattr(locks, "has_lock", lambda _: False)
    with pytest.raises(RaceLostError, match="Another run of the same window"):
        table.merge([(2, "once more", UPDATE)])


def test_partitions_with_any_name_are_found(spark: SparkSession, tmp_path: Path) -> None:
    path, days = str(tmp_path / "a b ü" / "t"), ["a b", "50%", "x/y", "ü=1", "", None]
    rows = [(number, day) for number, day in enumerate(days)]
    spark.createDataFrame(rows, "id int, v string").write.format("delta").partitionBy("v").save(path)
    changes = [(number, day, DELETE if number % 2 else UPDATE) for number, day in rows]
    frame = spark.createDataFrame(changes, SCHEMA)
    clauses = _clauses(frame, changes, 300, {})
    assert rewritten(spark, frame, path, Txn("app", 1, "text"), clauses, driver_of(spark).was_taken)
    assert {row.id for row in spark.read.format("delta").load(path).collect()} == {0, 2, 4}


def test_a_table_that_only_grows_refuses_changes(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t", **{"delta.appendOnly": "true"})
    before = table.files
    with pytest.raises(SparkFailure, match="appends"):
        table.merge(CHANGES)
    assert table.files == before
    assert table.merge([(70, "new", INSERT)])


def test_the_shuffle_of_a_large_table_is_spared(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path / "t")
    frame = spark.createDataFrame(CHANGES, SCHEMA)
    work = _Rewriting.begun(spark, table.path, Txn("app", 1, ""))
    clauses = _clauses(frame, CHANGES, 300, {})
    former = work.touched(work.table(), frame, clauses)
    assert former is not None
    rows, _ = _merged(work.read(former), frame, clauses)
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "Broadcast" in plan
    assert "Exchange hashpartitioning" not in plan
    assert work.read(former).select(F.count_if(F.col("id").isin(1, 3))).collect()[0][0] == 2
