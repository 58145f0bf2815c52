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
