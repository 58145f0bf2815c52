"""What is judged although it is well formed, and above all what is not: a warning without a reason is noise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic_assets.contract.registry import Registry

Load = Callable[..., Registry]
Found = Callable[[Registry], list[str]]
HEAD = "version: 1.0.0\ninfo: {title: Orders}\nmodel:\n  fields:\n    - {name: order_id, type: string}\n    - {name: amount, type: double}\n"

QUIET = {
    "a rule on a column of the source": "quality: {row_rules: [{name: r, sql: till > 0}]}",
    "a rule on a column of another word": "quality: {row_rules: [{name: r, sql: store_id > 0}]}",
    "a rule on a column that a query may make": "transformations: [{sql: SELECT * FROM source}]\nquality: {row_rules: [{name: r, sql: amout > 0}]}",
    "a rule on a column that a script may make": "external_logic: {type: python, path: ../x.py, engine: spark}\nquality: {row_rules: [{name: r, sql: amout > 0}]}",
    "a rule on a column in another case": "quality: {row_rules: [{name: r, sql: AMOUNT > 0}]}",
    "a rule on a column of the engine": "quality: {row_rules: [{name: r, sql: _lakelogic_run_id IS NOT NULL}]}",
    "a rule on an extracted column": "extraction: {provider: regex, patterns: {amounts: 'x'}}\nquality: {row_rules: [{name: r, sql: amounts > 0}]}",
    "a key of an undeclared column": "primary_key: [till]\nmaterialization: {strategy: merge}",
    "a partition by a stamp": "lineage: {enabled: true}\nschema_policy: {unknown_fields: drop}\nmaterialization: {partition_by: [_lakelogic_processed_at]}",
    "a partition by a made column": "schema_policy: {unknown_fields: drop}\ntransformations: [{derive: {field: day, sql: current_date()}}]\nmaterialization: {partition_by: [day]}",
    "a dimension that tracks an undeclared column": "primary_key: [order_id]\nmaterialization: {strategy: scd2, scd2: {track_columns: [city]}}",
    "a merge by the key of the materialization": "materialization: {strategy: merge, primary_key: [order_id]}",
    "a file that is deployed apart": "external_logic: {type: python, path: ../../generators/x.py, engine: spark}",
    "links that cannot be looked up before a run": "links: [{name: a, path: s3://x/y.csv}, {name: b, path: /data/x.csv}, {name: c, path: 'data/*.csv'}, {name: d, table: a.b.c}]",
    "a masked key": "primary_key: [order_id]\nmaterialization: {strategy: merge}",
    "a transaction that is appended": "materialization: {fact: {type: transaction}}",
    "a dataset rule that is a question": "quality: {dataset_rules: [{name: r, sql: COUNT(*) > 0}, {name: s, sql: SELECT MAX(amount) < 9 FROM source}]}",
    "a number with bounds": "quality: {row_rules: [{name: r, sql: amount, must_be_greater_than: 0}]}",
    "a count that may be anything": "quality: {dataset_rules: [{name: r, sql: 'percentile(amount, 0.5)'}]}",
    "a severity of other tools": "quality: {row_rules: [{name: r, sql: amount > 0, severity: CRITICAL}]}",
    "vendor settings": "extensions: {com.acme.retention: P7Y}\nmetadata: {anything: [1]}\ncompliance: {x: y}\nobservatory: {z: 1}",
    "a partition set in a project without any": "extensions: {com.lakelogic.partitions: daily}",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of(name: str, load: Load, found: Found) -> None:
    assert found(load(HEAD + QUIET[name] + "\n")) == []


def test_a_finding_stands_in_the_contract_also_where_its_value_is_inherited(load_tree: Load) -> None:
    registry = load_tree(
        {
            "s/_system.yaml": "domain: d\nsystem: s\nmaterialization:\n  silver:\n    strategy: merge\n    partition_by: [day]\nserver:\n  silver: {schema_policy: {unknown_fields: drop}}\ncontracts:\n  - {layer: silver, entity: a, path: silver_a.yaml}\n",
            "s/silver_a.yaml": "version: 1.0.0\ninfo: {title: A}\nmodel: {fields: [{name: a, type: string}]}\nmaterialization: {format: delta}\n",
        }
    )
    assert [
        (each.code, each.location.file.name if each.location.file else "", each.location.line)
        for each in registry.problems
    ] == [
        ("LL406", "silver_a.yaml", 4),
        ("LL426", "silver_a.yaml", 4),
    ]
    assert registry.problems[0].message.endswith("It is inherited from _system.yaml:5.")


def test_a_step_before_the_rules_makes_a_column_in_time(load: Load, found: Found) -> None:
    text = (
        HEAD
        + "transformations:\n  - derive: {field: net, sql: amount}\n    phase: pre\nquality: {row_rules: [{name: r, sql: net > 0, phase: pre}]}\n"
    )
    assert found(load(text)) == []


def test_sql_of_another_engine_is_not_read_where_spark_has_its_own(load: Load, found: Found) -> None:
    step = "transformations:\n  - derive: {field: x, sql: 'amount ~~ 1', sql_duckdb: '>', sql_spark: amount + 1}\n"
    assert found(load(HEAD + step)) == []


def test_the_rows_at_hand_have_four_names(load: Load, found: Found) -> None:
    for name in ("source", "{dataset}", "my_orders", "silver_orders"):
        text = (
            HEAD.replace("{title: Orders}", "{title: Orders, table_name: silver_orders}")
            + f"dataset: my_orders\ntransformations:\n  - sql: SELECT * FROM {name}\n"
        )
        assert found(load(text)) == []


def test_a_relation_is_told_on_its_own_line(load: Load, found: Found) -> None:
    text = (
        HEAD
        + "transformations:\n  - sql: |\n      SELECT *\n      FROM source\n      JOIN a USING (x)\n      JOIN b USING (x)\n"
    )
    assert found(load(text)) == ["LL206 11", "LL206 12"]


def test_sql_of_a_policy_pack_is_the_contracts_problem(load_tree: Load) -> None:
    registry = load_tree(
        {
            "contracts/silver_a.yaml": "version: 1.0.0\ninfo: {title: A}\nmetadata: {policy_pack: base}\nmodel: {fields: [{name: a, type: string}]}\n",
            "contracts/policy_packs/base.yaml": "name: base\nquality:\n  row_rules:\n    - {name: r, sql: reflect('x')}\n",
        }
    )
    assert [
        (each.code, each.location.file.name if each.location.file else "", each.location.line)
        for each in registry.errors
    ] == [("LL205", "base.yaml", 4)]
