"""What an operator is told in the UI before anything is run: what is not what was asked for, and what cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.orchestration.conftest import DAYS

if TYPE_CHECKING:
    import dagster as dg

    from tests.orchestration.conftest import Runner

BRONZE = "bronze_till_orders"


def start(runner: Runner, **config: Any) -> dg.ExecuteInProcessResult:
    job = runner.shop.definitions().resolve_job_def("run_contracts")
    run_config = {"ops": {"run_selection": {"config": {"select": [BRONZE], **config}}}}
    return job.execute_in_process(instance=runner.instance, run_config=run_config, raise_on_error=False)


def test_days_without_a_partition_are_refused_in_one_line(runner: Runner) -> None:
    (failure,) = [each for each in start(runner, first_day="2026-01-05").all_events if each.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.message.startswith("dagster._core.definitions.events.Failure: There is no partition from 2026-01-05")


def test_a_value_that_breaks_the_contract_is_refused_wherever_the_blame_falls(runner: Runner) -> None:
    result = start(runner, first_day=DAYS[0], set={"service_levels.row_count": {"anomaly": {"min_ratio": 5}}})
    (failure,) = [each for each in result.all_events if each.is_step_failure]
    assert "`min_ratio` 5 is above `max_ratio` 2." in str(failure.step_failure_data.error)
    assert runner.recorded(BRONZE) == []


def test_everything_is_loaded_without_a_log_and_the_ui_warns(runner: Runner) -> None:
    runner.shop.land(DAYS[0], 10)
    result = start(runner, window="last_success")
    assert result.success
    warned = [entry.user_message for entry in runner.instance.all_logs(result.run_id) if entry.level == 30]
    assert warned == [f"shop/{BRONZE} {DAYS[0]}: the run log is not there yet, so everything is loaded"]
