"""What `validate` remembers, and when it must not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.cli import remembered
from lakelogic_assets.cli.remembered import recall

if TYPE_CHECKING:
    from tests.cli.conftest import Call

GOOD = "1 contract in 1 file: no errors, no warnings\n"


def kept(project: Path) -> list[Path]:
    return sorted((project / ".cache" / "lakelogic").glob("validate-*"))


@pytest.mark.usefixtures("shop")
def test_an_answer_is_recalled_while_nothing_changes(call: Call) -> None:
    assert recall(["validate"]) is None
    call("validate")
    found = recall(["validate"])
    assert found is not None
    assert (found[1].contracts, found[1].files, found[1].problems) == (1, 1, ())


@pytest.mark.usefixtures("broken")
def test_the_same_problems_are_recalled(call: Call) -> None:
    fresh = call("validate")
    found = recall(["validate"])
    assert found is not None
    assert [problem.code for problem in found[1].problems] == ["LL106", "LL101"]
    assert found[1].problems[0].suggestion == "string"
    assert fresh.code == 1


@pytest.mark.usefixtures("shop")
def test_other_words_are_another_question(call: Call) -> None:
    call("validate")
    assert recall(["validate", "--strict"]) is None


def test_another_folder_is_another_question(shop: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call("validate")
    monkeypatch.chdir(shop / "contracts")
    assert recall(["validate"]) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda orders: orders.write_text("version: 1.0.0\n"),
        lambda orders: orders.unlink(),
        lambda orders: orders.rename(orders.with_name("silver_sales.yaml")),
        lambda orders: orders.with_name("silver_items.yaml").write_text(orders.read_text()),
        lambda orders: orders.with_name("prices.csv").write_text("a\n1\n"),
        lambda orders: (orders.parent / "more").mkdir(),
        lambda orders: (orders.parents[2] / "resources").mkdir(),
        lambda orders: (orders.parent / "_domain.yaml").write_text("domain: shop\n"),
    ],
    ids=["edited", "removed", "renamed", "added", "another file", "a folder", "resources", "a registry"],
)
def test_a_change_of_the_files_is_seen(orders: Path, call: Call, change: object) -> None:
    call("validate")
    assert recall(["validate"]) is not None
    change(orders)  # type: ignore[operator]
    assert recall(["validate"]) is None


def test_a_file_that_only_has_to_exist_is_looked_for_again(shop: Path, orders: Path, call: Call) -> None:
    orders.write_text(orders.read_text() + "links: [{name: prices, path: ../../../prices.csv, type: csv}]\n")
    outside = shop / "prices.csv"
    assert "LL409" in call("validate", "--project", shop / "contracts").out
    assert recall(["validate", "--project", str(shop / "contracts")]) is not None
    outside.write_text("a\n")
    (shop.parent / "prices.csv").write_text("a\n")
    assert recall(["validate", "--project", str(shop / "contracts")]) is None


def test_a_file_that_an_index_names_counts_wherever_it_is(shop: Path, orders: Path, call: Call) -> None:
    index = "domain: d\nsystem: s\ncontracts: [{layer: silver, entity: orders, path: ../../silver_orders.yaml}]\n"
    (orders.parent / "_system.yaml").write_text(index)
    elsewhere = shop / "silver_orders.yaml"
    assert "LL301" in call("validate").out
    orders.rename(elsewhere)
    assert recall(["validate"]) is None
    assert "LL301" not in call("validate").out
    assert recall(["validate"]) is not None
    elsewhere.write_text("version: 1.0.0\n")
    assert recall(["validate"]) is None


def test_an_environment_variable_that_was_read_counts(
    orders: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.write_text(orders.read_text() + "source: {type: landing, path: '${SHOP_LANDING}/orders'}\n")
    monkeypatch.setenv("SHOP_LANDING", "one")
    call("validate")
    assert recall(["validate"]) is not None
    monkeypatch.setenv("UNRELATED_VARIABLE", "x")
    assert recall(["validate"]) is not None
    monkeypatch.setenv("SHOP_LANDING", "two")
    assert recall(["validate"]) is None


def test_values_of_variables_are_not_written_down(
    shop: Path, orders: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.write_text(orders.read_text() + "source: {type: landing, path: '${SHOP_LANDING}/orders'}\n")
    monkeypatch.setenv("SHOP_LANDING", "s3cr3t-bucket")
    call("validate")
    assert "SHOP_LANDING" in kept(shop)[0].read_text()
    assert "s3cr3t-bucket" not in kept(shop)[0].read_text()


def test_a_change_of_the_code_is_seen(shop: Path, call: Call) -> None:
    call("validate")
    entry = json.loads(kept(shop)[0].read_text())
    judges = entry["evidence"]["judges"]
    assert any(path.endswith("contract/lint.py") for path in judges)
    assert any(path.endswith("sqlglot/_version.py") for path in judges)
    judges[next(iter(judges))] = "1-1"
    kept(shop)[0].write_text(json.dumps(entry))
    assert recall(["validate"]) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"evidence": {}}', '{"evidence": {"unknown": {}}}'])
def test_a_damaged_memory_is_no_memory(shop: Path, call: Call, start: Call, damage: str) -> None:
    call("validate")
    kept(shop)[0].write_text(damage)
    assert recall(["validate"]) is None
    assert start("validate", cwd=shop).out == GOOD


def test_it_can_be_bypassed(shop: Path, call: Call) -> None:
    assert call("validate", "--no-cache").out == GOOD
    assert kept(shop) == []


def test_a_file_where_the_folder_should_be_is_no_problem(shop: Path, call: Call) -> None:
    (shop / ".cache").write_text("in the way")
    said = call("validate")
    assert (said.out, said.err) == (GOOD, "")


def test_no_half_written_answer_is_left_behind(shop: Path, call: Call) -> None:
    call("validate")
    names = {path.name for path in (shop / ".cache" / "lakelogic").iterdir()}
    assert names == {".gitignore", kept(shop)[0].name}
    assert (shop / ".cache" / "lakelogic" / ".gitignore").read_text() == "*\n"


def test_old_answers_are_forgotten(shop: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_KEPT_ANSWERS", 2)
    for words in ([], ["--strict"], ["--json"], ["--warnings-as-errors"]):
        call("validate", *words)
    assert len(kept(shop)) == 2


@pytest.mark.usefixtures("broken")
def test_a_remembered_answer_is_printed_like_a_fresh_one(shop: Path, start: Call) -> None:
    for words in ([], ["--json"], ["--format", "github"]):
        fresh, again = start("validate", *words, cwd=shop), start("validate", *words, cwd=shop)
        assert fresh == again
        assert fresh.code == 1


def test_answers_are_kept_elsewhere_where_the_project_is_not_to_be_written_to(
    shop: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_CACHE_DIR", str(tmp_path / "answers"))
    call("validate")
    assert recall(["validate"]) is not None
    assert list((tmp_path / "answers").glob("validate-*.json"))
    assert not (shop / ".cache").exists()


def test_a_landing_folder_that_comes_later_is_seen(shop: Path, call: Call) -> None:
    registry = (
        "domain: shop\nsystem: till\n"
        "environments: {local: {storage_root: ./lake, landing_root: ./lake/landing}}\ncontracts: []\n"
    )
    folder = shop / "contracts" / "shop" / "till"
    folder.mkdir(parents=True)
    (folder / "_system.yaml").write_text(registry, encoding="utf-8")
    assert "LL316" in call("validate").out
    assert recall(["validate"]) is not None
    (shop / "lake" / "landing").mkdir(parents=True)
    assert recall(["validate"]) is None
    assert "LL316" not in call("validate").out
