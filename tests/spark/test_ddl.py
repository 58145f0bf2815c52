"""Tables from contracts without a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.spark.ddl import apply_ddl

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = "primary_key: [id]\nmodel: {fields: [{name: id, type: int}MORE]}\nmaterialization: {strategy: STRATEGY}"


def text(strategy: str, more: str = "") -> str:
    return MODEL.replace("STRATEGY", strategy).replace("MORE", more)


@pytest.mark.parametrize("strategy", ["append", "overwrite", "merge"])
def test_a_column_is_added_and_no_row_is_lost(sandbox: Sandbox, strategy: str) -> None:
    processor = sandbox.processor(text(strategy))
    assert apply_ddl(processor.contract, sandbox.spark, processor.workspace).what == "created"
    assert sandbox.target(text(strategy), "id") == []
    sandbox.run(text(strategy), [(1,), (2,)], "id int")
    wider = sandbox.processor(text(strategy, ", {name: city, type: string}"))
    change = apply_ddl(wider.contract, sandbox.spark, wider.workspace)
    assert (change.what, change.columns) == ("altered", ("city",))
    assert sandbox.target(text(strategy), "id", "city") == [(1, None), (2, None)]
    assert apply_ddl(wider.contract, sandbox.spark, wider.workspace).what == "unchanged"
