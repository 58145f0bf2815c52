"""What a job of Dagster leaves for `lakelogic runs` and `lakelogic resume`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from lakelogic_assets.cli.app import run as lakelogic
from lakelogic_assets.orchestration.engine import Engine
from lakelogic_assets.orchestration.operation_log import OperationLog
from lakelogic_assets.plan.campaign import Task
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.pipeline_log import PipelineRun, find, pipeline_log_path
from lakelogic_assets.spark.workspace import Workspace
from tests.orchestration.conftest import Runner, fast_folder, make_instance, make_shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE, TWO = "2026-02-01", "2026-02-02"
BRONZE, SILVER, GOLD = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
CLOSED = 666


@pytest.fixture(scope="module")
def till(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Runner]:
    assert spark is not None
    with fast_folder() as memory, make_instance(memory / "dagster") as made:
        yield Runner(make_shop(tmp_path_factory.mktemp("logged") / "shop"), made)


def start(till: Runner, job: str, op: str, **config: Any) -> dg.ExecuteInProcessResult:
    resolved = till.shop.definitions().resolve_job_def(job)
    run_config = {"ops": {op: {"config": config}}}
    return resolved.execute_in_process(instance=till.instance, run_config=run_config, raise_on_error=False)


def logged(till: Runner, run_id: str) -> PipelineRun:
    return find(pipeline_log_path(Workspace(till.shop.project).root), run_id)


def test_a_backfill_that_a_gate_stopped_is_listed_and_resumed_under_the_id_of_its_run(
    till: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    till.shop.land(ONE, 10)
    till.shop.land(TWO, CLOSED)
    days = {"window": "backfill", "first_day": ONE, "last_day": TWO}
    result = start(till, "run_contracts", "run_selection", select=[BRONZE, SILVER, GOLD], **days)
    assert not result.success
    run = logged(till, result.run_id)
    assert (run.status, run.request["window"], run.request["from"], run.request["to"]) == (
        "partial",
        "backfill",
        ONE,
        TWO,
    )
    ended = {(task.contract.removeprefix("shop/"), task.window): task.status for task in run.tasks}
    assert ended[SILVER, TWO] == "blocked"
    assert ended[GOLD, TWO] == till.logged(GOLD, TWO) == "held"

    till.shop.land(TWO, 11)
    assert till.run(BRONZE, days=(TWO,)).success
    capsys.readouterr()
    assert lakelogic(["resume", result.run_id[:8], "--project", str(till.shop.root)]) == 0
    done = [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ✓")]
    assert done == [f"  ✓ shop/{SILVER} {TWO}", f"  ✓ shop/{GOLD} {TWO}"]
    assert till.shop.days(GOLD) == [ONE, TWO]
    assert logged(till, result.run_id).status == "success"


def test_a_job_that_is_killed_leaves_what_it_was_about_to_do(till: Runner) -> None:
    workspace = Workspace(till.shop.project)
    registry = _registry(till)
    task = Task(("shop", BRONZE), Window.day(ONE), "asked for")
    kept = OperationLog(Engine(registry, workspace), "killed", {"window": "reprocess", "select": [BRONZE]})
    campaign = Planner(registry, workspace).plan({task.key: [task]})
    with kept.kept(campaign):
        left = logged(till, "killed")
        assert (left.status, left.is_alive) == ("running", True)
        assert [Task.from_dict(each) for each in left.request["tasks"]] == [task]
    assert logged(till, "killed").status == "failed"


def _registry(till: Runner) -> Any:
    from lakelogic_assets.contract.loading import load_project

    return load_project(till.shop.project)
