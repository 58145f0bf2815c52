"""What the columns of a query are made of; what cannot be told is not told."""

from __future__ import annotations

import pytest

from lakelogic_assets.contract.origins import Frame, table_frame
from lakelogic_assets.contract.sql_origins import query_origins

DECLARED = {"source": table_frame("", ["id", "a", "b", "c", "at"]), "n": table_frame("n.", ["k", "v", "w"])}
UNDECLARED = {"source": table_frame("", []), "n": table_frame("n.", [])}


def told(text: str, relations: dict[str, Frame]) -> dict[str, str]:
    """`{"x": "a n.v"}`, for the outputs x, y and z that can be told."""
    frame = query_origins(text, relations)
    found = {name: frame.read(name) for name in ("x", "y", "z")}
    return {
        name: " ".join(sorted(f"{each.reference}{each.column}" for each in origins))
        for name, origins in found.items()
        if origins
    }


QUERIES: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("SELECT a AS x, s.b AS y, UPPER(c) AS z FROM source s", {"x": "a", "y": "b", "z": "c"}),
    "{dataset}": ("SELECT a AS x FROM {dataset}", {"x": "a"}),
    "star": ("SELECT *, a AS x FROM source", {"x": "a"}),
    "stars of one relation": (
        "SELECT n.*, s.a AS x, n.v AS y FROM source s JOIN n ON s.a = n.k",
        {"x": "a", "y": "n.v"},
    ),
    "case": ("SELECT CASE WHEN a > 0 THEN b ELSE c END AS x FROM source", {"x": "a b c"}),
    "join": ("SELECT v AS x, a AS y, a || w AS z FROM source JOIN n ON a = k", {"x": "n.v", "y": "a", "z": "a n.w"}),
    "comma": ("SELECT v AS x, a AS y FROM source, n WHERE a = k", {"x": "n.v", "y": "a"}),
    "using": (
        "SELECT k AS x, v AS y FROM (SELECT a AS k FROM source) JOIN n USING (k)",
        {"x": "a", "y": "n.v"},
    ),
    "full join using": ("SELECT k AS x FROM (SELECT a AS k FROM source) FULL JOIN n USING (k)", {"x": "a n.k"}),
    "right join using": ("SELECT k AS x FROM (SELECT a AS k FROM source) RIGHT JOIN n USING (k)", {"x": "n.k"}),
    "star after using": (
        "SELECT k AS x, v AS y FROM (SELECT * FROM (SELECT a AS k FROM source) JOIN n USING (k))",
        {"x": "a", "y": "n.v"},
    ),
    "semi join": ("SELECT a AS x FROM source LEFT SEMI JOIN n ON a = k", {"x": "a"}),
    "cte": ("WITH q AS (SELECT a + b AS m FROM source) SELECT m AS x FROM q", {"x": "a b"}),
    "cte of a cte": (
        "WITH q AS (SELECT a AS m FROM source), r AS (SELECT m AS o FROM q) SELECT o AS x FROM r",
        {"x": "a"},
    ),
    "cte with columns": (
        "WITH q(m, o) AS (SELECT a, b FROM source) SELECT m AS x, o AS y FROM q",
        {"x": "a", "y": "b"},
    ),
    "cte that hides the rows": ("WITH source AS (SELECT v AS a FROM n) SELECT a AS x FROM source", {"x": "n.v"}),
    "recursive cte": (
        "WITH RECURSIVE q(m) AS (SELECT a FROM source UNION ALL SELECT m + b FROM q JOIN source ON TRUE) SELECT m AS x FROM q",
        {"x": "a b"},
    ),
    "subquery": ("SELECT m AS x FROM (SELECT a AS m FROM source) q", {"x": "a"}),
    "subquery with columns": ("SELECT m AS x FROM (SELECT a FROM source) AS q(m)", {"x": "a"}),
    "scalar subquery": ("SELECT (SELECT MAX(v) FROM n WHERE n.k = s.a) AS x FROM source s", {"x": "n.v"}),
    "correlated value": ("SELECT (SELECT v || s.b FROM n WHERE k = s.a) AS x FROM source s", {"x": "b n.v"}),
    "exists": ("SELECT EXISTS (SELECT 1 FROM n WHERE k = a) AS x, a AS y FROM source", {"y": "a"}),
    "in": ("SELECT a IN (SELECT k FROM n) AS x FROM source", {"x": "a n.k"}),
    "union by position": (
        "SELECT a AS x, b AS y FROM source UNION ALL SELECT v, w FROM n",
        {"x": "a n.v", "y": "b n.w"},
    ),
    "union by name": (
        "SELECT a AS x, b AS y FROM source UNION BY NAME SELECT w AS y, v AS x FROM n",
        {"x": "a n.v", "y": "b n.w"},
    ),
    "except": ("SELECT a AS x FROM source EXCEPT SELECT v FROM n", {"x": "a"}),
    "unions of stars": (
        "SELECT a AS x FROM (SELECT * FROM source WHERE b > 0 UNION ALL SELECT * FROM source WHERE b < 0)",
        {"x": "a"},
    ),
    "star except": ("SELECT a AS x, b AS y FROM (SELECT * EXCEPT (b) FROM source)", {"x": "a"}),
    "duckdb's star": ("SELECT * EXCLUDE (b) RENAME (a AS x) FROM source", {"x": "a"}),
    "star replace": ("SELECT a AS x FROM (SELECT * REPLACE (b + c AS a) FROM source)", {"x": "b c"}),
    "an output used again": ("SELECT a AS x, x + b AS y FROM source", {"x": "a", "y": "a b"}),
    "window": (
        "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY at) AS x, SUM(b) OVER (PARTITION BY c) AS y FROM source",
        {"x": "a at", "y": "b c"},
    ),
    "qualify": ("SELECT a AS x FROM source QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY c) = 1", {"x": "a"}),
    "group by": (
        "SELECT a AS x, COUNT(*) AS y, SUM(b) FILTER (WHERE c > 0) AS z FROM source GROUP BY ALL",
        {"x": "a", "z": "b c"},
    ),
    "lateral view": ("SELECT item AS x, a AS y FROM source LATERAL VIEW explode(b) e AS item", {"x": "b", "y": "a"}),
    "several outputs": ("SELECT posexplode(a) AS (x, y) FROM source", {"x": "a", "y": "a"}),
    "lateral subquery": ("SELECT m AS x FROM source s, LATERAL (SELECT s.a + v AS m FROM n) q", {"x": "a n.v"}),
    "part of a column": (
        "SELECT s.a.city AS x, b.street AS y, c['k'] AS z FROM source s",
        {"x": "a", "y": "b", "z": "c"},
    ),
    "quoted names": ("SELECT `a` AS `x` FROM `source`", {"x": "a"}),
    "literals": ("SELECT 1 AS x, 'a' AS y, a AS z FROM source", {"z": "a"}),
    "values": ("SELECT p AS x, a AS y FROM source JOIN (VALUES (1, 2)) AS o(p, q) ON TRUE", {"y": "a"}),
    "a name of two relations": ("SELECT a AS x, c AS y FROM source s JOIN source r ON s.id = r.id", {}),
    "a column nobody has": ("SELECT nope AS x, a AS y FROM source", {"y": "a"}),
    "a half that is unknown": ("SELECT a + nope AS x FROM source", {}),
    "a struct of everything": ("SELECT to_json(struct(*)) AS x, a AS y FROM source", {"y": "a"}),
    "pivot": ("SELECT * FROM source PIVOT (SUM(a) AS x FOR b IN ('u'))", {}),
    "natural join": ("SELECT v AS x, s.a AS y FROM source s NATURAL JOIN n", {"y": "a"}),
    "unions of unlike width": ("SELECT a AS x FROM source UNION ALL SELECT v, w FROM n", {}),
    "sql that does not parse": ("SELECT a AS x FROM", {}),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_followed(name: str) -> None:
    text, expected = QUERIES[name]
    assert told(text, DECLARED) == expected


