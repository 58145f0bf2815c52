"""Schedules in the words of every scheduler."""

from __future__ import annotations

import pytest

from lakelogic_assets.contract.cron import five_fields


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0 6 * * *", "0 6 * * *"),
        ("  */15 8-18 * * mon-fri ", "*/15 8-18 * * mon-fri"),
        ("0 6 1 JUL,AUG ?", "0 6 1 JUL,AUG *"),
        ("@daily", "0 0 * * *"),
        ("@Hourly", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
        ("0 30 6 * * ?", "30 6 * * *"),
        ("0 0 2 ? * 2-6", "0 2 * * 1-5"),
        ("0 0 2 ? * 1,7", "0 2 * * 0,6"),
        ("0 0 2 ? * 2/2", "0 2 * * 1/2"),
        ("0 0 2 ? * MON-FRI *", "0 2 * * MON-FRI"),
        ("15 0 2 1 1 ? 2027", None),
        ("*/10 * * * * ?", None),
        ("0 0 2 L * ?", None),
        ("0 0 2 15W * ?", None),
        ("0 0 2 ? * 6#3", None),
        ("0 0 2 ? * FRIL", None),
        ("0 0 L * *", None),
        ("0 0 2 ? * 7-2", None),
        ("0 0 2 ? * 6-7", "0 2 * * 5-6"),
        ("every day", None),
    ],
)
def test_a_schedule_is_said_in_five_fields_or_not_at_all(written: str, read: str | None) -> None:
    assert five_fields(written) == read
