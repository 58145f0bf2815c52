"""What a piece of SQL reads, makes and may not do."""

from __future__ import annotations

import logging
import time

import pytest

from lakelogic_assets.contract.sql import (
    MAX_SQL_LENGTH,
    SqlFacts,
    expression_facts,
    expression_tree,
    is_query,
    query_facts,
    to_spark,
)
from lakelogic_assets.contract.sql_functions import BARRED_FUNCTIONS, SPARK_FUNCTIONS, TRANSLATED_FUNCTIONS


def codes(facts: SqlFacts) -> list[str]:
    return [fault.code for fault in facts.faults]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("amount > 0", {"amount"}),
        ("source.amount > 0", {"amount"}),
        ("address.city = 'x'", {"address"}),
        ("`my col` IS NULL", {"my col"}),
        ("id IN (SELECT other FROM link)", {"id"}),
        ("EXISTS (SELECT 1 FROM link WHERE link.a = b)", set()),
        ("exists(tags, t -> t = wanted)", {"tags", "wanted"}),
        ("transform(a, (x, i) -> x + i + offset)", {"a", "offset"}),
        ("SUM(a) OVER (PARTITION BY b ORDER BY c) > 0", {"a", "b", "c"}),
        ("1 = 1", set()),
    ],
)
def test_columns_are_those_of_the_current_rows(text: str, columns: set[str]) -> None:
    assert expression_facts(text).columns == columns
    assert codes(expression_facts(text)) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("SELECT *, LOWER(a) AS b FROM source", {"b"}),
        ("SELECT a, a AS b, LOWER(c) AS c FROM source", {"b"}),
        ("LOWER(a) AS a, b || c AS d", {"d"}),
        ("SELECT s.a, l.b, l.c AS d FROM source s JOIN l ON s.k = l.k", {"b", "d"}),
        ("SELECT s.*, COALESCE(l.a, s.a) AS a FROM source s LEFT JOIN l ON s.k = l.k", set()),
        ("WITH t AS (SELECT k, SUM(x) AS n FROM source GROUP BY k) SELECT k, n FROM t", {"n"}),
        ("WITH t AS (SELECT k, SUM(x) AS n FROM source GROUP BY k) SELECT * FROM t", {"n"}),
        ("SELECT x FROM (SELECT a AS x FROM source) t", {"x"}),
        ("SELECT a AS b FROM source UNION ALL SELECT c FROM source", {"b"}),
        ("(SELECT a AS b FROM source)", {"b"}),
        ("SELECT COUNT(*) AS n FROM source", {"n"}),
        ("SELECT s.a, l.b FROM l JOIN source s ON s.k = l.k", set()),
    ],
)
def test_a_query_makes_what_it_neither_passes_on_nor_rewrites(text: str, made: set[str]) -> None:
    assert query_facts(text).renamed == made


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("SELECT * FROM source", {"source"}),
        ("SELECT * FROM Source S JOIN Link L USING (a)", {"source", "link"}),
        ("WITH a AS (SELECT * FROM source), b AS (SELECT * FROM a) SELECT * FROM b", {"source"}),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", {"a"}),
        ("WITH b AS (SELECT * FROM a), a AS (SELECT 1 AS x) SELECT * FROM b, a", {"a"}),
        ("SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) t JOIN a ON TRUE", {"a"}),
        ("WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a) SELECT * FROM a", set()),
        ("SELECT * FROM hr.source", {"hr.source"}),
        ("WITH a AS (SELECT 1 AS x) SELECT * FROM hr.a", {"hr.a"}),
        ("SELECT * FROM `main`.hr.source", {"main.hr.source"}),
        ("SELECT * FROM salaries AS source", {"salaries"}),
        ("SELECT * FROM source WHERE a IN (SELECT a FROM salaries)", {"source", "salaries"}),
        ("SELECT * FROM range(5)", set()),
        ("SELECT * FROM source LATERAL VIEW explode(a) t AS x", {"source"}),
    ],
)
def test_relations_are_all_that_is_not_a_cte_where_it_stands(text: str, relations: set[str]) -> None:
    assert set(query_facts(text).relations) == relations


def test_a_relation_knows_its_line() -> None:
    assert query_facts("SELECT *\nFROM source\nJOIN\n  salaries USING (a)").relations == {"source": 1, "salaries": 3}


@pytest.mark.parametrize("function", sorted(BARRED_FUNCTIONS))
def test_what_reaches_out_of_the_data_is_barred_in_every_spelling(function: str) -> None:
    for call in (function, function.upper(), f"`{function}`", f"{function} /* x */ ", f"{function}\n"):
        assert codes(query_facts(f"SELECT a, {call}(b) AS c FROM source")), call
        assert codes(query_facts(f"SELECT a, {call}() AS c FROM source")), call


