"""What operators ask for, and what cannot be meant."""

from datetime import UTC, date, datetime, tzinfo

import pytest

from lakelogic_assets.errors import RequestError
from lakelogic_assets.plan.request import ApprovalPolicy, PipelineRequest, RunPolicy, days_between, request_for

TODAY = date(2026, 2, 6)


def test_days_are_both_included_and_one_alone_is_enough() -> None:
    assert days_between("2026-02-01", "2026-02-05", today=TODAY) == (date(2026, 2, 1), date(2026, 2, 5))
    assert days_between("2026-02-01", None, today=TODAY) == (date(2026, 2, 1), date(2026, 2, 1))
    assert days_between(None, None) is None
    assert days_between("2026-02-06", None, today=TODAY) == (TODAY, TODAY)


def test_a_day_that_has_begun_anywhere_is_not_in_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime(2026, 2, 5, 11, tzinfo=UTC).astimezone(tz)

    monkeypatch.setattr("lakelogic_assets.plan.request.datetime", Clock)
    assert days_between("2026-02-06", None) == (TODAY, TODAY)
    with pytest.raises(RequestError, match="The day 2026-02-07 is in the future"):
        days_between("2026-02-06", "2026-02-07")


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2026-02-05", "2026-02-01", "before the first day"),
        ("2026-02-07", None, "in the future"),
        ("2026-02-01", "2026-02-07", "in the future"),
        (None, "2026-02-01", "has no first day"),
        ("yesterday", None, "is not a day"),
        ("2026-02-30", None, "is not a day"),
    ],
)
def test_days_that_cannot_be_meant_are_refused(first: str | None, last: str | None, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        days_between(first, last, today=TODAY)


@pytest.mark.parametrize(
    ("mode", "days", "message"),
    [
        ("range", None, "needs a first and a last day"),
        ("reprocess", None, "needs a first and a last day"),
        ("full", (TODAY, TODAY), "takes no days"),
        ("last_success", (TODAY, TODAY), "takes no days"),
        ("weekly", None, "choose one of full, last_success"),
    ],
)
def test_a_window_and_its_days_go_together(mode: str, days: tuple[date, date] | None, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        request_for(mode, days)


def test_days_are_cut_in_three_ways_only() -> None:
    with pytest.raises(RequestError, match="choose one of day, week, month"):
        request_for("backfill", (TODAY, TODAY), by="fortnight")


def test_a_request_and_a_policy_come_back_from_the_log_as_they_were() -> None:
    request = PipelineRequest(("gold",), "backfill", (date(2026, 2, 1), TODAY), "week", "reverse")
    assert PipelineRequest.from_dict(request.as_dict()) == request
    assert PipelineRequest.from_dict(PipelineRequest().as_dict()) == PipelineRequest()
    policy = RunPolicy(parallel=3, timeout_seconds=60.0, approval=ApprovalPolicy(True, "a.ok"))
    assert RunPolicy.from_dict(policy.as_dict()) == policy
    assert RunPolicy().as_dict() == {}
