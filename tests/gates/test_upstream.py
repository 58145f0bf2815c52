"""How old what a contract reads may be."""

from datetime import UTC, datetime, timedelta

from lakelogic_assets.gates.upstream import too_old

NOW = datetime(2026, 2, 6, 12, tzinfo=UTC)
SIX_HOURS = 6 * 3600.0


def test_within_its_grace_an_upstream_is_good_enough() -> None:
    assert too_old("ref/rates", NOW - timedelta(hours=6), SIX_HOURS, NOW) is None


def test_beyond_it_the_reason_names_the_upstream_and_both_ages() -> None:
    told = too_old("ref/rates", NOW - timedelta(hours=7), SIX_HOURS, NOW)
    assert told == (
        "ref/rates last succeeded 7 hours ago; at most 6 hours are allowed by com.lakelogic.upstream_freshness"
    )


def test_one_that_never_succeeded_is_too_old() -> None:
    told = too_old("ref/rates", None, SIX_HOURS, NOW)
    assert told is not None
    assert told.startswith("ref/rates has never succeeded")
