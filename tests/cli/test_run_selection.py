"""Which contracts `lakelogic run` runs when some of a project have errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic_assets.cli.selecting import found, sound_keys
from lakelogic_assets.errors import ContractError, NotFoundError
from lakelogic_assets.project import Project
from tests.cli.conftest import ORDERS, Call

GOOD = ("silver_orders",)


@pytest.fixture
def project(shop: Path, orders: Path) -> Project:
    """One contract that can run, one that cannot, and one that cannot even be read."""
    wrong = ORDERS.replace("silver_orders", "silver_items").replace("strategy: append", "strategy: apend")
    orders.with_name("silver_items.yaml").write_text(wrong)
    orders.with_name("silver_lost.yaml").write_text("model: [\n")
    return Project(shop)


def test_all_that_can_run_is_run_and_the_others_are_named(project: Project) -> None:
    keys, left_out = sound_keys(found(project, ())[0], [], project)
    assert keys == [GOOD]
    assert sorted("/".join(each.key) for each in left_out) == ["shop/silver_items", "shop/silver_lost"]


def test_what_was_not_asked_for_is_nobodys_business(project: Project) -> None:
    keys, left_out = sound_keys(found(project, ())[0], ["silver_orders"], project)
    assert (keys, left_out) == ([GOOD], [])


@pytest.mark.parametrize(("name", "why"), [("silver_items", "apend"), ("silver_lost", "YAML cannot be read")])
def test_a_contract_with_errors_that_is_asked_for_by_name_is_explained(project: Project, name: str, why: str) -> None:
    with pytest.raises(ContractError, match=why):
        sound_keys(found(project, ())[0], [name], project)


def test_a_name_that_nobody_has_is_told_as_such(shop: Path) -> None:
    with pytest.raises(NotFoundError, match="silver_ordres"):
        sound_keys(found(Project(shop), ())[0], ["silver_ordres"], Project(shop))


def test_a_project_of_nothing_but_errors_is_refused_with_all_of_them(broken: Path, shop: Path, call: Call) -> None:
    assert broken.exists()
    said = call("run", "--project", shop, "--all")
    assert said.code == 1
    assert "LL106" in said.out + said.err


def test_a_contract_that_is_in_no_index_is_not_passed_over_in_silence(shop: Path, orders: Path, call: Call) -> None:
    orders.with_name("_system.yaml").write_text("domain: shop\nsystem: till\ncontracts: []\n")
    said = call("run", "--project", shop, "silver_orders", "--dry-run")
    assert said.code != 0
    assert "`shop/silver_orders` is in no index of its system" in said.err
    (shop / "resources").mkdir(exist_ok=True)
    (shop / "resources" / "local.yaml").write_text("name: local\ninclude_unregistered: true\n")
    said = call("run", "--project", shop, "silver_orders", "--dry-run")
    assert (said.code, "silver_orders" in said.out) == (0, True)
