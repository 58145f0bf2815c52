from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from delta.tables import DeltaTable

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.source import Link
from lakelogic_assets.errors import NotFoundError, SourceError
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import Boundary, read_link, read_source
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

NAME = "cat.sales.orders"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def scope_of(spark: SparkSession, tmp_path: Path, warnings: list[str]) -> Callable[..., Scope]:
    """A scope for a contract given as a mapping: its own session, a folder as lakehouse."""

    def made(**contract: Any) -> Scope:
        return Scope(
            spark=spark.newSession(),
            contract=Contract.model_validate({"info": {"title": "t", "table_name": "made"}, **contract}),
            lakehouse=Lakehouse(tmp_path / "lake", project_root=tmp_path, contract_folder=tmp_path),
            run_id="run-1",
            pipeline_run_id="run-1",
            started_at=datetime(2026, 2, 3, 12, tzinfo=UTC),
            warn=warnings.append,
        )

    return made


@pytest.fixture
def table(spark: SparkSession, scope_of: Callable[..., Scope]) -> Callable[..., str]:
    """Writes batches of ids to a table, a version each, and gives its path."""

    def made(*batches: range, feed: bool = False) -> str:
        path = scope_of().lakehouse.table_path(NAME)
        if feed:
            properties = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
            spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, day STRING) USING delta {properties}")
        for batch in batches:
            frame = spark.range(batch.start, batch.stop).selectExpr("id", "concat('d', id % 2) AS day")
            frame.write.format("delta").mode("append").save(path)
        return path

    return made


def ids(scope: Scope, boundary: Boundary | None = None) -> list[int]:
    return sorted(row["id"] for row in read_source(scope, boundary or Boundary()).frame.collect())


@pytest.mark.parametrize("path", [f"table:{NAME}", "table:`cat`.sales.orders", "lake/warehouse/cat/sales/orders"])
def test_a_table_is_read_by_any_of_its_names(scope_of: Any, table: Any, path: str) -> None:
    table(range(3))
    read = read_source(scope_of(source={"path": path}), Boundary())
    assert sorted(row["id"] for row in read.frame.collect()) == [0, 1, 2]
    assert (read.corrupt, read.row_source, read.snapshot.version) == (None, None, 0)


def test_rows_written_after_the_look_are_not_read(scope_of: Any, table: Any) -> None:
    table(range(3))
    read = read_source(scope_of(source={"path": f"table:{NAME}"}), Boundary())
    table(range(3, 9))
    assert read.frame.count() == 3


def test_a_table_that_does_not_exist_is_named(scope_of: Any) -> None:
    with pytest.raises(NotFoundError, match=r"cat\.sales\.orders does not exist"):
        read_source(scope_of(source={"type": "table", "path": NAME}), Boundary())


def test_rows_added_between_versions_are_read_without_a_feed(scope_of: Any, table: Any, warnings: list[str]) -> None:
    table(range(2), range(2, 4), range(4, 6))
    scope = scope_of(source={"path": f"table:{NAME}"})
    assert ids(scope, Boundary(from_version=1)) == [2, 3, 4, 5]
    assert ids(scope, Boundary(from_version=1, to_version=1)) == [2, 3]
    assert ids(scope, Boundary(from_version=0, to_version=0)) == [0, 1]
    assert warnings == []


def test_versions_that_rewrote_rows_are_compared(spark: Any, scope_of: Any, table: Any, warnings: list[str]) -> None:
    DeltaTable.forPath(spark, table(range(4))).update("id = 1", {"id": "99"})
    scope = scope_of(source={"path": f"table:{NAME}"})
    assert ids(scope, Boundary(from_version=1)) == [99]
    assert "compared row by row" in warnings[0]


def test_the_change_feed_gives_what_came_and_changed(spark: Any, scope_of: Any, table: Any) -> None:
    written = DeltaTable.forPath(spark, table(range(4), feed=True))
    written.update("id = 1", {"day": "'x'"})
    written.delete("id = 2")
    scope = scope_of(source={"path": f"table:{NAME}"})
    read = read_source(scope, Boundary(from_version=2))
    assert [row.asDict() for row in read.frame.collect()] == [{"id": 1, "day": "x"}]
    cdc = {"path": f"table:{NAME}", "load_mode": "cdc", "cdc_op_field": "_change_type", "cdc_delete_values": ["delete"]}
    changes = read_source(scope_of(source=cdc), Boundary(from_version=2)).frame
    assert sorted(row["_change_type"] for row in changes.collect()) == ["delete", "update_postimage", "update_preimage"]


