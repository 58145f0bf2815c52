from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.contract.loading import load_contract

CONTRACT = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders, domain: shop, target_layer: silver, owner: me@example.com}
primary_key: [id]
model:
  fields:
    - {name: id, type: long, required: true}
    - {name: state, type: string, description: Where it stands}
    - {name: band, type: string}
lineage: {enabled: true}
transformations:
  - map_values: {field: state, mapping: {o: open, p: paid}}
  - bucket: {field: band, source: id, bins: [{label: low, lt: 10}, {label: high, gte: 10}]}
quality:
  row_rules: [{name: positive, sql: id > 0, description: Numbers count up}]
materialization: {strategy: merge}
external_logic: {type: python, path: finish.py}
service_levels: {freshness: 6h}
"""

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "finish.py").write_text("def run(frame): return frame\n")
    return tmp_path


def made(folder: Path, change: Change | None = None) -> str:
    data = yaml.safe_load(CONTRACT)
    if change:
        change(data)
    path = folder / "silver_orders.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return fingerprint(load_contract(path))


def test_it_is_the_same_in_every_run_and_every_order_of_keys(folder: Path) -> None:
    path = folder / "silver_orders.yaml"
    path.write_text(CONTRACT)
    first = fingerprint(load_contract(path))
    path.write_text("# a comment\n" + yaml.safe_dump(yaml.safe_load(CONTRACT), sort_keys=True))
    assert fingerprint(load_contract(path)) == first
    assert len(first) == 64


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(version="2.0.0"),
        lambda data: data["info"].update(title="Sales", description="All of them", owner="you@example.com"),
        lambda data: data["model"]["fields"][1].update(description="Something else", classification="internal"),
        lambda data: data["model"]["fields"][1].update(required=False),
        lambda data: data["quality"]["row_rules"][0].update(description="Other words"),
        lambda data: data.update(service_levels={"freshness": "1h"}, tier="critical", schedule="0 6 * * *"),
        lambda data: data.update(notifications=[{"target": "env:HOOK"}], compliance={"purpose": "sales"}),
        lambda data: data["materialization"].update(reprocess_policy="overwrite_partition"),
        lambda data: data["transformations"][0].update(name="states"),
    ],
)
def test_what_people_read_does_not_change_it(folder: Path, change: Change) -> None:
    assert made(folder, change) == made(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["info"].update(table_name="silver_sales"),
        lambda data: data["model"]["fields"][0].update(type="int"),
        lambda data: data["model"]["fields"][1].update(masking="hash"),
        lambda data: data["model"]["fields"].reverse(),
        lambda data: data["quality"]["row_rules"][0].update(sql="id >= 0"),
        lambda data: data["quality"]["row_rules"][0].update(severity="warning"),
        lambda data: data["transformations"].reverse(),
        lambda data: data["transformations"][0]["map_values"].update(default=None),
        lambda data: data["transformations"][1]["bucket"]["bins"][0].update(label="small"),
        lambda data: data["materialization"].update(strategy="overwrite"),
        lambda data: data["lineage"].update(capture_run_id=True),
        lambda data: data.update(primary_key=["id", "state"]),
    ],
)
def test_what_changes_rows_changes_it(folder: Path, change: Change) -> None:
    assert made(folder, change) != made(folder)


def test_the_code_beside_the_contract_counts(folder: Path) -> None:
    before = made(folder)
    (folder / "finish.py").write_text("def run(frame): return frame.limit(1)\n")
    assert made(folder) != before
