"""The history of a dimension: versions, their ranges, and that batches may be late, repeated and in any order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.server import SchemaPolicy
from lakelogic_assets.errors import EngineError, SchemaError, WriteDroppedError
from lakelogic_assets.spark.materialization.scd2 import Scd2Result, apply_scd2
from lakelogic_assets.spark.materialization.transaction import Txn

NOW = datetime(2026, 2, 3, tzinfo=UTC)
CUSTOMER = [
    {"name": "customer_id", "type": "integer", "required": True},
    {"name": "tier", "type": "string"},
    {"name": "updated_at", "type": "string"},
    {"name": "is_current", "type": "boolean"},
    {"name": "version", "type": "integer"},
    {"name": "effective_from", "type": "string"},
    {"name": "effective_to", "type": "string"},
]
PLAIN = {"surrogate_key": "", "change_reason_column": ""}


class Dimension:
    """A table in a folder and the batches that are worked into it."""

    def __init__(self, spark: SparkSession, path: Path, scd2: dict[str, Any], **said: Any) -> None:
        declared = {"natural_key": ["id"], "materialization": {"strategy": "scd2", "scd2": scd2}, **said}
        self.spark, self.path, self.contract = spark, str(path), Contract.model_validate(declared)
        self.generations = count(1)

    def apply(self, rows: Sequence[tuple[Any, ...]] | DataFrame, schema: str = "", now: datetime = NOW) -> Scd2Result:
        batch = rows if isinstance(rows, DataFrame) else self.spark.createDataFrame(list(rows), schema)
        generation = next(self.generations)
        txn = Txn("app", generation, f"generation {generation}")
        return apply_scd2(self.spark, batch, self.path, self.contract, txn=txn, run_timestamp=now)

    @property
    def frame(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.path)

    def rows(self, *columns: Any) -> list[Row]:
        return sorted(self.frame.select(*(columns or ["*"])).collect(), key=str)

    @property
    def files(self) -> set[str]:
        return set(DeltaTable(self.path).file_uris())


@pytest.fixture
def dimension(spark: SparkSession, tmp_path: Path) -> Callable[..., Dimension]:
    numbers = count()
    return lambda **scd2: Dimension(
        spark, tmp_path / str(next(numbers)), scd2.pop("scd2", scd2), **scd2.pop("said", {})
    )


def customers(dimension: Callable[..., Dimension], **more: Any) -> Dimension:
    scd2 = {"timestamp_field": "updated_at", "version_column": "version", "track_columns": ["tier"], **PLAIN, **more}
    said = {"natural_key": ["customer_id"], "model": {"fields": CUSTOMER}}
    return dimension(scd2=scd2, said=said)


FEED = "customer_id int, tier string, updated_at string"


def test_a_change_closes_the_version_before_it(dimension: Callable[..., Dimension]) -> None:
    table = customers(dimension, effective_to_default="2200-01-01")
    assert table.apply([(1, "free", "2024-01-01")], FEED) == Scd2Result(1, 0, 0, 0, 0)
    assert table.apply([(1, "pro", "2024-02-01"), (2, "free", "2024-02-01")], FEED) == Scd2Result(1, 1, 1, 0, 1)
    assert table.frame.columns == [field["name"] for field in CUSTOMER]
    assert table.rows() == [
        (1, "free", "2024-01-01", False, 1, "1900-01-01", "2024-02-01"),
        (1, "pro", "2024-02-01", True, 2, "2024-02-01", "2200-01-01"),
        (2, "free", "2024-02-01", True, 1, "1900-01-01", "2200-01-01"),
    ]


def test_what_repeats_the_newest_version_writes_nothing(dimension: Callable[..., Dimension]) -> None:
    table = customers(dimension)
    first = [(1, "free", "2024-01-01"), (1, "pro", "2024-02-01"), (1, "pro", "2024-02-10"), (2, None, "2024-01-01")]
    assert table.apply(first, FEED) == Scd2Result(2, 1, 0, 0, 0)
    before = table.files
    assert table.apply(first, FEED) == Scd2Result(0, 0, 0, 0, 0)
    assert table.apply([(1, "pro", "2024-03-01"), (2, None, "2024-03-01")], FEED) == Scd2Result(0, 0, 0, 0, 0)
    assert table.files == before
    log = DeltaTable(table.path)
    assert (log.transaction_version("app"), log.history(1)[0]["userMetadata"]) == (1, "generation 1")
    table.generations = count(1)
    with pytest.raises(WriteDroppedError):
        table.apply(first, FEED)


def test_late_rows_find_their_place(dimension: Callable[..., Dimension]) -> None:
    table = customers(dimension)
    table.apply([(1, "b", "2024-02-01"), (2, "b", "2024-02-01"), (3, "c", "2024-03-01"), (3, "a", "2024-01-01")], FEED)
    late = [(1, "a", "2024-01-01"), (2, "b", "2024-01-01"), (3, "b", "2024-02-01"), (3, "a", "2024-01-15")]
    assert table.apply(late, FEED) == Scd2Result(0, 2, 0, 3, 1)
    assert table.rows("customer_id", "version", "tier", "effective_from", "effective_to", "is_current") == [
        (1, 1, "a", "1900-01-01", "2024-02-01", False),
        (1, 2, "b", "2024-02-01", "9999-12-31", True),
        (2, 1, "b", "1900-01-01", "9999-12-31", True),
        (3, 1, "a", "1900-01-01", "2024-02-01", False),
        (3, 2, "b", "2024-02-01", "2024-03-01", False),
        (3, 3, "c", "2024-03-01", "9999-12-31", True),
    ]
    assert table.rows("customer_id", "updated_at")[2] == (2, "2024-01-01")


def test_columns_that_are_not_tracked_stay_as_they_were(dimension: Callable[..., Dimension]) -> None:
    table = dimension(timestamp_field="at", track_columns=["status"], **PLAIN)
    schema = (
        "id int, status string, rating double, at timestamp, _lakelogic_run_id string, _lakelogic_created_by string"
    )
    day = datetime(2024, 1, 1)
    table.apply([(1, "on", 1.0, day, "r1", "r1"), (2, "on", 1.0, day, "r1", "r1")], schema)
    changed = (1, "off", 3.0, day + timedelta(2), "r2", "r2")
    same = [(1, "on", 2.0, day, "r2", "r2"), (2, "on", 2.0, day + timedelta(1), "r2", "r2")]
    assert table.apply([changed, *same], schema) == Scd2Result(0, 1, 1, 0, 1)
    assert table.rows("id", "_version", "rating", "_lakelogic_run_id", "_lakelogic_created_by") == [
        (1, 1, 1.0, "r2", "r1"),
        (1, 2, 3.0, "r2", "r2"),
        (2, 1, 1.0, "r1", "r1"),
    ]
    assert dict(table.frame.dtypes) | {"effective_from": "timestamp", "_version": "bigint"} == dict(table.frame.dtypes)


def test_every_version_has_an_id_and_a_reason(dimension: Callable[..., Dimension]) -> None:
    table = dimension(timestamp_field="at", track_columns=["a", "b"])
    table.apply([(1, "x", None, date(2024, 1, 1))], "id int, a string, b string, at date")
    table.apply(
        [(1, "y", "z", date(2024, 1, 2)), (1, "y", None, date(2024, 1, 3))], "id int, a string, b string, at date"
    )
    assert table.rows("_version", "_change_reason") == [(1, "initial_load"), (2, "a,b"), (3, "b")]
    assert (
        table.frame.where(
            F.col("_sk") == F.substring(F.sha2(F.expr("concat(id, '|', effective_from)"), 256), 1, 16)
        ).count()
        == 3
    )
    assert dict(table.frame.dtypes)["effective_from"] == "date"


def test_without_a_timestamp_the_run_is_the_time_of_change(dimension: Callable[..., Dimension]) -> None:
    fields = [
        {"name": "sk", "type": "long", "required": True},
        {"name": "effective_from", "type": "timestamp", "required": True},
    ]
    table = dimension(scd2={"surrogate_key": "sk"}, said={"model": {"fields": fields}})
    # Without named columns every change counts, but not who loaded the row.
    schema = "id int, v string, tags map<string,int>, _lakelogic_run_id string"
    tags = {"k": 1}
    table.apply([(1, "a", tags, "r1"), (None, "x", tags, "r1")], schema)
    rows = [(1, "b", tags, "r2"), (None, "x", tags, "r2")]
    assert table.apply(rows, schema, NOW + timedelta(days=1)) == Scd2Result(0, 1, 1, 0, 1)
    # A clock that was set back replaces the newest version instead of writing before it.
    rows = [(1, "c", tags, "r3"), (None, "x", {"k": 2}, "r3")]
    assert table.apply(rows, schema, NOW - timedelta(days=9)) == Scd2Result(0, 1, 1, 0, 2)
    shown = [
        F.col(name).cast("string") for name in ("id", "v", "effective_from", "effective_to", "is_current", "_version")
    ]
    assert table.rows(*shown) == [
        ("1", "a", "1900-01-01 00:00:00", "2026-02-04 00:00:00", "false", "1"),
        ("1", "c", "2026-02-04 00:00:00", "9999-12-31 00:00:00", "true", "2"),
        (None, "x", "1900-01-01 00:00:00", "2026-01-25 00:00:00", "false", "1"),
        (None, "x", "2026-01-25 00:00:00", "9999-12-31 00:00:00", "true", "2"),
    ]
    assert table.frame.columns[:2] == ["sk", "effective_from"]
    assert table.frame.where("sk >= 0").select("sk").distinct().count() == 4


def test_changes_within_one_day_of_a_dated_history_end_as_the_last_of_them(dimension: Callable[..., Dimension]) -> None:
    fields = [{"name": "effective_from", "type": "date"}, {"name": "effective_to", "type": "date"}]
    table = dimension(scd2={"timestamp_field": "at", **PLAIN}, said={"model": {"fields": fields}})
    said = [("a", 1, 1), ("b", 2, 3), ("c", 2, 9), ("d", 2, 5)]
    rows = [(value, datetime(2024, 1, day, hour)) for value, day, hour in said]
    for each in (0, 2):
        batch = [(1, *row) for row in rows[each : each + 2]] + [(2, *row) for row in rows[::-1][each : each + 2]]
        table.apply(batch, "id int, v string, at timestamp")
    for key in (1, 2):
        assert sorted(table.frame.where(f"id = {key}").select("v", "effective_from", "effective_to").collect()) == [
            ("a", date(1900, 1, 1), date(2024, 1, 2)),
            ("c", date(2024, 1, 2), date(9999, 12, 31)),
        ]


def test_the_unknown_member_is_written_once(dimension: Callable[..., Dimension]) -> None:
    unknown = {"enabled": True, "surrogate_key_value": "-1", "default_values": {"name": "nobody"}}
    table = dimension(timestamp_field="at", surrogate_key="sk", unknown_member=unknown)
    schema = "id int, name string, city string, active boolean, at timestamp, _lakelogic_run_id string"
    table.apply([(1, "a", "b", True, datetime(2024, 1, 1), "r1")], schema)
    assert table.apply([(-1, "real", "b", True, datetime(2024, 1, 2), "r2")], schema) == Scd2Result(1, 0, 0, 0, 1)
    assert table.apply([(-1, "real", "c", True, datetime(2024, 1, 3), "r3")], schema) == Scd2Result(0, 1, 1, 0, 2)
    members = table.frame.where("sk = '-1'").withColumn("effective_to", F.col("effective_to").cast("string")).collect()
    assert [row.asDict() | {"effective_from": None} for row in members] == [
        {
            "id": -1, "name": "nobody", "city": "Unknown", "active": False, "at": None, "sk": "-1", "is_current": True,
            "effective_from": None, "effective_to": "9999-12-31 00:00:00", "_version": 1,
            "_change_reason": "initial_load", "_lakelogic_run_id": "r1",
        }
    ]  # fmt: skip
    assert table.frame.where("id = -1").count() == 3


def test_the_shape_of_the_table_may_change_with_the_rows(dimension: Callable[..., Dimension]) -> None:
    table = dimension(timestamp_field="at", **PLAIN)
    table.apply([(1, "a", "kept", "2024-01-01")], "id int, v string, old string, at string")
    assert table.apply([(1, "b", 5, "2024-01-02")], "id int, v string, new int, at string").new_versions == 1
    assert table.rows("v", "old", "new") == [("a", "kept", None), ("b", None, 5)]
    table.contract = table.contract.model_copy(update={"schema_policy": SchemaPolicy(evolution="strict")})
    with pytest.raises(SchemaError, match="`more`"):
        table.apply([(1, "2024-01-01", "a")], "id int, at string, more string")


@pytest.mark.parametrize(
    ("scd2", "complaint"),
    [
        ({"timestamp_field": "nope"}, "timestamp_field: nope"),
        ({"track_columns": ["nope"]}, "track_columns` names nope"),
        ({"business_key": ["nope"]}, "key column nope"),
        ({"surrogate_key": "n"}, "`n` is declared int; declare it string or long"),
    ],
)
def test_settings_that_the_rows_do_not_fit_are_refused(
    dimension: Callable[..., Dimension], scd2: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(EngineError, match=complaint):
        dimension(scd2=scd2, said={"model": {"fields": [{"name": "n", "type": "int"}]}}).apply(
            [(1, "a")], "id int, v string"
        )


Version = tuple[int, str | None]


def with_rows(stored: Sequence[Version], came: Sequence[Version]) -> list[Version]:
    """The versions of a key after a batch: one a time, the greater value where two meet, repetitions left out."""
    by_value = sorted([*stored, *came], key=lambda pair: (pair[1] is not None, pair[1] or ""))
    ordered = sorted(dict(by_value).items())
    return ordered[:1] + [after for before, after in pairwise(ordered) if before[1] != after[1]]


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32))
def test_batches_in_any_order_agree_with_plain_python(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """150 keys with up to six rows each in three batches that come in any order, one of them twice.

    Half of the keys never return to a value they had: for them the order of the batches must not matter at all.
    """
    draw = random.Random(seed)  # noqa: S311 - nothing secret is drawn
    batches: list[list[tuple[int | None, int, str | None]]] = [[], [], []]
    keys = [None, *range(1, 150)]
    for key in keys:
        for number in range(draw.randint(1, 6)):
            time = draw.randint(1, 8)
            value = f"v{time}.{number}" if (key or 0) % 2 else draw.choice([None, "a", "b"])
            batches[draw.randrange(3)].append((key, time, value))
    order = draw.sample(batches, 3)
    order.append(draw.choice(batches))
    table = Dimension(
        spark, tmp_path_factory.mktemp("any") / "table", {"timestamp_field": "at", "track_columns": ["v"], **PLAIN}
    )
    expected: dict[int | None, list[Version]] = {}
    for batch in order:
        rows = [(key, date(2024, 1, time), value, f"{key} {time} {value}") for key, time, value in batch]
        table.apply(rows, "id int, at date, v string, note string")
        for key in {row[0] for row in batch}:
            expected[key] = with_rows(expected.get(key, ()), [row[1:] for row in batch if row[0] == key])
    found: dict[int | None, list[Any]] = {}
    for row in table.frame.orderBy("_version").collect():
        found.setdefault(row.id, []).append(
            (row.at.day, row.v, row.note, row.effective_from, row.effective_to, row.is_current, row._version)
        )
    assert found == {key: history(key, versions) for key, versions in expected.items()}
    everything = [row for batch in batches for row in batch]
    for key in (key for key in keys if (key or 0) % 2):
        assert expected[key] == with_rows((), [row[1:] for row in everything if row[0] == key])


def history(key: int | None, versions: Sequence[Version]) -> list[Any]:
    """How the versions of a key look in the table."""
    starts = [date(1900, 1, 1), *(date(2024, 1, time) for time, _ in versions[1:]), date(9999, 12, 31)]
    return [
        (time, value, f"{key} {time} {value}", starts[place], starts[place + 1], place + 1 == len(versions), place + 1)
        for place, (time, value) in enumerate(versions)
    ]
