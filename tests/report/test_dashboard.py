"""The figures of the quality dashboard, against examples small enough to count by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.report.dashboard import Product, ProductQuality, summarise
from lakelogic_assets.report.log import log_row
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SALES = Product("retail/silver_sales", "retail", "silver", "Sales", "team-retail", 86400.0, 3)
CLAIMS = Product("insurance/gold_claims", "insurance", "gold", "Claims")


def run(
    at: datetime | str,
    *,
    product: Product = SALES,
    window: Window = FULL,
    status: Any = "success",
    good: int = 0,
    bad: int = 0,
    rules: Sequence[RowRuleOutcome] = (),
    table_rules: Sequence[DatasetRuleOutcome] = (),
    seconds: float = 10,
    **more: Any,
) -> dict[str, Any]:
    """A row of the run log as its reader gives it: the columns, and the parsed report."""
    ended = datetime.fromisoformat(f"{at}+00:00") if isinstance(at, str) else at
    report = RunReport(
        status=status,
        run_id=f"{product.key} {ended} {window.key}",
        pipeline_run_id="p",
        contract=product.key,
        table="t",
        window=window.as_dict(),
        started_at=ended - timedelta(seconds=seconds),
        ended_at=ended,
        counts=Counts(good + bad, good, bad, 0),
        row_rules=tuple(rules),
        dataset_rules=tuple(table_rules),
        **more,
    )
    row = log_row(report, "local")
    del row["report_json"]
    return {**row, "report": report.as_dict()}


def broke(name: str, failed: int, **more: Any) -> RowRuleOutcome:
    return RowRuleOutcome(name, "error", "validity", "pre", failed, **more)


def quality(*runs: dict[str, Any], product: Product = SALES) -> ProductQuality:
    return summarise(runs, [product], NOW).products[0]


def test_the_figures_of_a_small_example() -> None:
    unique = DatasetRuleOutcome("id_unique", "error", "uniqueness", False, 0.5, "must be 1")
    summary = summarise(
        [
            run(
                "2026-03-30T03:00",
                window=Window.day("2026-03-29"),
                good=90,
                bad=10,
                rules=[broke("email", 10), broke("age", 0)],
            ),
            run(
                "2026-03-31T03:00",
                window=Window.day("2026-03-30"),
                good=95,
                bad=5,
                rules=[broke("email", 2), broke("age", 5)],
            ),
            run(
                "2026-03-31T04:00",
                product=CLAIMS,
                status="blocked",
                good=8,
                table_rules=[unique],
                reasons=("id_unique failed",),
            ),
        ],
        [SALES, CLAIMS],
        NOW,
    )
    assert (summary.counted("passing"), summary.counted("blocked"), summary.clean, summary.stale) == (1, 1, 0, 0)
    assert (summary.good, summary.quarantined, summary.good_share) == (193, 15, 193 / 208)
    claims, sales = summary.products
    assert (sales.product, sales.state, sales.checks_passed, sales.checks_judged) == (SALES, "passing", 0, 2)
    assert sales.last_good == datetime(2026, 3, 31, 3, tzinfo=UTC)
    assert sales.quarantine_by_rule == (("email", 12), ("age", 5))
    assert (claims.state, claims.last_good, claims.open_windows, claims.reason) == (
        "blocked",
        None,
        ("full",),
        "id_unique failed",
    )
    email, age = summary.row_rules
    assert (email.name, email.failed, email.rows, email.failed_share) == ("email", 12, 200, 0.06)
    assert email.daily[-3:] == (0.1, 0.02, None)
    assert (age.failed, age.daily[-3:]) == (5, (0.0, 0.05, None))
    (rule,) = summary.dataset_rules
    assert (rule.failed, rule.judged, rule.holds_now, rule.value, rule.bounds) == (1, 1, False, 0.5, "must be 1")
    assert [(each.name, each.days[-2].good_share) for each in summary.layers] == [("silver", 0.95), ("gold", None)]
    assert [each.name for each in summary.domains] == ["insurance", "retail"]
    assert summary.domains[1].last_week == 185 / 200


def test_a_rerun_of_a_window_replaces_its_figures_and_leaves_the_others() -> None:
    found = quality(
        run("2026-03-29T03:00", window=Window.day("2026-03-28"), good=50),
        run("2026-03-30T03:00", window=Window.day("2026-03-29"), good=10, bad=90, rules=[broke("email", 90)]),
        run("2026-03-30T09:00", window=Window.day("2026-03-29"), good=100, bad=1, rules=[broke("email", 1)]),
    )
    assert (found.good, found.quarantined, found.quarantine_by_rule) == (150, 1, (("email", 1),))
    assert [(day.good, day.quarantined, day.attempts) for day in found.days[-4:-1]] == [
        (50, 0, 1),
        (100, 1, 2),
        (0, 0, 0),
    ]


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = [run(f"2026-03-30T{hour:02}:00", window=Window.day("2026-03-29"), good=hour) for hour in (9, 3, 6)]
    assert quality(*rows) == quality(*reversed(rows))
    assert quality(*rows).good == 9


def test_a_full_load_counts_once_and_has_a_point_for_every_day() -> None:
    found = quality(
        run("2026-03-29T03:00", good=10), run("2026-03-30T03:00", good=11), run("2026-03-31T03:00", good=12)
    )
    assert found.good == 12
    assert [day.good for day in found.days[-3:]] == [10, 11, 12]


def test_batches_of_an_incremental_product_add_up_and_a_repeated_one_does_not() -> None:
    product = Product("a/b", "a", "bronze", "B", incremental=True)
    rows = [
        run("2026-03-29T03:00", product=product, good=10, watermark={"identity": "x"}),
        run("2026-03-30T03:00", product=product, good=11, watermark={"identity": "y"}),
        run("2026-03-30T04:00", product=product, good=13, watermark={"identity": "y"}),
    ]
    assert quality(*rows, product=product).good == 23


def test_a_blocked_batch_is_taken_over_by_the_next_one() -> None:
    product = Product("a/b", "a", "bronze", "B", incremental=True)
    rows = [
        run("2026-03-29T03:00", product=product, good=10, watermark={"identity": "x"}),
        run("2026-03-30T03:00", product=product, status="blocked", good=5, bad=5, watermark={"identity": "y"}),
    ]
    waiting = quality(*rows, product=product)
    assert (waiting.state, waiting.good, waiting.quarantined) == ("blocked", 15, 5)
    repaired = quality(
        *rows, run("2026-03-31T03:00", product=product, good=20, watermark={"identity": "z"}), product=product
    )
    assert (repaired.state, repaired.good, repaired.quarantined) == ("passing", 30, 0)


def test_a_longer_window_replaces_those_inside_it_but_not_those_of_other_values() -> None:
    day = Window.day("2026-03-29")
    eu, us = (Window(f"{day.key}|{name}", day.start, day.end, (("region", name),)) for name in ("eu", "us"))
    rows = [run("2026-03-30T03:00", window=eu, good=1), run("2026-03-30T03:01", window=us, good=2)]
    assert quality(*rows).good == 3
    assert quality(*rows, run("2026-03-30T04:00", window=eu, good=5)).good == 7
    assert quality(*rows, run("2026-03-30T04:00", window=day, good=9)).good == 9
    assert quality(*rows, run("2026-03-30T04:00", window=Window.range("2026-03-01", "2026-03-29"), good=70)).good == 70


def test_a_longer_window_that_was_blocked_leaves_what_is_published() -> None:
    rows = [
        run("2026-03-30T03:00", window=Window.day("2026-03-29"), good=4),
        run("2026-03-30T04:00", window=Window.range("2026-03-20", "2026-03-29"), status="blocked", good=9),
    ]
    assert quality(*rows).good == 13


def test_a_failed_rerun_opens_the_window_and_leaves_its_figures() -> None:
    day = Window.day("2026-03-29")
    found = quality(
        run("2026-03-30T03:00", window=day, good=7),
        run("2026-03-30T05:00", window=day, status="failed", error="disk full"),
    )
    assert (found.state, found.good, found.open_windows, found.reason) == ("failed", 7, ("2026-03-29",), "disk full")


def test_one_bad_day_stays_open_while_later_days_arrive() -> None:
    rows = [
        run("2026-03-29T03:00", window=Window.day("2026-03-28"), status="blocked", good=1),
        run("2026-03-30T03:00", window=Window.day("2026-03-29"), good=1),
    ]
    assert (quality(*rows).state, quality(*rows).last_status) == ("blocked", "success")
    assert quality(*rows, run("2026-03-30T08:00", window=Window.day("2026-03-28"), good=1)).state == "passing"


def test_attempts_that_did_not_publish_stay_in_the_history() -> None:
    day = Window.day("2026-03-29")
    summary = summarise(
        [
            run("2026-03-30T03:00", window=day, status="failed", error="disk full"),
            run("2026-03-30T04:00", window=day, status="blocked", good=1, reasons=("too few",)),
            run("2026-03-30T05:00", window=day, good=5),
            run("2026-03-30T06:00", product=CLAIMS, status="held", reasons=("waits for sales",)),
        ],
        [SALES, CLAIMS],
        NOW,
    )
    assert [(each.status, each.reason, each.is_open) for each in summary.setbacks] == [
        ("held", "waits for sales", True),
        ("blocked", "too few", False),
        ("failed", "disk full", False),
    ]
    shown = summary.products[1].days[-3]
    assert (shown.status, shown.attempts, shown.setbacks, shown.good) == ("success", 3, 2, 5)


def test_a_product_that_never_ran_is_there_and_says_so() -> None:
    found = quality()
    assert (found.state, found.last_run, found.good_share, found.freshness.is_stale) == ("never", None, None, False)
    assert found.needs_attention
    assert {day.status for day in found.days} == {None}


def test_no_products_and_no_runs_are_no_error() -> None:
    summary = summarise([], [], NOW)
    assert (summary.products, summary.good_share, summary.attention) == ((), None, ())


def test_runs_of_contracts_that_are_gone_are_named_and_not_counted() -> None:
    summary = summarise([run("2026-03-30T03:00", good=5, product=CLAIMS)], [SALES], NOW)
    assert (summary.undeclared, summary.good) == (("insurance/gold_claims",), 0)


def test_a_window_is_shown_under_its_own_day_in_its_own_zone() -> None:
    found = quality(run("2026-03-30T03:00", window=Window.day("2026-03-29", "Europe/Amsterdam"), good=5))
    assert [day.day.isoformat() for day in found.days if day.good] == ["2026-03-29"]


def test_a_window_of_a_week_colours_its_days_and_counts_on_the_last() -> None:
    found = quality(run("2026-03-30T03:00", window=Window.range("2026-03-23", "2026-03-29"), good=5))
    assert [day.day.day for day in found.days if day.status] == list(range(23, 30))
    assert [day.day.day for day in found.days if day.good] == [29]


def test_a_table_that_was_loaded_long_ago_still_shows_its_rows() -> None:
    found = quality(run("2026-01-01T03:00", good=3), run("2026-01-02T03:00", good=4))
    assert (found.good, found.cost.runs) == (4, 0)


@pytest.mark.parametrize(
    ("more", "hours", "clock"),
    [
        ({"newest": "2026-03-31T09:00:00+00:00", "watermark": {"value": "2026-03-30 10:00:00"}}, 3, "data"),
        ({"watermark": {"value": "2026-03-31 08:00:00", "max_mtime": 0.0}}, 4, "watermark"),
        ({"watermark": {"value": "4711", "max_mtime": NOW.timestamp() - 7200}}, 2, "file"),
        ({"window": Window.day("2026-03-30")}, 12, "window"),
        ({"window": Window.range("2026-03-30", "2026-04-30")}, 1, "window"),
        ({}, 1, "run"),
    ],
)
def test_freshness_is_the_age_of_the_data_by_the_best_clock(more: dict[str, Any], hours: int, clock: str) -> None:
    found = quality(run("2026-03-31T11:00", good=1, **more)).freshness
    assert (found.age_seconds, found.basis) == (hours * 3600, clock)


def test_a_backfill_of_an_old_day_and_an_empty_day_make_nothing_fresher() -> None:
    newest = run("2026-03-29T03:00", window=Window.day("2026-03-28"), good=1, newest="2026-03-28T12:00:00+00:00")
    old = run("2026-03-31T11:00", window=Window.day("2026-03-01"), good=1, newest="2026-03-01T12:00:00+00:00")
    empty = run("2026-03-31T11:30", window=Window.day("2026-03-30"))
    found = quality(newest, old, empty)
    assert found.freshness.age_seconds == 3 * 86400
    assert (found.freshness.is_stale, found.freshness.used_share, found.needs_attention) == (True, 3.0, True)


def test_the_trend_is_this_week_less_the_week_before() -> None:
    rows = [
        run(f"2026-03-{day:02}T23:00", window=Window.day(f"2026-03-{day:02}"), good=good, bad=100 - good)
        for day, good in ((20, 90), (28, 97))
    ]
    assert quality(*rows).trend == pytest.approx(0.07)
    assert quality(rows[0]).trend is None


def test_time_counts_for_every_attempt_and_is_split_by_step() -> None:
    day = Window.day("2026-03-29")
    found = quality(
        run("2026-03-30T03:00", window=day, status="failed", seconds=4, timings={"read": 4.0}),
        run("2026-03-30T04:00", window=day, good=1, seconds=16, timings={"read": 2.0, "judge": 8.0, "publish": 4.0}),
    ).cost
    assert (found.runs, found.seconds) == (2, 20)
    assert [found.step_share(step) for step in ("read", "judge", "publish", "quarantine", "other")] == [
        0.3,
        0.4,
        0.2,
        0,
        0.1,
    ]


def test_a_rule_that_was_not_evaluated_is_neither_passed_nor_failed() -> None:
    rules = [broke("a", 0), broke("b", 0, note="its column is missing")]
    unknown = DatasetRuleOutcome("c", "error", "x", None)
    found = quality(run("2026-03-31T03:00", good=1, rules=rules, table_rules=[unknown]))
    assert (found.checks_passed, found.checks_judged) == (1, 1)


def test_schema_findings_are_a_share_of_all_rows_also_of_days_that_had_none() -> None:
    cast = RowRuleOutcome("age is not an int", "error", "schema", "pre", 5)
    (rule,) = summarise(
        [
            run("2026-03-30T03:00", window=Window.day("2026-03-29"), good=45, bad=5, rules=[cast]),
            run("2026-03-31T03:00", window=Window.day("2026-03-30"), good=50),
        ],
        [SALES],
        NOW,
    ).row_rules
    assert (rule.failed_share, rule.daily[-3:]) == (0.05, (0.1, 0.0, None))


def test_a_reason_keeps_no_value_of_a_row() -> None:
    rule = DatasetRuleOutcome("newest", "error", "x", False, "Ada Lovelace", "equals 'Bob'")
    summary = summarise(
        [
            run(
                "2026-03-31T03:00",
                status="blocked",
                table_rules=[rule],
                reasons=("dataset rule newest failed: Ada Lovelace (x)",),
            ),
            run(
                "2026-03-31T04:00",
                status="failed",
                error="The value 'Eve Moneypenny' of the table's row for eve@mi6.gov\nis odd",
            ),
        ],
        [SALES],
        NOW,
    )
    assert [each.reason for each in summary.setbacks] == [
        "The value '…' of the table's row for … is odd",
        "dataset rule newest failed: … (x)",
    ]
    assert summary.dataset_rules[0].value is None


def test_rows_of_the_log_without_a_report_still_count() -> None:
    row = {**run("2026-03-31T03:00", good=9, bad=1), "report": None}
    assert (quality(row).good_share, quality(row).state) == (0.9, "passing")


def test_a_run_after_now_is_not_seen() -> None:
    assert quality(run("2026-03-31T12:00:01", good=1)).state == "never"