def test_nothing_new_is_an_empty_source(scope_of: Any, table: Any) -> None:
    table(range(2))
    read = read_source(scope_of(source={"path": f"table:{NAME}"}), Boundary(from_version=1))
    assert read.snapshot.is_empty
    assert read.frame.count() == 0


def test_filters_reach_the_scan_of_a_table(scope_of: Any, table: Any) -> None:
    table(range(10))
    scope = scope_of(source={"path": f"table:{NAME}", "partition_filters": {"day": "d1"}})
    frame = read_source(scope, Boundary(where=("id > 5",))).frame
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThan(id,5)" in plan
    assert "EqualTo(day,d1)" in plan
    assert sorted(row["id"] for row in frame.collect()) == [7, 9]


def test_filters_on_columns_that_are_not_there_are_refused(scope_of: Any, table: Any) -> None:
    table(range(2))
    with pytest.raises(SourceError, match="`gone`, which is not a column"):
        read_source(scope_of(source={"path": f"table:{NAME}", "partition_filters": {"gone": 1}}), Boundary())


@pytest.mark.parametrize("kind", ["jdbc", "kafka", "api"])
def test_kinds_of_sources_that_are_not_read_say_so(scope_of: Any, kind: str) -> None:
    with pytest.raises(SourceError, match=f"`{kind}`, which is not supported"):
        read_source(scope_of(source={"type": kind, "path": "x"}), Boundary())


def test_versions_need_a_table(scope_of: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match="needs a Delta table"):
        read_source(scope_of(source={"path": "a.csv"}), Boundary(from_version=1))


def link(scope: Scope, **parts: Any) -> list[dict[str, Any]]:
    frame = read_link(scope, Link.model_validate({"name": "ref", **parts}))
    return sorted((row.asDict() for row in frame.collect()), key=str)


def test_a_link_is_filtered_by_columns_it_does_not_show(scope_of: Any, tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "a", "live": True}, {"id": 2, "name": "b", "live": False}]
    (tmp_path / "ref.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert link(scope_of(), path="ref.jsonl", filter="live", columns=["name"]) == [{"name": "a"}]
    query = "SELECT max(id) AS top FROM {link}"
    assert link(scope_of(), path="ref.jsonl", query=query) == [{"top": 2}]


@pytest.mark.parametrize("parts", [{"table": NAME}, {"path": f"table:{NAME}"}, {"type": "table", "path": NAME}])
def test_a_link_may_be_a_table(scope_of: Any, table: Any, parts: dict[str, str]) -> None:
    table(range(1))
    assert link(scope_of(), **parts) == [{"id": 0, "day": "d0"}]


@pytest.mark.parametrize("parts", [{"table": NAME}, {"path": "none.csv"}, {"type": "delta", "path": "none"}])
def test_a_link_that_is_not_there_is_named_at_once(scope_of: Any, parts: dict[str, str]) -> None:
    with pytest.raises(NotFoundError, match="The link `ref` reads"):
        link(scope_of(), **parts)


def test_a_link_column_or_filter_that_cannot_work_is_named(scope_of: Any, tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match="`ref` has no column `gone`"):
        link(scope_of(), path="ref.csv", columns=["gone"])
    with pytest.raises(SourceError, match=r"filter of the link `ref` cannot run.*`gone`"):
        link(scope_of(), path="ref.csv", filter="gone > 1")


def test_text_links_have_types_only_where_nothing_is_lost(scope_of: Any, tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text(
        "n,code,price,rate,flag,v,none\n1,007,9.90,0.5,true,1.10,\n22,8,10.00,1.25,false,x,\n"
    )
    frame = read_link(scope_of(), Link.model_validate({"name": "ref", "path": "ref.csv", "filter": "price > 9"}))
    assert dict(frame.dtypes) == {
        "n": "bigint", "code": "string", "price": "decimal(24,2)", "rate": "double", "flag": "boolean", "v": "string",
        "none": "string",
    }  # fmt: skip
    assert frame.count() == 2


def test_malformed_reference_data_is_an_error(scope_of: Any, tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text("id,v\n1,a\n2\n")
    with pytest.raises(SourceError, match="1 rows of the link `ref` are malformed"):
        link(scope_of(), path="ref.csv")


def test_a_scope_with_links_can_be_made_from_one_without(scope_of: Any, table: Any) -> None:
    table(range(1))
    scope = scope_of(links=[{"name": "ref", "table": NAME}])
    scope = replace(scope, links={each.name: read_link(scope, each) for each in scope.contract.links})
    assert list(scope.links) == ["ref"]
