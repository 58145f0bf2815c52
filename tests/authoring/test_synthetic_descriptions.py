"""What descriptions say about values."""

from __future__ import annotations

from datetime import date

import pytest

from lakelogic_assets.authoring.synthetic.descriptions import (
    days_late,
    described_format,
    described_parent,
    described_range,
    described_values,
    empty_share,
)
from lakelogic_assets.plan.synthetic import Pattern, Pooled, Strategy, Within


@pytest.mark.parametrize(
    ("description", "strategy"),
    [
        ("Customer number. Format: C######", Pattern("C######")),
        ("Format: +49 ### #######. Mobile only.", Pattern("+49 ### #######")),
        ("Format: ##.##.####", Pattern("##.##.####")),
        ("Format: email", Pooled("email")),
        ("format: E-Mail, private", Pooled("email")),
        ("Format: YYYY-MM-DD, 1940 to 2008", Within(date(1940, 1, 1), date(2008, 12, 31), moment=False)),
        ("Format: YYYY-MM-DD, 2025", Within(date(2025, 1, 1), date(2025, 12, 31), moment=False)),
        ("Format: YYYY-MM-DD, 2025-03-01 to 2025-03-31", Within(date(2025, 3, 1), date(2025, 3, 31), moment=False)),
        ("Format: YYYY-MM-DD HH:MM, 2025", Within(date(2025, 1, 1), date(2025, 12, 31), moment=True)),
        ("Format: YYYY-MM-DD", None),
        ("Format: YYYY-MM-DD, 2008 to 1940", None),
        ("Format: YYYY-MM-DD, 2025-02-30", None),
        ("Format: as the tax office likes it", None),
        ("The format is unknown.", None),
        ("", None),
    ],
)
def test_a_format_names_a_strategy(description: str, strategy: Strategy | None) -> None:
    assert described_format(description) == strategy


def test_a_range_stands_in_brackets() -> None:
    assert described_range("Rating given by the rider (1-5)") == (1, 5)
    assert described_range("Since (2020-01-01)") is None
    assert described_range("Anything") is None


def test_a_list_of_words_and_nothing_else_is_a_list_of_values() -> None:
    assert described_values("card, apple_pay, cash") == ("card", "apple_pay", "cash")
    assert described_values("Charge status (succeeded, failed)") == ("succeeded", "failed")
    assert described_values("City, street") == ()
    assert described_values("Checked on the way in, never stored.") == ()


def test_some_columns_are_empty_at_times() -> None:
    assert empty_share("Empty when no customer card was shown.") > 0
    assert empty_share("Day the shop was closed (nullable)") > 0
    assert empty_share("The trip, may be null before one is found") > 0
    assert empty_share("An empty shelf.") == 0
    assert empty_share("Never null, not nullable.") == 0


def test_a_foreign_key_in_words_names_a_table() -> None:
    assert described_parent("FK to rider_profiles") == ("rider_profiles",)
    assert described_parent("Foreign key to the parent charge.") == ("parent", "charge")
    assert described_parent("Key of the rider") == ()


def test_lateness_is_counted_in_days() -> None:
    assert days_late("A till that was offline delivers it up to three days late.") == 3
    assert days_late("up to 5 days late") == 5
    assert days_late("up to many days late") == 0
    assert days_late("Late.") == 0
