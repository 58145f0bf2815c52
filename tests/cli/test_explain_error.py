from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.codes import CODES

if TYPE_CHECKING:
    from tests.cli.conftest import Call


@pytest.mark.parametrize("word", ["LL101", "ll101", "101"])
def test_a_code_is_explained(call: Call, word: str) -> None:
    assert call("explain-error", word).out == (
        "LL101 (error): An unknown key.\n"
        "Correct the spelling; vendor settings belong under `extensions:` or `metadata:`.\n"
    )


def test_without_a_code_all_are_listed(call: Call) -> None:
    assert [line.split()[0] for line in call("explain-error").lines] == list(CODES)


def test_json_is_for_programs(call: Call) -> None:
    assert json.loads(call("explain-error", "LL101", "--json").out)["title"] == "An unknown key"
    assert len(json.loads(call("explain-error", "--json").out)) == len(CODES)
