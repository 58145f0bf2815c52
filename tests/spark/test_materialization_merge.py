"""Merging by key: what is written, what is left alone, and that windows may come in any order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import DuplicateKeysError, EngineError, SchemaError, WriteDroppedError
from lakelogic_assets.spark.materialization.keys import key_facts, key_span, surrogate
from lakelogic_assets.spark.materialization.merge import MergeResult, merge_rows
from lakelogic_assets.spark.materialization.transaction import Txn

NOW = datetime(2026, 2, 3, tzinfo=UTC)
CDC = {"load_mode": "cdc", "cdc_op_field": "op", "cdc_delete_values": ["D"], "cdc_timestamp_field": "ver"}


def contract(key: Sequence[str] = ("id",), fields: Sequence[dict[str, Any]] = (), **said: Any) -> Contract:
    materialization = {"strategy": "merge", **said.pop("materialization", {})}
    declared = {"model": {"fields": list(fields)}, "primary_key": list(key), "materialization": materialization, **said}
    return Contract.model_validate({"lineage": {"enabled": True}, **declared})


class Table:
    """A table in a folder and the batches that are merged into it."""

    def __init__(self, spark: SparkSession, path: Path, wanted: Contract) -> None:
        self.spark, self.path, self.contract = spark, str(path), wanted
        self.generations = count(1)

    def merge(self, rows: Sequence[tuple[Any, ...]] | DataFrame, schema: str = "", **more: Any) -> MergeResult:
        batch = rows if isinstance(rows, DataFrame) else self.spark.createDataFrame(list(rows), schema)
        generation = next(self.generations)
        txn = Txn("app", generation, json.dumps({"generation": generation}))
        return merge_rows(self.spark, batch, self.path, self.contract, txn=txn, run_timestamp=NOW, **more)

    def rows(self, *columns: str) -> list[Row]:
        frame = self.spark.read.format("delta").load(self.path)
        return sorted(frame.select(*(columns or ["*"])).collect(), key=str)

    @property
    def files(self) -> set[str]:
        return set(DeltaTable(self.path).file_uris())


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Callable[..., Table]:
    numbers = count()
    return lambda *key, **said: Table(spark, tmp_path / str(next(numbers)), contract(key or ("id",), **said))


def stamped(frame: DataFrame, run: str) -> DataFrame:
    by_run = {"_lakelogic_run_id": F.lit(run), "_lakelogic_created_by": F.lit(run), "_lakelogic_source": F.lit(run)}
    return frame.withColumns(by_run)


def test_new_keys_are_inserted_changed_ones_updated_and_all_others_left_alone(
    spark: SparkSession, table: Callable[..., Table]
) -> None:
    # The engine's own stamp is no version of the rows, even if a contract names it as its watermark.
    trips = table(source={"watermark_field": "_lakelogic_run_id"})
    first = spark.createDataFrame([(1, "a"), (2, "b"), (4, "kept")], "id int, value string")
    assert trips.merge(stamped(first, "run 9")) == MergeResult(3, 0, 0, 0)
    before = trips.files
    assert trips.merge(stamped(first, "run 2")) == MergeResult(0, 0, 0, 0)
    assert trips.files == before
    second = spark.createDataFrame([(1, "a"), (2, "c"), (3, "new")], "id int, value string")
    assert trips.merge(stamped(second, "run 3")) == MergeResult(1, 1, 0, 1)
    assert trips.rows("id", "value", "_lakelogic_run_id", "_lakelogic_source", "_lakelogic_created_by") == [
        (1, "a", "run 9", "run 9", "run 9"),
        (2, "c", "run 3", "run 3", "run 9"),
        (3, "new", "run 3", "run 3", "run 3"),
        (4, "kept", "run 9", "run 9", "run 9"),
    ]


def test_keys_may_be_null_names_of_any_letters_and_values_of_any_type(table: Callable[..., Table]) -> None:
    trips = table("the.key", "b")
    schema = "`the.key` int, b string, `a``b` string, `🙂` map<string,int>, `Größe` array<int>"
    trips.merge(
        [(None, "x", "same", {"a": 1}, [1]), (None, None, None, {"a": 1}, None), (1, None, "v", None, [])], schema
    )
    again = [(None, "x", "same", {"a": 1}, [1]), (None, None, "appears", {"a": 2}, [])]
    assert trips.merge([*again, (1, None, None, None, []), (1, "", "new", {}, None)], schema) == MergeResult(1, 2, 0, 1)
    assert set(map(str, trips.rows("b", "`a``b`", "`🙂`", "`Größe`"))) == {
        "Row(b='x', a`b='same', 🙂={'a': 1}, Größe=[1])",
        "Row(b=None, a`b='appears', 🙂={'a': 2}, Größe=[])",
        "Row(b=None, a`b=None, 🙂=None, Größe=[])",
        "Row(b='', a`b='new', 🙂={}, Größe=None)",
    }


def test_duplicate_keys_fail_loudly_and_without_values(table: Callable[..., Table]) -> None:
    trips = table("a", "b")
    with pytest.raises(DuplicateKeysError, match=r"2 keys of \(a, b\) more than once.*merge_dedup_guard") as raised:
        trips.merge([("secret", 1)] * 2 + [("hidden", 2)] * 3 + [("x", 3)], "a string, b int")
    assert (raised.value.count, raised.value.keys) == (2, ("a", "b"))
    assert "secret" not in str(raised.value)
    assert not Path(trips.path).exists()


def test_the_guard_keeps_the_newest_whatever_the_order(table: Callable[..., Table]) -> None:
    rows = [(5, "b"), (5, "a"), (None, "z")]
    trips = table(materialization={"merge_dedup_guard": True}, source={"watermark_field": "ver"})
    batch = [(1, *row) for row in rows] + [(2, *row) for row in reversed(rows)] + [(3, 1, "x")]
    assert trips.merge(batch, "id int, ver int, v string").inserted == 3
    assert trips.rows() == [(1, 5, "b"), (2, 5, "b"), (3, 1, "x")]


def test_a_table_that_already_holds_a_key_twice_is_refused(spark: SparkSession, table: Callable[..., Table]) -> None:
    trips = table()
    spark.createDataFrame([(1, "a"), (1, "b")], "id int, v string").write.format("delta").save(trips.path)
    with pytest.raises(DuplicateKeysError, match="The table holds 1 key of"):
        trips.merge([(1, "c")], "id int, v string")


def test_a_merge_needs_a_key_that_is_there(table: Callable[..., Table]) -> None:
    with pytest.raises(EngineError, match="key column other"):
        table("other").merge([(1,)], "id int")


def test_an_older_row_never_replaces_a_newer_one(table: Callable[..., Table]) -> None:
    trips = table(source={"watermark_field": "at"})
    schema = "id int, at string, v string"
    ten = "2024-01-02 10:00:00"
    trips.merge([(1, ten, "new"), (2, None, "undated"), (3, ten, "dated"), (4, ten, "wrong")], schema)
    batch = [(1, "2024-01-02T09:00:00Z", "older"), (2, "2024-01-01", "dated"), (3, None, "undated"), (4, ten, "right")]
    assert trips.merge(batch, schema) == MergeResult(0, 2, 0, 1)
    assert trips.rows("id", "v") == [(1, "new"), (2, "dated"), (3, "dated"), (4, "right")]


def test_a_milestone_once_set_is_never_overwritten(table: Callable[..., Table]) -> None:
    fields = [{"name": "shipped", "milestone": True}]
    said = {"fields": fields, "source": {"watermark_field": "ver"}, "materialization": {"merge_dedup_guard": True}}
    orders = table(**said)
    schema = "id int, ver int, shipped string, state string"
    orders.merge([(1, 3, None, "paid"), (2, 2, "thu", "sent"), (2, 1, "wed", "packed"), (3, 1, "mon", "sent")], schema)
    batch = [(1, 1, "tue", "late"), (2, 4, "fri", "done"), (3, 2, None, "done")]
    assert orders.merge(batch, schema).updated == 3
    assert orders.rows("id", "shipped", "state") == [(1, "tue", "paid"), (2, "wed", "done"), (3, "mon", "done")]


def feed(table: Callable[..., Table], **materialization: Any) -> Table:
    return table(source=CDC, materialization=materialization)


FEED = "id int, op string, ver timestamp, v string"


def at(hour: int) -> datetime:
    return datetime(2024, 1, 1, hour)


def test_deletions_of_a_change_feed_mark_rows_and_later_changes_revive_them(table: Callable[..., Table]) -> None:
    trips = feed(table)
    trips.merge([(1, "I", at(1), "a"), (1, "U", at(2), "b"), (2, "I", at(1), "x")], FEED)
    assert trips.merge([(1, "D", at(5), None), (2, "D", at(0), None), (3, "D", at(5), None)], FEED) == MergeResult(
        0, 0, 2, 1
    )
    columns = (
        "id",
        "v",
        "hour(ver) ver",
        "_lakelogic_is_deleted",
        "hour(_lakelogic_deleted_at) at",
        "_lakelogic_delete_reason",
    )
    shown = [F.expr(text) for text in columns]
    assert trips.rows(*shown) == [  # type: ignore[arg-type]
        (1, "b", 2, True, 5, "cdc_delete_signal"),
        (2, "x", 1, False, None, None),
        (3, None, None, True, 5, "cdc_delete_signal"),
    ]
    assert trips.merge([(1, "D", at(5), None), (1, "U", at(4), "late"), (3, "I", at(4), "z")], FEED) == MergeResult(
        0, 2, 0, 2
    )
    assert trips.merge([(1, "U", at(6), "back")], FEED) == MergeResult(0, 1, 0, 3)
    assert trips.rows("id", "v", "_lakelogic_is_deleted") == [(1, "back", False), (2, "x", False), (3, "z", True)]


def test_rows_are_deleted_for_good_where_the_contract_says_so(table: Callable[..., Table]) -> None:
    trips = feed(table, soft_delete_column="")
    trips.merge([(1, "I", at(1), "a"), (2, "I", at(5), "b"), (4, "I", at(1), "c"), (4, "D", at(2), None)], FEED)
    result = trips.merge([(1, "D", at(2), None), (2, "D", at(4), None), (3, "D", at(1), None)], FEED)
    assert result == MergeResult(0, 0, 1, 1)
    assert trips.rows("id", "v") == [(2, "b")]


def test_the_marks_of_deletion_can_be_named_and_valued(table: Callable[..., Table]) -> None:
    source = {**CDC, "cdc_timestamp_field": None, "cdc_delete_values": [0]}
    said = {"soft_delete_column": "gone", "soft_delete_value": "Y", "soft_delete_time_column": "gone_at"}
    trips = table(source=source, materialization=said)
    schema = "id int, op int, v string"
    trips.merge([(1, 1, "a"), (2, 1, "b"), (3, 0, None)], schema, transient=["OP"])
    assert trips.merge([(1, 0, None), (3, 0, None)], schema, transient=["OP"]) == MergeResult(0, 0, 1, 1)
    shown = ("id", "v", "gone", F.col("gone_at").cast("string"))
    when = "2026-02-03 00:00:00"
    assert trips.rows(*shown) == [(1, "a", "Y", when), (2, "b", None, None), (3, None, "Y", when)]  # type: ignore[arg-type]
    assert trips.merge([(1, 1, "a")], schema, transient=["OP"]).updated == 1
    assert trips.rows("id", "gone")[0] == (1, None)


def test_a_change_feed_without_its_operation_is_refused(table: Callable[..., Table]) -> None:
    with pytest.raises(EngineError, match="cdc_op_field: op"):
        feed(table).merge([(1, at(1))], "id int, ver timestamp")


def test_new_columns_are_added_unless_the_policy_is_strict(table: Callable[..., Table]) -> None:
    trips = table()
    trips.merge([(1, "a")], "id int, v string")
    assert trips.merge([(1, None), (2, 5)], "id int, `new.one` int") == MergeResult(1, 0, 0, 1)
    assert trips.rows() == [(1, "a", None), (2, None, 5)]
    strict = table(schema_policy={"evolution": "strict"})
    strict.merge([(1, "a")], "id int, v string")
    with pytest.raises(SchemaError, match="no column `w`"):
        strict.merge([(1, "a", 1)], "id int, v string, w int")
    assert strict.merge([(1, "b", "run")], "id int, v string, _lakelogic_run_id string").updated == 1


def test_an_empty_batch_makes_no_commit_and_a_dropped_one_is_an_error(
    spark: SparkSession, table: Callable[..., Table]
) -> None:
    trips = table()
    assert trips.merge([], "id int, v string") == MergeResult(0, 0, 0, 0)
    trips.merge([(1, "a")], "id int, v string")
    before = trips.files
    assert trips.merge([], "id int, v string") == MergeResult(0, 0, 0, 1)
    assert trips.merge([(1, "a")], "id int, v string") == MergeResult(0, 0, 0, 1)
    assert trips.files == before
    log = DeltaTable(trips.path)
    assert (log.transaction_version("app"), log.history(1)[0]["userMetadata"]) == (2, '{"generation": 2}')
    assert spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None
    trips.generations = count(2)
    with pytest.raises(WriteDroppedError, match="already holds generation 2 of app"):
        trips.merge([(1, "b")], "id int, v string")


def test_a_dimension_gets_an_id_and_an_unknown_member_once(table: Callable[..., Table]) -> None:
    unknown = {"surrogate_key_value": -1, "default_values": {"city": "nowhere"}}
    fields = [{"name": "sk", "type": "long"}, {"name": "id", "type": "int"}]
    cities = table(fields=fields, materialization={"scd1": {"surrogate_key": "sk", "unknown_member": unknown}})
    schema = "sk bigint, id int, name string, city string, open boolean, _lakelogic_run_id string"
    assert cities.merge([(None, 7, "a", "b", True, "r1")], schema).inserted == 2
    first = cities.rows()
    assert first[0] == (-1, -1, "Unknown", "nowhere", False, "r1")
    assert first[1].sk > 0
    assert cities.merge([(None, 7, "c", "b", True, "r2"), (None, -1, "real", "b", True, "r2")], schema) == MergeResult(
        1, 1, 0, 1
    )
    assert {(row.sk == -1, row.id, row.name) for row in cities.rows()} == {
        (True, -1, "Unknown"),
        (False, 7, "c"),
        (False, -1, "real"),
    }
    assert first[1].sk in {row.sk for row in cities.rows()}


UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"


@pytest.mark.parametrize(("strategy", "form"), [("hash", r"[0-9a-f]{16}"), ("uuid", UUID)])
def test_ids_are_made_of_the_key_alone(spark: SparkSession, strategy: Literal["hash", "uuid"], form: str) -> None:
    rows = [("x|", "y"), ("x", "|y"), (None, ""), ("", None), ("\\N", "")]
    frame = spark.createDataFrame(rows, "a string, b string")
    made = [surrogate([F.col("a"), F.col("b")], strategy, "sk", T.StringType()) for _ in range(2)]
    ids = frame.select(*made).collect()
    assert all(first == second and re.fullmatch(form, first) for first, second in ids)
    assert len(set(ids)) == len(rows)


def test_files_that_cannot_hold_the_keys_are_not_read(table: Callable[..., Table]) -> None:
    trips = table("day", "id", materialization={"partition_by": ["day"]})
    schema = "day string, id bigint, v string"
    trips.merge([(f"d{day}", day * 10, "a") for day in range(4)], schema)
    before, rows = trips.files, [("d1", 10, "b"), ("d1", 11, "c")]
    assert trips.merge(rows, schema) == MergeResult(1, 1, 0, 1)
    assert len(before - trips.files) == 1
    span = key_facts(trips.spark.createDataFrame(rows, schema), ["day", "id"], trips.contract).span
    nearby = trips.spark.read.format("delta").load(trips.path).alias("t").where(span)
    assert [file.split("/")[-2] for file in nearby.inputFiles()] == ["day=d1"]


def test_personal_keys_never_get_into_the_history_of_the_table(spark: SparkSession) -> None:
    people = contract(("ssn",), fields=[{"name": "ssn", "type": "long", "pii": True}])
    assert key_span(spark.createDataFrame([(123456789,)], "ssn bigint"), ["ssn"], people) == (None, False)


Event = tuple[int, str, str | None, bool]


def final_state(events: Sequence[Event]) -> tuple[Any, ...]:
    """What a key ends as, whatever the order and number of batches: its newest data, and a deletion after that."""
    data = [(number, value) for number, (_, op, value, _) in enumerate(events) if op != "D"]
    deleted = max((number for number, event in enumerate(events) if event[1] == "D"), default=None)
    version, value = max(data, default=(None, None), key=lambda pair: pair[0])
    gone = deleted is not None and (version is None or deleted > version)
    milestone = "done" if any(op != "D" and is_set for _, op, _, is_set in events) else None
    return value, version, gone, deleted if gone else None, milestone


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32))
def test_windows_in_any_order_and_repeated_give_the_same_table(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """200 keys with up to five changes each, in three batches that come in any order, one of them twice.

    The place of a change in its key's history is its version; its first number says which batch brings it.
    """
    draw = random.Random(seed)  # noqa: S311 - nothing secret is drawn
    histories: dict[int | None, list[Event]] = {
        key: [
            (draw.randrange(3), draw.choice("IIUD"), draw.choice([None, "a", "b", "c"]), draw.random() < 0.3)
            for _ in range(draw.randint(1, 5))
        ]
        for key in (None, *range(1, 200))
    }
    wanted = contract(fields=[{"name": "m", "milestone": True}], source=CDC)
    table = Table(spark, tmp_path_factory.mktemp("any") / "table", wanted)
    schema = "id int, ver int, op string, v string, m string"
    batches: list[list[tuple[Any, ...]]] = [[], [], []]
    for key, history in histories.items():
        for version, (batch, op, value, is_set) in enumerate(history):
            batches[batch].append((key, version, op, value, "done" if is_set and op != "D" else None))
    for rows in [*draw.sample(batches, 3), draw.choice(batches)]:
        table.merge(draw.sample(rows, len(rows)), schema, transient=["op"])
    shown = ("id", "v", "ver", "_lakelogic_is_deleted", "_lakelogic_deleted_at", "m")
    found = {row[0]: tuple(row[1:]) for row in table.rows(*shown)}
    assert found == {key: final_state(history) for key, history in histories.items()}


@pytest.mark.parametrize("moment", ["0001-01-01 00:00:00", "0999-12-31 23:59:59.000001", "9999-12-31 23:59:59.999999"])
def test_a_moment_at_the_ends_of_time_is_a_key_like_any_other(
    spark: SparkSession, table: Callable[..., Table], moment: str
) -> None:
    trips = table("at")
    for value in ("old", "new"):
        trips.merge(spark.sql(f"SELECT TIMESTAMP'{moment}Z' AS at, '{value}' AS v"))
    assert [row.v for row in trips.rows("v")] == ["new"]


def test_a_key_may_have_any_name(table: Callable[..., Table]) -> None:
    odd = table("n", "count")
    odd.merge([(1, 1, "a")], "n int, count int, v string")
    assert odd.merge([(1, 1, "b"), (1, 2, "c")], "n int, count int, v string") == MergeResult(1, 1, 0, 1)
