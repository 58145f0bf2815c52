"""Options that all commands share which run contracts, as they reach the engine; nothing is run."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.authoring.landing_report import LandingReport
from lakelogic_assets.plan.request import ApprovalPolicy, RunPolicy
from tests.cli.conftest import ORDERS

if TYPE_CHECKING:
    from pathlib import Path

    from lakelogic_assets.cli.operating import Operation
    from tests.cli.conftest import Call

DAYS = ("--from", "2026-02-01", "--to", "2026-02-03")


@pytest.fixture
def operations(shop: Path, monkeypatch: pytest.MonkeyPatch) -> list[Operation]:
    """What would have been carried out."""
    path = shop / "contracts/shop/silver_orders.yaml"
    path.write_text(f"{ORDERS}source: {{type: landing, path: in, format: csv}}\n")
    (shop / "contracts/shop/_registry.yaml").write_text("entries: [{entity: o, contract_path: silver_orders.yaml}]\n")
    found: list[Operation] = []

    def carry_out(operation: Operation, *, dry_run: bool) -> int:
        assert dry_run is False
        found.append(operation)
        return 0

    monkeypatch.setattr("lakelogic_assets.cli.operating.carry_out", carry_out)
    return found


@pytest.mark.parametrize(
    "command",
    [
        ("run", "silver_orders"),
        ("backfill", "silver_orders", *DAYS),
        ("reprocess", "silver_orders", *DAYS),
        ("driver", "--registry", "contracts/shop/_registry.yaml"),
    ],
)
def test_every_command_that_runs_contracts_takes_the_same_options(
    call: Call, operations: list[Operation], command: tuple[str, ...]
) -> None:
    said = call(
        *command, "--parallel", "3", "--ignore-gates", "--retries", "1", "--timeout", "30m",
        "--max-consecutive-failures", "4", "--approval-required", "--approval-file", "a.ok", "--set", "source.path=data",
    )  # fmt: skip
    assert said.code == 0, said.err
    (operation,) = operations
    assert operation.policy == RunPolicy(
        3, ignore_gates=True, retries=1, timeout_seconds=1800, max_consecutive_failures=4,
        approval=ApprovalPolicy(True, "a.ok"),
    )  # fmt: skip
    assert operation.said == {"set": ["source.path=data"]}
    assert [*operation.keys] == [("silver_orders",)]


def test_a_backfill_is_cut_and_turned_as_it_was_asked_for(call: Call, operations: list[Operation]) -> None:
    for by in ("week", "month"):
        assert call("backfill", "silver_orders", *DAYS, "--by", by, "--reverse").code == 0
        assert (operations[-1].request.by, operations[-1].request.direction) == (by, "reverse")
    assert "'year'" in call("backfill", "silver_orders", *DAYS, "--by", "year").err


@pytest.mark.parametrize(
    ("words", "days"),
    [((), (1, 2, 3)), (("--from", "2026-02-05", "--to", "2026-02-06"), (5, 6)), (("--day", "2026-02-09"), (9,))],
)
def test_example_data_is_made_of_the_days_that_are_run(
    call: Call, operations: list[Operation], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], days: Any
) -> None:
    made: list[Any] = []

    def make(*_: Any, **said: Any) -> LandingReport:
        made.append(said["days"])
        return LandingReport(())

    monkeypatch.setattr("lakelogic_assets.authoring.landing.make_landing_data", make)
    monkeypatch.setattr("lakelogic_assets.spark.session.open_session", lambda _: None)
    said = call("run", "silver_orders", *words, "--example-data")
    assert said.code == 0, said.err
    assert said.lines == ["made 0 rows in no landing files, 0 of them broken on purpose"]
    assert made == [[date(2026, 2, day) for day in days]]
    assert len(operations) == 1
    assert call("run", "silver_orders", *words, "--example-data", "--json").out == ""
