from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.errors import EngineError, NotFoundError
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations import apply_steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


Apply = Any

CITIES = [
    {"code": 1, "name": "Ulm", "pop": 126, "live": True},
    {"code": 2, "name": "Bonn", "pop": 330, "live": True},
    {"code": 2, "name": "Aachen", "pop": 250, "live": False},
    {"code": None, "name": "Nowhere", "pop": 0, "live": True},
]


@pytest.fixture
def apply(scope_of: Callable[..., Scope], tmp_path: Path) -> Apply:
    (tmp_path / "cities.jsonl").write_text("\n".join(json.dumps(city) for city in CITIES))

    def applied(query: str, *steps: dict[str, Any], link: dict[str, Any] | None = None, **contract: Any) -> list[Any]:
        links = [{"name": "cities", "path": "cities.jsonl", **(link or {})}]
        scope = scope_of(links=links, **contract)
        made = apply_steps(scope.spark.sql(query), [Transformation.model_validate(step) for step in steps], scope)
        return sorted((row.asDict(recursive=True) for row in made.collect()), key=str)

    return applied


ROWS = "SELECT * FROM VALUES ('1', 'a'), ('2', 'b'), ('x', 'c'), (null, 'd') AS t(city, v)"


@pytest.mark.parametrize("name", ["source", "{dataset}", "sales", "made"])
def test_a_query_reads_the_rows_under_any_of_their_names(apply: Apply, name: str) -> None:
    text = "SELECT a + 1 AS b FROM source".replace("source", name)
    made = apply("SELECT 1 AS a, 'f' AS __ll_source", {"sql": text}, dataset="sales")
    assert made == [{"b": 2}]


def test_a_query_reads_links_and_may_unite_them_with_the_rows(apply: Apply) -> None:
    text = "SELECT * FROM source UNION ALL SELECT cast(code AS string), name FROM cities WHERE code = 1"
    rows = "SELECT 'x' AS city, 'y' AS v, 'f' AS __ll_source"
    assert apply(rows, {"sql": text}) == [{"city": "1", "v": "Ulm"}, {"city": "x", "v": "y"}]


def test_duckdb_words_are_translated(apply: Apply) -> None:
    made = apply(ROWS, {"sql": "SELECT * EXCLUDE (city) FROM source QUALIFY row_number() OVER (ORDER BY v) = 1"})
    assert made == [{"v": "a"}]


def test_a_select_list_replaces_and_adds_and_keeps_the_rest_in_place(apply: Apply) -> None:
    row = "SELECT 1 AS id, ' A@B.C ' AS email, 0 AS n, 'f' AS __ll_source"
    text = (
        "LOWER(TRIM(email)) AS email, concat(email, ', (x') AS `a b`, id + 1 next_id, id / n AS broken, upper('y') AS y"
    )
    assert apply(row, {"sql": text}) == [
        {
            "id": 1,
            "email": "a@b.c",
            "n": 0,
            "__ll_source": "f",
            "a b": " A@B.C , (x",
            "next_id": 2,
            "broken": None,
            "y": "Y",
        }
    ]


def test_a_select_list_without_names_gets_those_of_spark(apply: Apply) -> None:
    assert apply("SELECT 'A' AS a", {"sql": "lower(a), *, a"}) == [{"a": "A", "lower(a)": "a"}]


def test_a_select_list_may_make_rows(apply: Apply) -> None:
    assert len(apply("SELECT array(1, 2) AS l", {"sql": "explode(l) AS e"})) == 2


def test_a_query_that_cannot_run_says_so_in_one_line(apply: Apply) -> None:
    with pytest.raises(EngineError, match=r"A `sql` step of made cannot run.*`gone`") as caught:
        apply(ROWS, {"sql": "SELECT gone FROM source"})
    assert "\n" not in str(caught.value)