@pytest.mark.parametrize(
    "text",
    [
        "SELECT spark_catalog.default.f(a) AS b FROM source",
        "SELECT system.builtin.reflect('x', 'y') AS b FROM source",
        "SELECT `my function`(a) AS b FROM source",
        "SELECT `1`(a) AS b FROM source",
        "SELECT * FROM read_files('/etc')",
        "SELECT * FROM IDENTIFIER('salaries')",
        "WITH risk(a) AS (SELECT 1) SELECT risk(a) AS b FROM risk",
        "WITH risk(a) AS (SELECT 1) SELECT x, risk(a) AS (b) FROM risk",
        "WITH read_files(a) AS (SELECT 1) SELECT * FROM read_files('/etc')",
        "SELECT current_user AS who FROM source",
        "SELECT session_user AS who FROM source",
    ],
)
def test_only_functions_of_the_list_may_be_called(text: str) -> None:
    assert "LL205" in codes(query_facts(text))


@pytest.mark.parametrize(
    "text",
    [
        "WITH t(a, b) AS (SELECT 1, 2), u(c) AS (SELECT 3) SELECT * FROM t, u",
        "SELECT * FROM (VALUES (1, 2)) AS t(a, b)",
        "SELECT COUNT(*) FILTER (WHERE a > 0) AS n FROM source",
        "SELECT a, SUM(b) FROM source GROUP BY GROUPING SETS ((a), ())",
        "SELECT a, SUM(b) FROM source GROUP BY (a) ORDER BY (a)",
        "SELECT a, SUM(b) OVER (PARTITION BY (a) ORDER BY (c)) AS d FROM source WHERE a NOT IN (1) AND NOT (b)",
        "SELECT a FROM source GROUP BY a WITH ROLLUP HAVING (COUNT(*) > 1)",
        "SELECT `current_user` AS who, source.user AS other FROM source",
        "SELECT 'reflect(1)' AS text FROM source -- reflect(1)",
        "SELECT /*+ BROADCAST(s) */ * FROM source s",
    ],
)
def test_what_only_looks_like_a_call_is_none(text: str) -> None:
    assert codes(query_facts(text)) == []


def test_lists_of_functions_do_not_contradict_each_other() -> None:
    assert not (SPARK_FUNCTIONS | TRANSLATED_FUNCTIONS) & BARRED_FUNCTIONS


@pytest.mark.parametrize("function", sorted(TRANSLATED_FUNCTIONS - SPARK_FUNCTIONS - {"current_timestamp", "try_cast"}))
def test_what_spark_does_not_know_is_rewritten_to_what_it_knows(function: str) -> None:
    for arguments in ("a, b", "a"):
        text = f"{function}({arguments})"
        if to_spark(text) != text:
            break
    assert function not in to_spark(text).lower().split("(")[0].split()
    assert codes(expression_facts(text)) == []


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("regexp_matches(a, 'x')", "a RLIKE 'x'"),
        ("SELECT * EXCLUDE (a) FROM source", "SELECT * EXCEPT (a) FROM source"),
        ("a > 0", "a > 0"),
        ("lower( a )", "lower( a )"),
        ("datediff(b, a)", "datediff(b, a)"),
        ("date_diff('century', a, b)", "date_diff('century', a, b)"),
        ("'date_diff(''day'', a, b)' = x", "'date_diff(''day'', a, b)' = x"),
        (
            "date_diff( 'days', `a b`, f(b, ','))",
            "datediff(DAY, date_trunc('DAY', `a b`), date_trunc('DAY', f(b, ',')))",
        ),
        (
            "date_diff('day', a, b) = list_sum(c)",
            "DATEDIFF(DAY, DATE_TRUNC('DAY', a), DATE_TRUNC('DAY', b)) = LIST_SUM(c)",
        ),
    ],
)
def test_only_what_spark_cannot_read_is_rewritten(text: str, rewritten: str) -> None:
    assert to_spark(text) == rewritten


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", True),
        ("  \n-- x\n/* y */ (select 1)", True),
        ("with a as (select 1) select 1", True),
        ("FROM source", True),
        ("selected > 1", False),
        ("LOWER(a) AS a", False),
        ("", False),
        ("/* SELECT 1", False),
    ],
)
def test_a_query_is_known_by_its_first_word(text: str, *, expected: bool) -> None:
    assert is_query(text) is expected


@pytest.mark.parametrize(
    "column", ["load", "call", "delete", "set", "show", "add", "cache", "use", "update", "describe"]
)
def test_a_column_may_be_called_like_a_statement(column: str) -> None:
    for text in (f"{column} > 0", f"{column} IS NOT NULL", f"{column} IN (1, 2)", f"{column} LIKE 'a'", column):
        facts = expression_facts(text)
        assert codes(facts) == []
        assert facts.columns == {column}


