"""A path that is set for one run goes to the contract whose files the pattern beside it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.overrides import overridden, parse_overrides
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = """\
domain: shop
system: pos
contracts:
  - {path: bronze_orders.yaml, layer: bronze, entity: orders}
  - {path: bronze_items.yaml, layer: bronze, entity: items}
"""
BRONZE = """\
version: 1.0.0
info: {title: T, table_name: TABLE}
source: {type: landing, path: landing/TABLE, format: csv, load_mode: full}
model: {fields: [{name: id, type: string}]}
"""
ORDERS, ITEMS = ("shop", "bronze_orders"), ("shop", "bronze_items")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "contracts/shop/pos"
    folder.mkdir(parents=True)
    (folder / "_system.yaml").write_text(SYSTEM)
    for table in ("bronze_orders", "bronze_items"):
        (folder / f"{table}.yaml").write_text(BRONZE.replace("TABLE", table))
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("own", "pattern"),
    [
        ("pattern: orders_cdc_*.jsonl", "orders_cdc_2026-02-06.csv"),
        ('partition: {format: "%Y", file_pattern: "orders_cdc_*.csv"}', "orders_cdc_2026-02-06.csv"),
        ("options: {header: true}", "ORDERS-2026-02-06.csv"),
    ],
    ids=["by its pattern", "by the pattern of its folders", "by its entity"],
)
def test_a_pattern_beside_a_path_picks_the_contract_whose_files_it_names(
    project: Project, own: str, pattern: str
) -> None:
    path = project.root / "contracts/shop/pos/bronze_orders.yaml"
    path.write_text(path.read_text().replace("load_mode: full", f"load_mode: full, {own}"))
    registry = load_project(project, {})
    texts = ["source.path=data/x", f"source.pattern={pattern}"]
    made = overridden(registry, parse_overrides(texts), project, [ORDERS, ITEMS])
    assert made.errors == ()
    assert made.contracts[ORDERS].place.overrides == {"source.path": "data/x", "source.pattern": pattern}
    assert made.contracts[ITEMS].place.overrides == {}


@pytest.mark.parametrize("beside", [[], ["source.pattern=stores_*.csv"], ["source.pattern=*.csv"]])
def test_a_path_that_could_be_meant_for_either_is_refused(project: Project, beside: list[str]) -> None:
    texts = parse_overrides(["source.path=data/x", *beside])
    made = overridden(load_project(project, {}), texts, project, [ORDERS, ITEMS])
    assert [each.code for each in made.errors] == ["LL604"]
