from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.schema import uncast_column
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.transformations import apply_steps, changes_row_count

if TYPE_CHECKING:
    from collections.abc import Callable


Apply = Any


@pytest.fixture
def apply(scope_of: Callable[..., Scope]) -> Apply:
    """Rows as text-keyed mappings in, steps through, rows out."""

    def applied(query: str, *steps: dict[str, Any], **contract: Any) -> list[dict[str, Any]]:
        scope = scope_of(**contract)
        frame = scope.spark.sql(query)
        made = apply_steps(frame, [Transformation.model_validate(step) for step in steps], scope)
        return [row.asDict(recursive=True) for row in made.collect()]

    return applied


def model(**fields: str) -> dict[str, Any]:
    return {"fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def test_what_a_cast_cannot_cast_is_null_and_kept_aside_until_its_row_is_judged(apply: Apply) -> None:
    made = apply(
        "SELECT * FROM VALUES ('1', array(1, 2)), ('x', null) AS t(a, l)",
        {"cast": {"columns": {"a": "int", "l": "string", "gone": "int"}}},
    )
    aside = uncast_column("a", "int")
    assert made == [{"a": 1, "l": "[1,2]", aside: None}, {"a": None, "l": None, aside: "x"}]


def test_absent_columns_are_skipped_and_told(apply: Apply, warnings: list[str]) -> None:
    made = apply("SELECT 1 AS a", {"trim": ["gone"]}, {"rename": {"from": "gone", "to": "b"}}, {"drop": ["gone"]})
    assert made == [{"a": 1}]
    assert len(warnings) == 2
    assert all("`gone`" in warning for warning in warnings)


def test_text_is_trimmed_and_cased_and_numbers_are_left_alone(apply: Apply) -> None:
    made = apply(
        "SELECT ' a ' AS a, ' b ' AS b, ' c ' AS c, 1 AS n, 'Ab' AS lo, 'Ab' AS up",
        {"trim": ["a", "n"]},
        {"trim": {"fields": ["b"], "side": "left"}},
        {"trim": {"fields": ["c"], "side": "right"}},
        {"lower": ["LO"]},
        {"upper": ["up"]},
    )
    assert list(made[0].values()) == ["a", "b ", " c", 1, "ab", "AB"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"field": "out", "sources": ["a", "b"], "default": "none"}, ["B", "none"]),
        ({"field": "a", "default": "x"}, ["x", "x"]),
        ({"field": "a", "sources": ["b"], "output": "out"}, ["B", None]),
        ({"field": "out", "sources": ["n", "b"]}, ["7", None]),
        ({"field": "out", "sources": ["n"], "default": 0}, [7, 0]),
        ({"field": "out", "sources": ["n"], "default": "n/a"}, ["7", "n/a"]),
        ({"field": "out", "sources": ["gone"], "default": 5}, [5, 5]),
        ({"field": "out", "sources": ["gone"]}, [None, None]),
    ],
)
def test_coalesce_takes_the_first_value_there_is(apply: Apply, step: dict[str, Any], expected: list[Any]) -> None:
    rows = "SELECT * FROM VALUES (cast(null AS string), 'B', 7), (null, null, null) AS t(a, b, n)"
    output = step.get("output") or step["field"]
    assert [row[output] for row in apply(rows, {"coalesce": step})] == expected


@pytest.mark.parametrize(
    ("delimiter", "text"), [("|", "a|b||c"), (".", "a.b..c"), ("||", "a||b||||c"), (r"\d", r"a\db\d\dc")]
)
def test_a_delimiter_means_itself(apply: Apply, delimiter: str, text: str) -> None:
    sql_text = text.replace("\\", "\\\\")
    made = apply(f"SELECT '{sql_text}' AS s", {"split": {"field": "s", "delimiter": delimiter, "output": "p"}})
    assert made == [{"s": text, "p": ["a", "b", "", "c"]}]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"mapping": {"a": "A"}}, ["A", "b", None]),
        ({"mapping": {"a": "A"}, "default": "?"}, ["A", "?", "?"]),
        ({"mapping": {"a": "A"}, "default": None}, ["A", None, None]),
        ({"mapping": {"a": 1, "b": 2}, "default": 0}, [1, 2, 0]),
        ({"mapping": {"a": 1}}, ["1", "b", None]),
        ({"mapping": {"a": True, "b": False}, "default": None}, [True, False, None]),
        ({"mapping": {}}, ["a", "b", None]),
    ],
)
def test_values_are_mapped_exactly(apply: Apply, step: dict[str, Any], expected: list[Any]) -> None:
    rows = "SELECT * FROM VALUES ('a'), ('b'), (null) AS t(v)"
    made = apply(rows, {"map_values": {"field": "v", "output": "out", **step}})
    assert [row["out"] for row in made] == expected


