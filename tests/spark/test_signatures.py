"""A signature counts for as long as it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lakelogic_assets.gates.approvals import Findings, signature_for
from lakelogic_assets.plan.window import Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark.approvals import approve, signatures
from lakelogic_assets.spark.holds import Hold, Holds

if TYPE_CHECKING:
    from pathlib import Path

DAY = Window.day("2026-02-03")
NOW = datetime(2026, 2, 6, 12, tzinfo=UTC)


def test_a_signature_for_an_hour_counts_for_an_hour(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text("version: 1.0.0\ninfo: {title: T, table_name: orders}\n")
    processor, asked = DataProcessor(tmp_path / "orders.yaml"), Findings(quarantine_ratio=0.5)
    destination, key = processor.destination, processor.contract.key
    Holds(destination.holds).note(Hold(key, DAY, ("half is bad",), "run-1", NOW.isoformat(), asked.as_dict()))
    ((window, approval),) = approve(destination, key, why="known", by="ada", expires=timedelta(hours=1), now=NOW)
    assert (window, approval.expires) == (DAY, NOW + timedelta(hours=1))
    given = signatures(destination, key, DAY, None, asked)
    assert given == [approval]
    assert signature_for(asked, given, NOW + timedelta(minutes=59)) == approval
    assert signature_for(asked, given, NOW + timedelta(minutes=60)) is None
