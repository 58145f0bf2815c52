"""Two operators start the same window at once, each in a process with a Spark of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.errors import LockedError
from lakelogic_assets.spark.locks import table_lock
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.orchestration.conftest import Shop

ONE, BRONZE = "2026-02-01", "bronze_till_orders"
_PATIENCE = 180.0


def test_one_waits_for_the_other_and_nothing_is_lost_or_doubled(
    shop: Shop, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark is not None
    shop.land(ONE, 10, 20)
    words = ["run", BRONZE, "--day", ONE, "--project", str(shop.root)]
    target = str(shop.root / ".lakehouse/warehouse/lake/shop" / BRONZE)
    command = [sys.executable, "-m", "lakelogic_assets.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as other:
        began = time.monotonic()
        while not _is_locked(target) and other.poll() is None:
            assert time.monotonic() - began < _PATIENCE
            time.sleep(0.05)
        assert other.poll() is None, "the other one was to be at work on the table by now"
        assert lakelogic(words) == 0, capsys.readouterr()
        said, _ = other.communicate(timeout=_PATIENCE)
        assert other.returncode == 0, said
    assert len(shop.rows(BRONZE, "order_id")) == 2
    log = str(shop.root / ".lakehouse/warehouse/lake/shop/_pipeline_run_log")
    logged = read_runs(log, contract=f"shop/{BRONZE}", with_reports=True)
    assert {row["status"] for row in logged} <= {"success", "unchanged"}
    assert len({row["pipeline_run_id"] for row in logged}) == 2
    first, second = sorted((row["report"] for row in logged), key=lambda report: report["ended_at"])
    assert first["generation"] < second["generation"]


def _is_locked(target: str) -> bool:
    try:
        with table_lock(target, None, timeout=0):
            return False
    except LockedError:
        return True