OPEN_QUERIES: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("SELECT a AS x, UPPER(b) AS y FROM source", {"x": "a", "y": "b"}),
    "star": ("SELECT *, a AS x FROM source", {"x": "a", "y": "y", "z": "z"}),
    "star except": ("SELECT * EXCEPT (y) FROM source", {"x": "x", "z": "z"}),
    "qualified": ("SELECT s.a AS x, n.v AS y FROM source s JOIN n ON TRUE", {"x": "a", "y": "n.v"}),
    "a name that both may have": ("SELECT a AS x, s.b AS y FROM source s JOIN n ON TRUE", {"y": "b"}),
    "stars of both": ("SELECT *, s.a AS x FROM source s JOIN n ON TRUE", {"x": "a"}),
    "star of one": ("SELECT s.*, n.v AS x FROM source s JOIN n ON TRUE", {"x": "n.v", "y": "y", "z": "z"}),
    "an output that may be a column": ("SELECT a AS x, x AS y FROM source", {"x": "a"}),
    "an outer name that may be an inner one": ("SELECT (SELECT MAX(b) FROM n) AS x FROM (SELECT b FROM source)", {}),
    "unions of the same rows": (
        "SELECT * FROM source WHERE a UNION ALL SELECT * FROM source WHERE b",
        {"x": "x", "y": "y", "z": "z"},
    ),
    "unions of other rows": ("SELECT * FROM source UNION ALL SELECT * FROM n", {}),
    "a view of a view": ("WITH q AS (SELECT * FROM source) SELECT q.*, a AS x FROM q", {"x": "a", "y": "y", "z": "z"}),
}


@pytest.mark.parametrize("name", OPEN_QUERIES)
def test_columns_that_nobody_declares_are_told_where_only_one_table_can_have_them(name: str) -> None:
    text, expected = OPEN_QUERIES[name]
    assert told(text, UNDECLARED) == expected


def test_outputs_keep_their_order_and_spelling() -> None:
    frame = query_origins("SELECT B, *, 1 AS One FROM (SELECT a, b FROM source)", DECLARED)
    assert [name for name, _ in frame.columns] == ["B", "a", "b", "One"]


def test_a_long_sum_is_followed_to_its_last_term() -> None:
    assert told(f"SELECT {' + '.join(['a'] * 900)} + b AS x FROM source", DECLARED) == {"x": "a b"}
