from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.errors import EngineError, NotFoundError
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations import apply_steps

if TYPE_CHECKING:
    from collections.abc import Callable


Apply = Any


@pytest.fixture
def apply(scope_of: Callable[..., Scope]) -> Apply:
    def applied(query: str, *steps: dict[str, Any], partitions: int = 1, **contract: Any) -> list[dict[str, Any]]:
        scope = scope_of(**contract)
        frame = scope.spark.sql(query)
        frame = frame.repartition(partitions) if partitions > 1 else frame
        made = apply_steps(frame, [Transformation.model_validate(step) for step in steps], scope)
        return sorted((row.asDict(recursive=True) for row in made.collect()), key=str)

    return applied


def fields(**kinds: str) -> dict[str, Any]:
    return {"fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}


def test_only_what_is_true_passes_a_filter(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES ('5'), ('x'), (null), ('50') AS t(a)"
    assert apply(rows, {"filter": {"sql": "cast(a AS int) > 10"}}) == [{"a": "50"}]


def test_one_row_of_each_key_stays_the_newest(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (1, 'a', 1), (1, 'b', 3), (1, 'c', null), (2, 'd', null) AS t(k, v, t)"
    assert apply(rows, {"deduplicate": {"on": ["k"], "sort_by": "t"}}) == [
        {"k": 1, "v": "b", "t": 3},
        {"k": 2, "v": "d", "t": None},
    ]
    assert apply(rows, {"deduplicate": {"by": "k", "sort_by": ["t"], "order": "asc"}})[0]["v"] == "a"
    assert apply(rows, {"deduplicate_by_latest": {"key_columns": ["k"], "timestamp_column": "t"}})[0]["v"] == "b"


def test_the_winner_is_the_same_however_the_rows_lie(apply: Apply) -> None:
    rows = "SELECT id % 3 AS k, cast(id AS string) AS v, map('a', id) AS m FROM range(300)"
    once = apply(rows, {"deduplicate": ["k"]}, partitions=1)
    assert [row["v"] for row in once] == [row["v"] for row in apply(rows, {"deduplicate": ["k"]}, partitions=7)]
    assert {row["v"] for row in once} == {"99", "97", "98"}


def test_without_an_order_the_row_processed_last_wins(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (1, 'z', 1), (1, 'a', 2) AS t(k, v, _lakelogic_processed_at)"
    assert apply(rows, {"deduplicate": ["k"]})[0]["v"] == "a"


def test_text_is_sorted_by_its_declared_type(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (1, '9'), (1, '10'), (1, 'x') AS t(k, version)"
    step = {"deduplicate": {"on": ["k"], "sort_by": "version"}}
    assert apply(rows, step, model=fields(version="int")) == [{"k": 1, "version": "10"}]


def test_rows_without_a_key_are_left_for_the_rules_when_asked_for(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (null, 'a'), (null, 'b'), ('', 'c'), ('k', 'd'), ('k', 'e') AS t(k, v)"
    assert len(apply(rows, {"deduplicate": {"on": ["k"], "blank_keys": "quarantine"}})) == 4
    assert len(apply(rows, {"deduplicate": {"on": ["k"]}})) == 3


def test_arrays_become_rows_and_empty_ones_none(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (1, array('a', 'b')), (2, array()), (3, null) AS t(id, tags)"
    assert apply(rows, {"explode": {"field": "tags", "output": "tag"}}) == [
        {"id": 1, "tags": ["a", "b"], "tag": "a"},
        {"id": 1, "tags": ["a", "b"], "tag": "b"},
    ]
    assert apply(rows, {"explode": {"field": "tags"}}) == [{"id": 1, "tags": "a"}, {"id": 1, "tags": "b"}]


def test_arrays_in_text_become_rows_too(apply: Apply) -> None:
    rows = """SELECT * FROM VALUES (1, '["a", {"b": 1}]'), (2, '[]'), (3, null), (4, 'alone'), (5, '') AS t(id, tags)"""
    made = apply(rows, {"explode": {"field": "tags"}})
    assert [(row["id"], row["tags"]) for row in made] == [(1, "a"), (1, '{"b":1}'), (4, "alone")]


def test_a_range_of_dates_includes_both_ends(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES (1, '2024-01-30', '20240201'), (2, '2024-01-02', '2024-01-01') AS t(id, a, b)"
    made = apply(rows, {"date_range_explode": {"output": "d", "start_col": "a", "end_col": "b"}})
    assert [(row["id"], row["d"]) for row in made] == [
        (1, date(2024, 1, 30)),
        (1, date(2024, 1, 31)),
        (1, date(2024, 2, 1)),
    ]


def test_a_range_without_an_end_goes_up_to_the_day_of_the_run(apply: Apply) -> None:
    rows = "SELECT timestamp'2026-02-01 23:59:00' AS a, cast(null AS date) AS b"
    for step in ({"end_col": "b"}, {}):
        made = apply(rows, {"date_range_explode": {"output": "d", "start_col": "a", **step}})
        assert [row["d"].day for row in made] == [1, 2, 3]


def test_a_range_is_not_capped_at_today(apply: Apply) -> None:
    made = apply(
        "SELECT '2026-01-31' AS a, '2027-01-31' AS b",
        {"date_range_explode": {"output": "d", "start_col": "a", "end_col": "b", "interval": "6 months"}},
    )
    assert [str(row["d"]) for row in made] == ["2026-01-31", "2026-07-31", "2027-01-31"]


SALES = """SELECT * FROM VALUES
  ('eu', 'a', '1', 10.0D, 'r1'), ('eu', 'b', '2', 20.0D, 'r2'),
  ('eu', 'a', '3', 5.0D, 'r1'), ('us', 'a', null, 7.0D, 'r1')
  AS t(region, product, id, amount, _upstream_lakelogic_run_id)"""


def test_a_rollup_traces_its_keys_and_runs(apply: Apply) -> None:
    step = {"group_by": ["region"], "aggregations": {"total": "SUM(amount)", "n": "COUNT(*)"}, "keys": "id"}
    assert apply(SALES, {"rollup": step}) == [
        {
            "region": "eu", "total": 35.0, "n": 3, "_lakelogic_rollup_keys": ["1", "2", "3"],
            "_lakelogic_rollup_keys_count": 3, "_upstream_lakelogic_run_ids": ["r1", "r2"],
        },
        {
            "region": "us", "total": 7.0, "n": 1, "_lakelogic_rollup_keys": [],
            "_lakelogic_rollup_keys_count": 0, "_upstream_lakelogic_run_ids": ["r1"],
        },
    ]  # fmt: skip


def test_keys_of_several_columns_are_joined_and_counted_once_or_each_time(apply: Apply) -> None:
    names = {"rollup_keys_column": "k", "rollup_keys_count_column": "n", "upstream_run_ids_column": None}
    made = apply(SALES, {"rollup": {"keys": ["region", "product"], **names}})
    assert made == [{"k": ["eu||a", "eu||b", "us||a"], "n": 3}]
    made = apply(SALES, {"rollup": {"key_expr": "lower(product)", "distinct": False, **names}})
    assert made == [{"k": ["a", "a", "a", "b"], "n": 4}]


def test_upstream_runs_are_only_traced_where_there_are_any(apply: Apply) -> None:
    step = {"group_by": ["a"], "aggregations": {"n": "count(*)"}, "upstream_run_id_column": "_upstream_run_id"}
    assert apply("SELECT 1 AS a", {"rollup": step}) == [{"a": 1, "n": 1}]


def test_a_measure_that_raises_is_null_or_leaves_the_row_out(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES ('g', '4', 2), ('g', 'x', 2), ('g', '6', 0) AS t(g, a, b)"
    step = {
        "group_by": ["g"],
        "aggregations": {"s": "sum(cast(a AS int) / b)", "q": "count(*) / sum(b - b)", "m": "max(a)"},
    }
    assert apply(rows, {"rollup": step}) == [{"g": "g", "s": 2.0, "q": None, "m": "x"}]


def test_text_declared_as_a_number_is_added_up_as_one(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES ('1.5'), ('2'), ('x') AS t(amount)"
    made = apply(rows, {"rollup": {"aggregations": {"s": "sum(amount)"}}}, model=fields(amount="float"))
    assert made == [{"s": 3.5}]


def test_a_pivot_has_a_column_for_each_listed_value(apply: Apply) -> None:
    step = {"id_vars": ["region"], "pivot_col": "product", "value_col": "amount", "values": ["a", "b"], "agg": "sum"}
    assert apply(SALES, {"pivot": {**step, "fill_value": 0}}) == [
        {"region": "eu", "amount_a": 15.0, "amount_b": 20.0},
        {"region": "us", "amount_a": 7.0, "amount_b": 0.0},
    ]
    named = {"name_template": "{pivot_alias}__{value_col}__{pivot_value}", "value_aliases": {"a": "apples"}}
    assert set(apply(SALES, {"pivot": {**step, **named}})[0]) == {"region", "apples__amount__a", "b__amount__b"}


def test_a_pivot_can_have_several_columns_and_aggregates(apply: Apply) -> None:
    step = {
        "pivot_cols": ["region", "product"],
        "value_cols": ["amount", "id"],
        "values": [["eu", "a"], "us_a"],
        "aggs": {"amount": "max", "id": "count_distinct"},
    }
    assert apply(SALES, {"pivot": step}) == [{"amount_eu_a": 10.0, "id_eu_a": 2, "amount_us_a": 7.0, "id_us_a": 0}]
    with pytest.raises(EngineError, match="3 parts for 2"):
        apply(SALES, {"pivot": {**step, "values": [["a", "b", "c"]]}})


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("first", "1"), ("last", "9"), ("min", "1"), ("max", "9"), ("count", 3), ("avg", 4.0), ("mean", 4.0)],
)
def test_every_aggregate_of_a_pivot_is_determined(apply: Apply, aggregate: str, expected: Any) -> None:
    rows = "SELECT * FROM VALUES ('p', '9'), ('p', '2'), ('p', '1'), ('p', null) AS t(p, v)"
    step = {"pivot_col": "p", "value_col": "v", "values": ["p"], "agg": aggregate}
    assert apply(rows, {"pivot": step}, partitions=3) == [{"v_p": expected}]


def test_an_unpivot_has_a_row_for_each_value(apply: Apply) -> None:
    row = "SELECT 1 AS id, 10 AS jan, cast(null AS int) AS feb, 'x' AS other"
    step = {"id_vars": ["id"], "value_vars": ["jan", "feb"], "key_field": "month", "value_field": "amount"}
    assert apply(row, {"unpivot": step}) == [{"id": 1, "month": "jan", "amount": 10}]
    both = apply(row, {"unpivot": {**step, "include_nulls": True, "value_aliases": {"feb": "february"}}})
    assert both == [{"id": 1, "month": "february", "amount": None}, {"id": 1, "month": "jan", "amount": 10}]
    mixed = apply(row, {"unpivot": {"value_cols": ["jan", "other"]}})
    assert mixed == [{"key": "jan", "value": "10"}, {"key": "other", "value": "x"}]


@pytest.mark.parametrize(
    "step",
    [{"deduplicate": ["k", "gone"]}, {"deduplicate_by_latest": {"key_columns": ["gone"], "timestamp_column": "t"}}],
)
def test_a_key_that_is_not_there_never_makes_copies_of_other_rows(apply: Apply, step: dict[str, Any]) -> None:
    with pytest.raises(NotFoundError, match=r"^made removes duplicates by `gone`, which is not a column here"):
        apply("SELECT 1 AS k, 2 AS t", step)
