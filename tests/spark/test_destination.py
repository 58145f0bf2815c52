"""Where a contract's rows go, and what it is told will not be written."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.destination import unsupported


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"secondary_targets": [{"path": "/exports", "format": "csv"}]}, "secondary_targets"),
        ({"deletion": {"strategy": "snapshot_reconcile"}}, "deletion"),
        ({"format": "iceberg"}, "iceberg"),
    ],
)
def test_what_is_not_acted_upon_is_said_before_the_run(said: dict[str, Any], word: str) -> None:
    contract = Contract.model_validate({"info": {"title": "t", "table_name": "t"}, "materialization": said})
    assert [word in warning for warning in unsupported(contract)] == [True]


def test_what_is_acted_upon_is_not_mentioned() -> None:
    plain = {"format": "delta", "strategy": "merge"}
    assert not [*unsupported(Contract.model_validate({"materialization": plain, "info": {"title": "t"}}))]
