from __future__ import annotations

import re
from pathlib import Path

import pytest

from lakelogic_assets.contract import overridable
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import Location
from lakelogic_assets.contract.validation import keys_of

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "overrides.md"


def test_the_guide_lists_exactly_the_keys_that_may_be_set() -> None:
    table = GUIDE.read_text().partition("## What may be set")[2].partition("Everything else")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {key.replace("links[name]", "links.*") for row in rows for key in re.findall(r"`([^`]+)`", row)}
    allowed = {key.replace("**", "*") for key in overridable._ALLOWED} | {"source.options.*"}
    assert listed == allowed - {"source.watermark_date_parts.*"}


@pytest.mark.parametrize("section", keys_of(Contract))
def test_no_section_can_be_set_as_a_whole(section: str) -> None:
    refused = overridable.refusal(section, (section,), None, Location(option="--set"))
    assert refused
    assert refused.code == "LL602"


@pytest.mark.parametrize("key", overridable._REASONS)
def test_every_reason_is_given_for_something(key: str) -> None:
    path = tuple(key.split(".", 1)) if key.startswith("extensions") else tuple(key.split(".")) if key else ("tier",)
    refused = overridable.refusal(key, path, None, Location(option="--set"))
    assert refused
    assert refused.message == f"`{key}` may not be set for one run: {overridable._REASONS[key]}."
