"""A contract that keeps failing is left alone for a while."""

from datetime import UTC, datetime, timedelta

import pytest

from lakelogic_assets.gates.circuit import COOL_DOWN, PastRun, open_circuit

NOW = datetime(2026, 2, 6, 12, tzinfo=UTC)


def history(*statuses: str, ago: timedelta = timedelta(minutes=5)) -> list[PastRun]:
    """Newest first."""
    return [PastRun(status, NOW - ago * (number + 1), "f") for number, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("statuses", "is_open"),
    [
        (("failed", "failed", "failed"), True),
        (("failed", "failed"), False),
        (("failed", "success", "failed", "failed"), False),
        (("failed", "held", "failed", "skipped", "failed"), True),
        (("blocked", "failed", "failed"), False),
        ((), False),
    ],
)
def test_so_many_failures_in_a_row_open_it(statuses: tuple[str, ...], is_open: bool) -> None:
    assert (open_circuit(history(*statuses), 3, NOW, "f") is not None) is is_open


def test_it_says_until_when_and_what_to_do() -> None:
    told = open_circuit(history("failed", "failed"), 2, NOW, "f")
    assert told is not None
    assert "the last 2 runs failed, so it is left alone until 2026-02-06 12:55 UTC" in told
    assert "ignore_gates" in told


def test_a_changed_contract_or_some_time_lets_one_run_try_again() -> None:
    assert open_circuit(history("failed", "failed"), 2, NOW, "another") is None
    assert open_circuit(history("failed", "failed", ago=COOL_DOWN), 2, NOW, "f") is None
