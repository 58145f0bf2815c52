"""`lakelogic reset` and `lakelogic restore` before anything is changed: what they say, and when they refuse."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.project import Project
from lakelogic_assets.report.run import RunReport
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ORDERS = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders, target_layer: silver}
model: {fields: [{name: id, type: int}]}
source: {type: landing, path: in, format: csv, load_mode: incremental}
materialization: {strategy: append}
"""
GOLD = """\
version: 1.0.0
info: {title: Gold, table_name: gold_orders, target_layer: gold}
model: {fields: [{name: id, type: int}]}
upstream: [silver_orders]
materialization: {strategy: append}
"""


@pytest.fixture
def table(shop: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of three rows that a run has written, and a contract below it."""
    monkeypatch.delenv("LAKELOGIC_VAR_LAKE", raising=False)
    folder = shop / "contracts" / "shop"
    (folder / "silver_orders.yaml").write_text(ORDERS)
    (folder / "gold_orders.yaml").write_text(GOLD)
    registry, workspace = load_project(Project(shop)), Workspace(Project(shop))
    contract = registry.find("silver_orders")
    destination, now = workspace.destination(contract), datetime.now(UTC)
    write_deltalake(destination.target, pa.table({"id": [1, 2, 3]}))
    report = RunReport(
        "success", "run-1", "p", "/".join(contract.key), contract.table, FULL.as_dict(), now, now,
        layer=contract.layer, versions_written={"target": 0}, watermark={"max_mtime": 12.5},
    )  # fmt: skip
    append_run(destination.run_log, None, report, "local")
    return destination.target


def test_a_dry_run_says_what_would_go_and_who_is_left_stale(call: Call, table: str) -> None:
    said = call("reset", "silver_orders", "--dry-run")
    assert said.code == 0, said.err
    first, watermark, stale = said.lines
    assert first.startswith("silver_orders: 3 rows in 1 file, ")
    assert first.endswith("bytes, version 0")
    assert watermark.split() == ["watermark", "max_mtime", "12.5"]
    assert stale.split() == ["stale", "gold_orders"]
    (plan,) = json.loads(call("reset", "--layer", "silver", "--dry-run", "--json").out)
    assert (plan["rows"], plan["files"], plan["downstream"]) == (3, 1, ["gold_orders"])
    assert DeltaTable(table).version() == 0


def test_what_is_reset_together_is_not_left_stale(call: Call, table: str) -> None:
    said = call("reset", "silver_orders+", "--dry-run")
    assert "stale" not in said.out
    assert DeltaTable(table).version() == 0


def test_without_a_person_or_a_yes_nothing_is_deleted(call: Call, table: str) -> None:
    said = call("reset", "silver_orders")
    assert said.code == 2
    assert said.err.startswith("error: All rows of 1 table will be deleted. Nobody is here to confirm: say --yes")
    assert DeltaTable(table).version() == 0


def test_any_word_but_yes_means_no(call: Call, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "y")
    said = call("reset", "silver_orders")
    assert (said.code, said.err) == (1, "error: Nothing was changed.\n")
    assert DeltaTable(table).version() == 0


@pytest.mark.usefixtures("table")
def test_what_to_reset_or_to_restore_must_be_said(call: Call) -> None:
    assert call("reset", "--yes").code == 2
    assert call("restore", "--yes").code == 2
    assert "not both" in call("restore", "silver_orders", "--version", "1", "--to", "2026-02-03").err
    assert "is not a moment" in call("restore", "silver_orders", "--to", "yesterday").err
    assert "was not reset; say --version or --to" in call("restore", "silver_orders").err


def test_a_dry_run_of_a_restore_says_what_would_be_undone(call: Call, table: str) -> None:
    write_deltalake(table, pa.table({"id": [4]}), mode="append")
    said = call("restore", "silver_orders", "--version", "0", "--dry-run")
    assert said.lines == ["silver_orders: from version 1 back to version 0"]
    assert "has versions 0 to 1" in call("restore", "silver_orders", "--version", "9", "--dry-run").err
    assert DeltaTable(table).version() == 1
