"""What may be said for one run, in run config as on the command line: signatures, retries, time, circuit, packs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from lakelogic_assets.errors import LockedError
from lakelogic_assets.orchestration import engine
from tests.orchestration.conftest import Runner, make_instance, make_shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE, TWO, THREE, FOUR = (f"2026-02-0{day}" for day in (1, 2, 3, 4))
BRONZE, SILVER = "bronze_till_orders", "silver_till_orders"
PACK = """
    name: cautious
    layers: [bronze]
    quality:
      row_rules:
        - {name: amount_is_small, sql: amount < 100}
"""
CONTRADICTION = """
    name: contrary
    quality:
      row_rules:
        - {name: amount is not negative, sql: amount >= 5}
"""


@pytest.fixture(scope="module")
def till(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Runner]:
    """A shop with policy packs; each test takes days of its own."""
    assert spark is not None
    folder = tmp_path_factory.mktemp("options")
    shop = make_shop(folder / "shop")
    resource = (shop.root / "resources/local.yaml").read_text()
    shop.write("resources/local.yaml", resource.replace("retry_seconds: 0", "retry_seconds: 0.05"))
    shop.write("packs/cautious.yaml", PACK)
    shop.write("packs/contrary.yaml", CONTRADICTION)
    with make_instance(folder / "dagster") as made:
        yield Runner(shop, made)


def start(till: Runner, job: str, op: str, **config: Any) -> dg.ExecuteInProcessResult:
    resolved = till.shop.definitions().resolve_job_def(job)
    run_config = {"ops": {op: {"config": config}}}
    return resolved.execute_in_process(instance=till.instance, run_config=run_config, raise_on_error=False)


def run(till: Runner, *days: str, **config: Any) -> dg.ExecuteInProcessResult:
    """The bronze table as an asset, with this run config."""
    return till.run(BRONZE, days=days, run_config={"ops": {f"shop__{BRONZE}": {"config": config}}})


def told(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(str(event.event_specific_data) for event in result.all_events if event.is_step_failure)


def logged(till: Runner, result: dg.ExecuteInProcessResult) -> list[str]:
    return [entry.user_message for entry in till.instance.all_logs(result.run_id)]


def test_a_file_is_the_signature_of_a_job_and_only_for_the_run_it_names(till: Runner) -> None:
    till.shop.land(ONE, 10, -1, -2)
    assert run(till, ONE).success
    day = {"select": [SILVER], "first_day": ONE, "approval_file": "signed/february.ok"}
    waits = start(till, "run_contracts", "run_selection", **day)
    assert "66.7% of the rows were quarantined; this waits for a signature" in told(waits)
    till.shop.write("signed/february.ok", "run_id: somebody-else\n")
    refused = start(till, "run_contracts", "run_selection", **day)
    assert "approves the run somebody-else, which did not ask" in told(refused)
    assert ONE not in till.recorded(SILVER)
    till.shop.write("signed/february.ok", "by: ada\nwhy: known\n")
    rebuilt = start(till, "reprocess", "rebuild", **day, last_day=ONE)
    assert rebuilt.success, told(rebuilt)
    assert till.shop.rows(SILVER, "amount") == [("10.0",)]


def test_a_column_that_came_waits_until_the_job_approve_signs_it(till: Runner) -> None:
    till.shop.land(THREE, 10)
    assert run(till, THREE).success
    file = till.shop.land(FOUR, 10)
    file.write_text(file.read_text().replace('"amount"', '"colour": "red", "amount"'))
    waits = run(till, FOUR, approval_required=True)
    assert "the source has new columns: colour; this waits for a signature" in told(waits)
    assert FOUR not in till.recorded(BRONZE)
    # The run is named as Dagster shows it.
    signed = start(till, "approve", "sign", contract=BRONZE, why="agreed", run_id=waits.run_id[:8])
    assert signed.success, told(signed)
    assert run(till, FOUR, approval_required=True).success
    assert FOUR in till.recorded(BRONZE)


def test_what_may_pass_by_itself_is_tried_again_each_time_after_twice_as_long(
    till: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.shop.land(TWO, 10)
    real, busy = engine.execute, iter(range(3))

    def execute(*words: Any) -> Any:
        if next(busy, None) is not None:
            raise LockedError("the table is being written by process 1; try again later.")
        return real(*words)

    monkeypatch.setattr(engine, "execute", execute)
    assert "is being written by process 1" in told(run(till, TWO, retries=0))
    result = run(till, TWO, retries=2)
    assert result.success, told(result)
    pauses = [float(found) for line in logged(till, result) for found in re.findall(r"again in ([\d.]+) s", line)]
    assert len(pauses) == 2
    assert pauses[1] > 1.5 * pauses[0]


def test_windows_that_take_too_long_are_ended_and_after_two_nothing_more_is_started(till: Runner) -> None:
    for day in (TWO, THREE, FOUR):
        till.shop.land(day, 10, 20)
    result = run(till, TWO, THREE, FOUR, timeout="0.01s", max_consecutive_failures=2)
    assert told(result).count("The run took longer than the 0.01 seconds it may.") >= 2
    assert f"{FOUR}: not started after 2 failures in a row" in told(result)
    assert "not a length of time" in told(run(till, TWO, timeout="soon"))
    job = start(till, "run_contracts", "run_selection", select=[BRONZE], first_day=TWO, last_day=FOUR, timeout="0.01s",
                max_consecutive_failures=1)  # fmt: skip
    assert told(job).count("not started after 1 failures in a row") >= 2
    assert run(till, TWO, THREE, FOUR, timeout="10m").success


def test_a_pack_holds_rows_back_in_the_run_that_asks_for_it_and_in_no_other(till: Runner) -> None:
    day = "2026-02-05"
    till.shop.land(day, 10, 500)
    packs = {"policy_pack": ["cautious"], "policy_pack_dir": "packs"}
    assert run(till, day, **packs).success
    assert (day, "500.0") not in till.shop.rows(BRONZE, "ordered_on", "amount")
    assert run(till, day, reprocess=True).success
    assert (day, "500.0") in till.shop.rows(BRONZE, "ordered_on", "amount")
    words = {"select": [BRONZE], "first_day": day, "last_day": day}
    again = start(till, "reprocess", "rebuild", **words, **packs)
    assert again.success, told(again)
    assert (day, "500.0") not in till.shop.rows(BRONZE, "ordered_on", "amount")


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        ("contrary", "The rule `amount is not negative` is another one in the policy pack (contrary.yaml:4)"),
        ("cautios", "There is no policy pack 'cautios'"),
    ],
)
def test_a_pack_that_does_not_fit_is_refused_in_one_line(till: Runner, pack: str, message: str) -> None:
    words = {"select": [SILVER], "first_day": ONE, "policy_pack": [pack], "policy_pack_dir": "packs"}
    result = start(till, "run_contracts", "run_selection", **words)
    assert message in told(result)
