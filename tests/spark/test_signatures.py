"""A signature counts for as long as it says, and for what a person has seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import RequestError
from lakelogic_assets.gates.approvals import Findings, signature_for
from lakelogic_assets.plan.request import ApprovalPolicy
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark.approvals import Approvals, approve, from_file, signature_of
from lakelogic_assets.spark.execute import execute
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.request import RunRequest

if TYPE_CHECKING:
    from pathlib import Path

    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

DAY = Window.day("2026-02-03")
NOW = datetime(2026, 2, 6, 12, tzinfo=UTC)
HALF = Findings(quarantine_ratio=0.5)
ORDERS = """\
model: {fields: [{name: id, type: string}, {name: amount, type: double}]}
source: {type: landing, path: landing, format: csv, load_mode: LOAD, watermark_strategy: pipeline_log}
quality: {row_rules: [{name: positive, sql: amount > 0}]}
materialization: {strategy: append}
extensions: {com.lakelogic.max_quarantine_ratio: 0.2, com.lakelogic.approval: required}
"""


@pytest.fixture
def processor(tmp_path: Path) -> DataProcessor:
    (tmp_path / "orders.yaml").write_text("version: 1.0.0\ninfo: {title: T, table_name: orders}\n")
    return DataProcessor(tmp_path / "orders.yaml")


def held(processor: DataProcessor, window: Window = DAY) -> Hold:
    hold = Hold(
        processor.contract.key, window, ("half is bad",), "engine-run", NOW.isoformat(), HALF.as_dict(), "whole-call"
    )
    Holds(processor.destination.holds).note(hold)
    return hold


def test_a_signature_for_an_hour_counts_for_an_hour(processor: DataProcessor) -> None:
    held(processor)
    destination, key = processor.destination, processor.contract.key
    ((window, approval),) = approve(destination, key, why="known", by="ada", expires=timedelta(hours=1), now=NOW)
    assert (window, approval.expires) == (DAY, NOW + timedelta(hours=1))
    given = Approvals(destination.approvals).of(key, DAY)
    assert given == [approval]
    assert signature_for(HALF, given, NOW + timedelta(minutes=59)) == approval
    assert signature_for(HALF, given, NOW + timedelta(minutes=60)) is None


@pytest.mark.parametrize("named", ["engine-run", "engine", "whole-call", "whole"])
def test_a_run_is_named_by_the_beginning_of_its_id_or_of_its_calls(processor: DataProcessor, named: str) -> None:
    hold = held(processor)
    destination, key = processor.destination, processor.contract.key
    file = processor.destination.approvals.parent / "signed.ok"
    file.write_text(f"by: ada\nrun_id: {named}\n")
    assert from_file(file, destination, key, DAY, HALF).run_id == hold.run_id
    ((_, approval),) = approve(destination, key, why="known", run_id=named)
    assert approval.run_id == hold.run_id


def test_a_file_counts_for_what_its_run_asked_for(processor: DataProcessor) -> None:
    held(processor)
    destination, key = processor.destination, processor.contract.key
    file = processor.destination.approvals.parent / "signed.ok"
    file.write_text("run_id: engine-run\n")
    assert signature_of(destination, key, DAY, str(file), HALF) is not None
    assert signature_of(destination, key, DAY, str(file), replace(HALF, quarantine_ratio=0.6)) is None


def test_a_file_for_another_contract_is_refused_only_where_nothing_else_was_signed(processor: DataProcessor) -> None:
    held(processor)
    destination, key = processor.destination, processor.contract.key
    file = processor.destination.approvals.parent / "signed.ok"
    file.write_text("run_id: of-another-contract\n")
    with pytest.raises(RequestError, match="approves the run of-another-contract, which did not ask for"):
        signature_of(destination, key, DAY, str(file), HALF)
    ((_, approval),) = approve(destination, key, why="known", now=NOW)
    assert signature_of(destination, key, DAY, str(file), HALF, NOW) == approval


def land(sandbox: Sandbox, name: str, *amounts: int) -> None:
    folder = sandbox.folder / "landing"
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{name}{number},{amount}\n" for number, amount in enumerate(amounts))
    (folder / f"{name}.csv").write_text(f"id,amount\n{rows}")


def run_of(sandbox: Sandbox, processor: DataProcessor, call: str, file: Path | None = None) -> RunReport:
    approval = ApprovalPolicy(file=str(file) if file else None)
    request = RunRequest(FULL, pipeline_run_id=call, approval=approval)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    return execute(processor.contract, sandbox.spark, lakehouse, processor.destination, request)


@pytest.mark.parametrize("load_mode", ["incremental", "full"])
def test_a_signature_without_days_is_for_the_rows_that_were_read(sandbox: Sandbox, load_mode: str) -> None:
    processor = sandbox.processor(ORDERS.replace("LOAD", load_mode))
    land(sandbox, "a", 1, 1, -1, -1, -1)
    assert run_of(sandbox, processor, "first").status == "waiting"
    approve(processor.destination, processor.contract.key, why="known", run_id="first")
    assert run_of(sandbox, processor, "second").status == "success"
    # Fewer of these are bad, and nobody has looked at them.
    land(sandbox, "b", 1, 1, 1, -1, -1)
    assert run_of(sandbox, processor, "third").status == "waiting"
    file = sandbox.folder / "signed.ok"
    file.write_text("run_id: third\nwhy: known too\n")
    published = run_of(sandbox, processor, "fourth", file)
    assert (published.status, (published.approval or {})["why"]) == ("success", "known too")
    assert len(sandbox.rows(processor.destination.target)) == (5 if load_mode == "incremental" else 7)
