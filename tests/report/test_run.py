"""The report of a run."""

import json
from datetime import UTC, datetime, timedelta

from lakelogic_assets.report.log import COLUMNS, log_row
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
REPORT = RunReport(
    status="success",
    run_id="r1",
    pipeline_run_id="p1",
    contract="retail/silver_crm_customers",
    table="silver_crm_customers",
    window={"key": "full", "start": None, "end": None},
    started_at=BEGIN,
    ended_at=BEGIN + timedelta(seconds=2.5),
    counts=Counts(source=10, good=7, quarantined=2, dropped=1),
    row_rules=(RowRuleOutcome("a", "error", "validity", "pre", 2), RowRuleOutcome("b", "error", "validity", "pre", 0)),
    dataset_rules=(
        DatasetRuleOutcome("u", "error", "uniqueness", False, 1.0),
        DatasetRuleOutcome("n", "error", "x", None),
    ),
)


def test_only_rules_that_rows_broke_are_listed_as_failed() -> None:
    assert REPORT.failed_row_rules == {"a": 2}
    assert REPORT.failed_dataset_rules == ["u"]


def test_a_report_is_json() -> None:
    data = json.loads(json.dumps(REPORT.as_dict()))
    assert data["counts"] == {"source": 10, "good": 7, "quarantined": 2, "dropped": 1}
    assert data["failed_row_rules"] == {"a": 2}
    assert data["seconds"] == 2.5


def test_the_log_row_has_the_31_columns_of_public_dashboards() -> None:
    row = log_row(REPORT, "local")
    assert list(row) == list(COLUMNS)
    assert len(row) == 31
    assert (row["counts_total"], row["quarantine_ratio"], row["environment"]) == (9, 2 / 9, "local")
    assert json.loads(row["report_json"])["run_id"] == "r1"


def test_a_run_without_rows_has_no_quarantine_ratio_to_divide_by() -> None:
    assert Counts().quarantine_ratio == 0.0