def test_numbers_are_mapped_as_numbers(apply: Apply) -> None:
    made = apply("SELECT * FROM VALUES (1.0D), (2.5D) AS t(v)", {"map_values": {"field": "v", "mapping": {"1": "one"}}})
    assert [row["v"] for row in made] == ["one", "2.5"]


def test_an_expression_that_raises_is_null_in_that_row_only(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES ('4', 2), ('x', 2), ('4', 0) AS t(a, b)"
    made = apply(rows, {"derive": {"field": "c", "sql": "cast(a AS int) / b"}})
    assert [row["c"] for row in made] == [2.0, None, None]


def test_an_expression_sees_declared_types_and_the_text_stays(apply: Apply) -> None:
    rows = "SELECT * FROM VALUES ('12.5', '9'), ('abc', '10') AS t(amount, qty)"
    declared = model(amount="float", qty="int", total="float")
    made = apply(rows, {"derive": {"field": "total", "sql": "amount * qty"}}, model=declared)
    assert made == [{"amount": "12.5", "qty": "9", "total": 112.5}, {"amount": "abc", "qty": "10", "total": None}]
    kept = apply(rows, {"filter": {"sql": "amount > 10"}}, model=declared)
    assert kept == [{"amount": "12.5", "qty": "9"}]


def test_a_column_can_be_computed_from_itself(apply: Apply) -> None:
    made = apply("SELECT '7' AS qty", {"derive": {"field": "qty", "sql": "qty + 1"}}, model=model(qty="int"))
    assert made == [{"qty": 8}]


def test_the_spark_form_of_an_expression_wins(apply: Apply) -> None:
    made = apply("SELECT 1 AS a", {"derive": {"field": "b", "sql": "a", "sql_spark": "a + 1"}})
    assert made == [{"a": 1, "b": 2}]


def test_an_unknown_column_in_an_expression_is_named(apply: Apply) -> None:
    with pytest.raises(EngineError, match=r"`gone \+ 1` cannot run.*`gone`"):
        apply("SELECT 1 AS a", {"derive": {"field": "b", "sql": "gone + 1"}})


def test_buckets_are_tried_in_order_and_their_bounds_are_all_held(apply: Apply) -> None:
    bins = [{"label": "low", "lt": 10}, {"label": "mid", "gte": 10, "lt": 20}, {"label": "top", "eq": 99}]
    rows = "SELECT * FROM VALUES ('5'), ('10'), ('99'), ('50'), ('x'), (null) AS t(v)"
    made = apply(rows, {"bucket": {"field": "b", "source": "v", "bins": bins, "default": "rest"}})
    assert [row["b"] for row in made] == ["low", "mid", "top", "rest", "rest", "rest"]
    made = apply(rows, {"bucket": {"field": "b", "source": "v", "bins": bins}})
    assert [row["b"] for row in made] == ["low", "mid", "top", None, None, None]
    made = apply(rows, {"bucket": {"field": "b", "source": "v", "bins": [*bins, {"label": "all"}], "default": "none"}})
    assert [row["b"] for row in made] == ["low", "mid", "top", "all", "all", "all"]


def test_json_is_read_by_path_and_what_does_not_cast_is_null(apply: Apply) -> None:
    rows = (
        """SELECT * FROM VALUES ('{"lat": 1.5, "d": {"x": [1, 2]}}'), ('{"lat": "far"}'), ('broken'), (null) AS t(j)"""
    )
    made = apply(
        rows,
        {"json_extract": {"field": "lat", "source": "j", "path": "$.lat", "cast": "float"}},
        {"json_extract": {"field": "x", "source": "j", "path": "d.x[1]"}},
    )
    assert [(row["lat"], row["x"]) for row in made] == [(1.5, "2"), (None, None), (None, None), (None, None)]


def test_json_is_also_read_out_of_structs(apply: Apply) -> None:
    step = {"json_extract": {"field": "y", "source": "s", "path": "$.y", "cast": "int"}}
    assert apply("SELECT named_struct('y', 3) AS s", step)[0]["y"] == 3


@pytest.mark.parametrize(
    ("start", "end", "unit", "expected"),
    [
        ("'20240101'", "'20240131'", "days", 30),
        ("'2024-01-01'", "'20240131'", "days", 30),
        ("20240101", "20240131", "days", 30),
        ("'2024-01-31'", "'2024-01-01'", "days", -30),
        ("'2024-01-01T10:00:00'", "'2024-01-01 12:59:59'", "hours", 2),
        ("'2024-01-01T10:00:00Z'", "timestamp'2024-01-01 10:01:30'", "minutes", 1),
        ("date'2024-01-01'", "date'2024-01-15'", "weeks", 2),
        ("'2024-01-15'", "'2024-04-14'", "months", 2),
        ("'2020-02-29'", "'2024-02-28'", "years", 3),
        ("'2024-01-01'", "'2024-07-01'", "quarters", 2),
        ("'rubbish'", "'2024-01-01'", "days", None),
        ("'20241399'", "'2024-01-01'", "days", None),
        ("'12:30'", "'2024-01-01'", "days", None),
    ],
)
def test_dates_are_subtracted_in_whole_units(apply: Apply, start: str, end: str, unit: str, expected: Any) -> None:
    step = {"date_diff": {"field": "d", "from_col": "a", "to_col": "b", "unit": unit}}
    assert apply(f"SELECT {start} AS a, {end} AS b", step)[0]["d"] == expected


def test_hours_go_across_days_and_days_by_the_calendar(apply: Apply) -> None:
    row = "SELECT '2024-01-01 23:00:00' AS a, '2024-01-02 01:00:00' AS b"
    for unit, expected in (("hours", 2), ("days", 1)):
        assert (
            apply(row, {"date_diff": {"field": "d", "from_col": "a", "to_col": "b", "unit": unit}})[0]["d"] == expected
        )


def test_columns_are_chosen_dropped_and_renamed(apply: Apply, warnings: list[str]) -> None:
    row = "SELECT 1 AS a, 2 AS `b.c`, 3 AS `d e`, 'f' AS __ll_source"
    assert apply(row, {"select": ["D E", "a", "gone"]}) == [{"D E": 3, "a": 1, "__ll_source": "f"}]
    assert warnings == ["The step `select` names `gone`, which is not a column here; it was left out."]
    assert apply(row, {"drop": ["b.c", "A"]}) == [{"d e": 3, "__ll_source": "f"}]
    swapped = apply(row, {"rename": {"mappings": {"a": "b.c", "b.c": "a"}}})
    assert swapped == [{"b.c": 1, "a": 2, "d e": 3, "__ll_source": "f"}]
    assert apply(row, {"rename": {"from": "a", "to": "d e"}}) == [{"d e": 1, "b.c": 2, "__ll_source": "f"}]


def test_a_selection_of_nothing_is_refused(apply: Apply) -> None:
    with pytest.raises(EngineError, match="names no column"):
        apply("SELECT 1 AS a", {"select": ["gone"]})


def test_a_date_column_keeps_its_type_through_coalesce(apply: Apply) -> None:
    step = {"coalesce": {"field": "d", "default": "2024-01-01"}}
    assert apply("SELECT cast(null AS date) AS d", step) == [{"d": date(2024, 1, 1)}]


def test_which_steps_change_the_number_of_rows() -> None:
    changing = [
        {"sql": "SELECT * FROM source"},
        {"sql": "explode(tags) AS tag"},
        {"filter": {"sql": "a"}},
        {"deduplicate": ["a"]},
        {"explode": {"field": "a"}},
        {"join": {"reference": "l", "on": "a", "key": "a", "fields": ["b"]}},
        {"unpivot": {"value_vars": ["a"]}},
    ]
    steady = [
        {"sql": "upper(a) AS a"},
        {"derive": {"field": "a", "sql": "1"}},
        {"lookup": {"field": "f", "reference": "l", "on": "a", "key": "a", "value": "b"}},
        {"select": ["a"]},
    ]
    assert [changes_row_count(Transformation.model_validate(step).operation) for step in changing] == [True] * 7
    assert [changes_row_count(Transformation.model_validate(step).operation) for step in steady] == [False] * 4