def test_parsing_writes_nothing_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ("load > 0", "VACUUM orders", "/* x */ CALL p()", "a; CACHE TABLE x"):
            expression_facts(f"{text} ")
            query_facts(f"{text} ")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a > 0", "boolean"),
        ("NOT a", "boolean"),
        ("a IS NULL OR b", "boolean"),
        ("(a BETWEEN 1 AND 2)", "boolean"),
        ("COUNT(*)", "number"),
        ("a + 1", "number"),
        ("5", "number"),
        ("a", None),
        ("coalesce(a, b)", None),
    ],
)
def test_the_outermost_operation_tells_what_an_expression_comes_to(text: str, result: str | None) -> None:
    assert expression_facts(text).result == result


def test_a_query_of_one_column_comes_to_that_column() -> None:
    assert query_facts("SELECT COUNT(*) FROM source").result == "number"
    assert query_facts("SELECT MIN(a) > 0 AS ok FROM source").result == "boolean"
    assert query_facts("SELECT a, b FROM source").result is None


@pytest.mark.parametrize(
    ("text", "aggregates"),
    [
        ("a > AVG(a)", True),
        ("COUNT(*) > 0", True),
        ("SUM(a) OVER (PARTITION BY b) > 0", False),
        ("a IN (SELECT MAX(a) FROM link)", False),
        ("array_max(a) > 0", False),
        ("aggregate(a, 0, (x, y) -> x + y) > 0", False),
    ],
)
def test_an_aggregate_counts_only_outside_of_windows_and_subqueries(text: str, *, aggregates: bool) -> None:
    assert expression_facts(text).aggregates is aggregates


HOSTILE = {
    "brackets": "(" * 5000 + "a" + ")" * 5000,
    "functions that are types": "date(" * 25 + "a" + ")" * 25,
    "structs": "struct(" * 30 + "a" + ")" * 30,
    "types": "CAST(a AS " + "array<" * 200 + "int" + ">" * 200 + ")",
    "negations": "NOT " * 20_000 + "a",
    "signs": "- " * 20_000 + "a",
    "cases": "CASE WHEN a THEN " * 3000 + "1" + " END" * 3000,
    "blanks": " " * 90_000 + "x y z",
    "comments": "/*a*/" * 15_000 + "x y z",
    "open comments": "/*" * 45_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_expression_is_refused_quickly(name: str) -> None:
    started = time.process_time()
    assert set(codes(expression_facts(HOSTILE[name]))) <= {"LL201", "LL202"}
    assert codes(expression_facts(HOSTILE[name]))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "text", [" OR ".join(["a = 1"] * 8000), " + ".join(["a"] * 20_000), f"a IN ({', '.join(['1'] * 20_000)})"]
)
def test_a_long_expression_is_only_long(text: str) -> None:
    started = time.process_time()
    assert expression_facts(text).columns == {"a"}
    assert time.process_time() - started < 5


def test_joins_that_a_parser_would_try_for_minutes_are_refused() -> None:
    assert codes(query_facts("SELECT 1 AS x FROM source" + " JOIN source" * 30)) == ["LL201"]
    assert codes(query_facts("SELECT 1 AS x FROM source s" + " JOIN source USING (a)" * 30)) == []
    assert codes(query_facts("SELECT 1 AS x FROM source s" + " CROSS JOIN source" * 30)) == []


def test_sql_of_any_length_is_not_read() -> None:
    assert codes(expression_facts("a" * (MAX_SQL_LENGTH + 1))) == ["LL201"]


@pytest.mark.parametrize(
    "text", ["a, b", "a b", "a AS b", "*", "DISTINCT a", "a FROM b", " ", "-- x", "a LIMIT 1", "a WHERE b"]
)
def test_an_expression_is_one_and_has_no_name(text: str) -> None:
    assert codes(expression_facts(text)) == ["LL202"]


def test_a_fault_knows_its_line() -> None:
    faults = query_facts("SELECT a,\n  lenght(b) AS c\nFROM source").faults
    assert [(fault.code, fault.line, fault.suggestion) for fault in faults] == [("LL205", 1, "length")]


def test_a_tree_is_given_to_those_who_look_closer() -> None:
    tree = expression_tree("load > 0")
    assert tree is not None
    assert tree.sql("spark") == "load > 0"
    assert expression_tree("a >") is None


@pytest.mark.parametrize(
    "text",
    [
        "EXCLUDE [ QUALIFY -> -> y",
        "* EXCLUDE -> DISTINCT int IS AS )",
        "strptime(->",
        "list_x([",
        "'\\",
        "a:[2.5]",
        "{#",
        "$ $",
    ],
)
def test_what_a_parser_trips_over_is_refused_like_any_other_slip(text: str) -> None:
    for facts in (expression_facts(text), query_facts(text), query_facts(f"SELECT {text}")):
        assert set(codes(facts)) <= {"LL201", "LL202", "LL203", "LL205"}
    assert isinstance(to_spark(text), str)


def test_a_column_called_like_a_foreign_function_changes_nothing() -> None:
    for text in ('epoch > 5 AND status = "open"', "rename = 1", "exclude IS NULL", "list_price > 0"):
        assert to_spark(text) == text