def test_two_contracts_do_not_see_each_others_views(scope_of: Any) -> None:
    first, second = scope_of(), scope_of()
    step = [Transformation.model_validate({"sql": "SELECT a FROM source"})]
    frames = [apply_steps(scope.spark.sql(f"SELECT {n} AS a"), step, scope) for n, scope in ((1, first), (2, second))]
    assert [frame.collect() for frame in frames] == [[(1,)], [(2,)]]
    first.spark.sql("SELECT 1 AS a").createOrReplaceTempView("hidden_ones")
    peeking = [Transformation.model_validate({"sql": "SELECT a FROM hidden_ones"})]
    with pytest.raises(EngineError, match="hidden_ones"):
        apply_steps(frames[1], peeking, second)


def test_a_frame_of_another_session_is_moved(scope_of: Any, spark: SparkSession) -> None:
    step = [Transformation.model_validate({"sql": "SELECT id * 2 AS id FROM source"})]
    made = apply_steps(spark.newSession().range(1, 2), step, scope_of())
    assert made.collect() == [(2,)]


def test_a_lookup_brings_one_value_and_never_doubles_a_row(apply: Apply) -> None:
    step = {"field": "name", "reference": "cities", "on": "city", "key": "code", "value": "name", "default_value": "?"}
    made = apply(ROWS, {"lookup": step})
    assert [(row["v"], row["name"]) for row in made] == [("a", "Ulm"), ("b", "Bonn"), ("c", "?"), ("d", "?")]
    assert set(made[0]) == {"city", "v", "name"}


def test_a_lookup_writes_over_a_column_of_its_name(apply: Apply) -> None:
    made = apply(ROWS, {"lookup": {"field": "v", "reference": "cities", "on": "city", "key": "code", "value": "pop"}})
    assert {row["city"]: row["v"] for row in made} == {"1": 126, "2": 330, "x": None, None: None}


def test_a_default_of_another_type_makes_text(apply: Apply) -> None:
    step = {"field": "p", "reference": "cities", "on": "city", "key": "code", "value": "pop", "default_value": "none"}
    assert {row["p"] for row in apply(ROWS, {"lookup": step})} == {"126", "330", "none"}


JOIN = {"reference": "cities", "on": "city", "key": "code", "fields": ["name", "pop"]}


def test_a_join_adds_only_its_fields(apply: Apply) -> None:
    made = apply(
        ROWS, {"join": {**JOIN, "prefix": "c_", "defaults": {"name": "?", "c_pop": -1}}}, link={"filter": "live"}
    )
    assert [(row["v"], row["c_name"], row["c_pop"]) for row in made] == [
        ("a", "Ulm", 126), ("b", "Bonn", 330), ("c", "?", -1), ("d", "?", -1),
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "count"), [("left", 5), ("inner", 3), ("right", 4), ("full", 6)])
def test_joins_of_every_type(apply: Apply, kind: str, count: int) -> None:
    made = apply(ROWS, {"join": {**JOIN, "type": kind}})
    assert len(made) == count
    assert set(made[0]) == {"city", "v", "name", "pop"}


def test_a_row_that_only_the_link_has_carries_its_key(apply: Apply) -> None:
    made = apply("SELECT '1' AS city", {"join": {**JOIN, "type": "full"}}, link={"filter": "code IS NOT NULL"})
    assert sorted((row["city"], row["name"]) for row in made) == [("1", "Ulm"), ("2", "Aachen"), ("2", "Bonn")]


def test_a_join_writes_over_columns_of_the_same_name(apply: Apply) -> None:
    made = apply("SELECT 1 AS city, 'old' AS NAME, 'x' AS z", {"join": {**JOIN, "fields": ["name"]}})
    assert made == [{"city": 1, "name": "Ulm", "z": "x"}]


def test_a_link_or_column_that_is_not_there_is_named(apply: Apply) -> None:
    with pytest.raises(NotFoundError, match="`towns`, which is none of its links"):
        apply(ROWS, {"join": {**JOIN, "reference": "towns"}})
    with pytest.raises(NotFoundError, match="`cities` has no column `size`"):
        apply(ROWS, {"join": {**JOIN, "fields": ["size"]}})


def test_a_row_without_the_column_matches_nothing(apply: Apply, warnings: list[str]) -> None:
    made = apply("SELECT 'a' AS v", {"join": JOIN})
    assert made == [{"v": "a", "name": None, "pop": None}]
    assert "`city`" in warnings[0]
