"""Upkeep: fewer files, the same rows, nothing that a reader still needs removed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.maintenance import SAFE_HOURS, maintain

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

TEXT = """
model: {fields: [{name: id, type: int}, {name: fare, type: double}]}
quality: {row_rules: [{name: pos, sql: fare >= 0}]}
materialization: {strategy: append, cluster_by: [id]}
"""


def grown(sandbox: Sandbox, text: str = TEXT) -> None:
    for day in range(1, 4):
        window = Window.day(f"2026-02-0{day}")
        sandbox.run(text, [(day, 1.0), (day + 10, -1.0)], "id int, fare double", window=window)


def test_files_are_put_together_and_old_ones_kept_for_a_week(sandbox: Sandbox) -> None:
    grown(sandbox)
    before = sandbox.target(TEXT, "id")
    processor = sandbox.processor(TEXT)
    report = maintain(processor.contract, sandbox.spark, processor.destination)
    target = report.tables["target"]
    assert report.retention_hours == SAFE_HOURS
    assert (target.files_before, target.files_after, target.files_removed) == (3, 1, 0)
    assert target.version_after > target.version_before
    assert target.clustered_by == ("id",)
    assert report.tables["quarantine"].files_after == 1
    assert sandbox.target(TEXT, "id") == before


def test_a_dry_run_counts_and_changes_nothing(sandbox: Sandbox) -> None:
    grown(sandbox)
    processor = sandbox.processor(TEXT)
    maintain(processor.contract, sandbox.spark, processor.destination, vacuum=False)
    report = maintain(processor.contract, sandbox.spark, processor.destination, retention_hours=0, dry_run=True)
    target = report.tables["target"]
    assert target.version_before == target.version_after
    assert target.files_removed == 3
    swept = maintain(processor.contract, sandbox.spark, processor.destination, optimize=False, retention_hours=0)
    assert swept.tables["target"].files_removed == 3
    assert len(sandbox.target(TEXT, "id")) == 3


def test_a_contract_says_how_long_old_files_are_kept(sandbox: Sandbox) -> None:
    text = TEXT.replace("cluster_by: [id]", "cluster_by: [id], compaction: {vacuum_retention_hours: 720}")
    grown(sandbox, text)
    processor = sandbox.processor(text)
    assert maintain(processor.contract, sandbox.spark, processor.destination).retention_hours == 720


def test_drafts_that_a_killed_writer_left_in_the_log_are_swept_after_a_day(sandbox: Sandbox) -> None:
    grown(sandbox)
    processor = sandbox.processor(TEXT)
    log = Path(processor.destination.target) / "_delta_log"
    old, young = log / ".00.json.old.tmp", log / ".00.json.young.tmp"
    for draft in (old, young):
        draft.touch()
    yesterday = time.time() - 100_000
    os.utime(old, (yesterday, yesterday))
    report = maintain(processor.contract, sandbox.spark, processor.destination, optimize=False, vacuum=False)
    assert report.tables["target"].leftovers_removed == 1
    assert (old.exists(), young.exists()) == (False, True)
