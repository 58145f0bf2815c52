from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

from lakelogic_assets.cli.schema import Kind
from lakelogic_assets.contract.jsonschema import KINDS, json_schema

if TYPE_CHECKING:
    from tests.cli.conftest import Call


def test_the_schema_of_contracts_is_the_default(call: Call) -> None:
    assert json.loads(call("schema").out) == json_schema("contract")


def test_every_kind_of_file_has_a_schema(call: Call) -> None:
    assert list(get_args(Kind)) == list(KINDS)
    for kind in KINDS:
        assert json.loads(call("schema", kind).out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
