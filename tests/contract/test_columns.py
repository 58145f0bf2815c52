"""Which columns steps make, and when."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic_assets.contract.columns import created_in, post_created, replaces_columns
from lakelogic_assets.contract.document import Contract


def contract(*steps: dict[str, Any], fields: tuple[str, ...] = ("a",)) -> Contract:
    model = {"fields": [{"name": name, "type": "string"} for name in fields]}
    return Contract.model_validate({"model": model, "transformations": list(steps)})


@pytest.mark.parametrize(
    ("step", "made"),
    [
        ({"derive": {"field": "b", "sql": "a"}}, {"b"}),
        ({"json_extract": {"field": "b", "source": "a", "path": "$.b"}}, {"b"}),
        ({"lookup": {"field": "b", "reference": "l", "on": "a", "key": "k", "value": "v"}}, {"b"}),
        ({"bucket": {"field": "b", "source": "a", "bins": [{"label": "x", "lt": 1}]}}, {"b"}),
        ({"date_diff": {"field": "b", "from_col": "x", "to_col": "y"}}, {"b"}),
        ({"date_range_explode": {"output": "b", "start_col": "x"}}, {"b"}),
        ({"join": {"reference": "l", "on": "a", "key": "k", "fields": ["b", "c"], "prefix": "l_"}}, {"l_b", "l_c"}),
        ({"rename": {"mappings": {"a": "b"}}}, {"b"}),
        ({"rename": {"from": "a", "to": "b"}}, {"b"}),
        ({"coalesce": {"field": "a", "output": "b"}}, {"b"}),
        ({"split": {"field": "a"}}, set()),
        ({"split": {"field": "a", "output": "b"}}, {"b"}),
        ({"explode": {"field": "a", "output": "a"}}, set()),
        ({"map_values": {"field": "a", "mapping": {}, "output": "b"}}, {"b"}),
        ({"unpivot": {"value_vars": ["x"]}}, {"key", "value"}),
        ({"pivot": {"id_vars": ["a"], "pivot_col": "p", "value_col": "v", "values": [1]}}, {"b"}),
        ({"rollup": {"group_by": ["a"], "aggregations": {"n": "COUNT(*)"}, "upstream_run_ids_column": None}}, {"n"}),
        ({"sql": "SELECT a, UPPER(a) AS b FROM {dataset}"}, {"b"}),
        ({"sql": "UPPER(a) AS a, 1 AS b"}, {"b"}),
        ({"trim": ["a"]}, set()),
        ({"cast": {"columns": {"a": "int"}}}, set()),
        ({"filter": {"sql": "a > 0"}}, set()),
        ({"deduplicate": ["a"]}, set()),
        ({"select": ["a"]}, set()),
        ({"drop": ["a"]}, set()),
    ],
)
def test_a_step_makes_columns(step: dict[str, Any], made: set[str]) -> None:
    both = contract(step, fields=("a", "b"))
    assert created_in(both, "pre") | created_in(both, "post") == made


def test_a_column_that_a_pre_step_made_is_not_late() -> None:
    late = contract(
        {"derive": {"field": "b", "sql": "a"}, "phase": "pre"},
        {"derive": {"field": "b", "sql": "b"}},
        {"derive": {"field": "c", "sql": "a"}},
    )
    assert post_created(late) == {"c"}


def test_some_steps_leave_open_which_columns_there_are() -> None:
    assert replaces_columns(contract({"sql": "SELECT * FROM source"}))
    assert not replaces_columns(contract({"derive": {"field": "b", "sql": "a"}}))
