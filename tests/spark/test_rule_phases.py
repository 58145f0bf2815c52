"""Rules whose phase nobody wrote are judged where their columns are, also where only a query's plan tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets import names

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = """
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: region, type: string, required: true, accepted_values: [north, south, middle]}
    - {name: never, type: string%s}
links: [{name: ref, path: ref.csv, type: csv}]
"""
ROWS = [(1, "a"), (2, "b"), (3, "c"), (None, "a")]
SCHEMA = "id int, cid string"
QUERIES = {
    "unqualified, by USING": "SELECT id, region FROM source JOIN ref USING (cid)",
    "unqualified, by ON": "SELECT s.id, region FROM source s LEFT JOIN ref r ON s.cid = r.cid",
    "from a link as base": "SELECT r.region, s.id FROM ref r JOIN source s ON s.cid = r.cid",
    "by a star": "SELECT s.id, r.* FROM source s LEFT JOIN ref r ON s.cid = r.cid",
    "by a subquery": "SELECT id, (SELECT MAX(r.region) FROM ref r WHERE r.cid = s.cid) AS region FROM source s",
}


@pytest.fixture
def links(sandbox: Sandbox) -> Sandbox:
    (sandbox.folder / "ref.csv").write_text("cid,region\na,north\nb,south\nc,nowhere\n")
    return sandbox


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_rule_on_a_column_that_a_late_query_brings_in_waits_for_it(links: Sandbox, query: str) -> None:
    text = (
        (MODEL % "") + "schema_policy: {evolution: strict}\n"
        "quality: {row_rules: [{regex_match: {field: region, pattern: '^[ns]o'}}]}\n"
        f'transformations: [{{sql: "{query}"}}]\n'
    )
    outcome = links.validate(text, ROWS, SCHEMA)
    assert sorted((row["id"], row["region"]) for row in outcome.good.collect()) == [(1, "north"), (2, "south")]
    found = {row["id"]: row[names.ERRORS_COLUMN] for row in outcome.bad.collect()}
    assert found == {
        None: ["[pre] Rule failed: id_required (id IS NOT NULL)"],
        3: ["[post] Rule failed: region_accepted_values (region IN ('north', 'south', 'middle'))"],
    }


def test_a_written_phase_is_obeyed_and_what_no_step_makes_is_judged_early(links: Sandbox) -> None:
    text = (MODEL % ", required: true") + f'transformations: [{{sql: "{QUERIES["unqualified, by ON"]}"}}]\n'
    errors = [row[names.ERRORS_COLUMN] for row in links.validate(text, [(1, "a")], SCHEMA).bad.collect()]
    assert errors == [["[pre] Rule failed: never_required (never IS NOT NULL)"]]
    early = text.replace(", required: true}\nlinks", "}\nlinks")
    early += "quality: {row_rules: [{name: early, sql: region IS NOT NULL, phase: pre}]}\n"
    errors = [row[names.ERRORS_COLUMN] for row in links.validate(early, [(1, "a")], SCHEMA).bad.collect()]
    assert errors == [["[pre] Rule failed: early (region IS NOT NULL)"]]


def test_rules_wait_for_columns_that_external_logic_makes(links: Sandbox) -> None:
    (links.folder / "logic.py").write_text(
        "from pyspark.sql import functions as F\n\n\n"
        "def run(df):\n    return df.withColumn('region', F.when(df.id > 1, F.lit('north')))\n"
    )
    text = (MODEL % "") + "external_logic: {type: python, path: logic.py, engine: spark}\n"
    outcome = links.validate(text, ROWS, SCHEMA)
    assert [row["id"] for row in outcome.good.collect()] == [2, 3]


def test_what_arrives_is_judged_as_it_arrives_though_a_late_step_writes_it_anew(sandbox: Sandbox) -> None:
    text = (
        "model:\n  fields:\n    - {name: id, type: int}\n    - {name: name, type: string, required: true}\n"
        "    - {name: doubled, type: int}\n    - {name: fee, type: int, max: 9}\n    - {name: late, type: string, required: true}\n"
        "transformations:\n"
        "  - derive: {field: doubled, sql: doubled * 2}\n"
        "  - derive: {field: fee, sql: abs(id) + 10}\n"
        "  - {coalesce: {field: name, default: x}, phase: post}\n"
        "  - {coalesce: {field: late, default: y}, phase: post}\n"
        "quality:\n  row_rules:\n    - {name: positive, sql: doubled >= 0, phase: pre}\n"
        "    - {name: small_fee, sql: fee < 5}\n    - {name: big_fee, sql: fee >= 10, phase: post}\n"
    )
    rows = [(1, "a", 5, 1), (2, None, 5, 1), (3, "c", -5, 1), (4, "d", 5, 7)]
    outcome = sandbox.validate(text, rows, "id int, name string, doubled int, fee int")
    assert [tuple(row) for row in outcome.good.collect()] == [(1, "a", 10, 11, "y")]
    assert {row.id: row[names.ERRORS_COLUMN] for row in outcome.bad.collect()} == {
        2: ["[pre] Rule failed: name_required (name IS NOT NULL)"],
        3: ["[pre] Rule failed: positive (doubled >= 0)"],
        4: ["[pre] Rule failed: small_fee (fee < 5)"],
    }


def test_a_query_that_makes_other_rows_makes_other_columns(sandbox: Sandbox) -> None:
    text = (
        "model: {fields: [{name: city, type: string}, {name: amount, type: int, min: 3}]}\n"
        "transformations: [{sql: 'SELECT city, COUNT(*) AS amount FROM source GROUP BY city'}]\n"
    )
    outcome = sandbox.validate(text, [("a", 1), ("a", 1), ("a", 1), ("b", 9)], "city string, amount int")
    assert [tuple(row) for row in outcome.good.collect()] == [("a", 3)]
