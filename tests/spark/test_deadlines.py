"""A run that takes too long is ended while its job runs, and a run that has published is not ended any more."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.errors import EngineError, TimedOutError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.spark import delivery, execute
from lakelogic_assets.spark.deadlines import Deadline
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.failures import SparkFailure
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import read_runs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from lakelogic_assets.report.run import RunReport
    from tests.spark.conftest import Sandbox

TEXT = "model: {fields: [{name: id, type: long}]}\nmaterialization: {strategy: append}\n"
SLOW_SECONDS = 400


def slow_rows(spark: SparkSession) -> DataFrame:
    """A row a second and core, made in Python, for minutes."""

    def late(number: int) -> int:
        import time

        time.sleep(1)
        return number

    rows = spark.range(0, 2 * SLOW_SECONDS, numPartitions=2)
    return rows.select(F.udf(late, "bigint", useArrow=False)("id").alias("id"))


def run(sandbox: Sandbox, frame: DataFrame, seconds: float) -> RunReport:
    processor = sandbox.processor(TEXT)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    request = RunRequest(window=Window.day("2026-02-01"), frame=frame, timeout_seconds=seconds)
    return execute.execute(processor.contract, sandbox.spark, lakehouse, processor.destination, request)


def test_a_contracts_own_timeout_is_its_deadline_unless_the_run_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float | None] = []

    def stopped(seconds: float | None) -> Deadline:
        given.append(seconds)
        raise EngineError("stopped")

    monkeypatch.setattr(execute, "Deadline", stopped)
    path = tmp_path / "orders.yaml"
    head = "version: 1.0.0\ninfo: {title: T, table_name: orders}\n"
    path.write_text(f"{head}extensions: {{com.lakelogic.timeout: 30m}}\n{TEXT}")
    processor = DataProcessor(path)
    lakehouse = processor.workspace.lakehouse(processor.contract)
    for request in (RunRequest(), RunRequest(timeout_seconds=5)):
        with pytest.raises(EngineError, match="stopped"):
            execute.execute(processor.contract, cast("Any", lambda: None), lakehouse, processor.destination, request)
    assert given == [1800.0, 5]


def test_a_job_that_runs_is_cancelled_and_the_session_goes_on(sandbox: Sandbox) -> None:
    run(sandbox, sandbox.spark.range(3), SLOW_SECONDS)  # so that seconds are not spent on starting
    begun = time.monotonic()
    with pytest.raises(TimedOutError, match=r"^orders: The run took longer than the 3 seconds it may\.$"):
        run(sandbox, slow_rows(sandbox.spark), 3)
    assert time.monotonic() - begun < SLOW_SECONDS / 2
    assert sandbox.target(TEXT, "id") == [(0,), (1,), (2,)]
    run(sandbox, sandbox.spark.range(5), SLOW_SECONDS)
    assert len(sandbox.target(TEXT, "id")) == 5
    assert [row["status"] for row in read_runs(sandbox.processor(TEXT).destination.run_log)] == [
        "success", "failed", "success",
    ]  # fmt: skip


def test_jobs_are_cancelled_from_another_thread_in_whichever_session_they_run(spark: SparkSession) -> None:
    driver = driver_of(spark)
    with driver.tagged(spark, "slow-one"):
        timer = threading.Timer(3, driver.cancel, (spark, "slow-one"))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(SparkFailure):
            slow_rows(spark.newSession()).agg(F.sum("id")).collect()
        assert time.monotonic() - begun < SLOW_SECONDS / 2
        timer.join()
    # Neither the tag nor its manners stay behind.
    assert [*spark.sparkContext.getJobTags()] == []
    assert spark.sparkContext.getLocalProperty("spark.job.interruptOnCancel") is None


def test_what_begins_after_the_time_is_over_is_cancelled_too(spark: SparkSession) -> None:
    begun = time.monotonic()
    with Deadline(0.5).guarding(spark, "late-one"):
        time.sleep(2)
        with pytest.raises(SparkFailure):
            slow_rows(spark).agg(F.sum("id")).collect()
    assert time.monotonic() - begun < SLOW_SECONDS / 2


def test_a_run_that_published_in_time_may_take_its_time_afterwards(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: Any = delivery.clean_up
    deadlines: list[Deadline] = []

    def slowly(*said: Any) -> None:
        deadlines[0].begun -= SLOW_SECONDS  # as if it had taken that long
        assert sandbox.spark.range(3).count() == 3
        time.sleep(1.5)
        cleaned(*said)

    def seen(seconds: float | None) -> Deadline:
        deadlines.append(Deadline(seconds))
        return deadlines[-1]

    monkeypatch.setattr(execute, "Deadline", seen)
    monkeypatch.setattr(delivery, "clean_up", slowly)
    report = run(sandbox, sandbox.spark.range(3), SLOW_SECONDS)
    assert (report.status, report.timed_out, report.warnings) == ("success", False, ())
    assert [row["status"] for row in read_runs(sandbox.processor(TEXT).destination.run_log)] == ["success"]
