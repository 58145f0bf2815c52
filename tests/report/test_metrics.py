"""Figures for machines that watch, and the text that they parse."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lakelogic_assets.report.metrics import Metric, as_prometheus, metrics_of, write_metrics
from lakelogic_assets.report.pipeline import PipelineReport, TaskLine, pipeline_report, task_of
from lakelogic_assets.report.run import Counts, DatasetRuleOutcome, RowRuleOutcome, RunReport

BEGIN = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
NOW = BEGIN + timedelta(hours=2)


def run_of(day: str, status: Any = "success", **other: Any) -> RunReport:
    return RunReport(
        status, f"r-{day}", "p-1", "shop/orders", "orders", {"key": day, "start": None, "end": None}, BEGIN,
        BEGIN + timedelta(seconds=4), Counts(10, 7, 2, 1), layer="silver", **other,
    )  # fmt: skip


RUNS = (
    run_of(
        "2026-02-01",
        row_rules=(
            RowRuleOutcome('amount "known"', "error", "completeness", "pre", 2),
            RowRuleOutcome("clean", "error", "validity", "pre", 0),
        ),
        dataset_rules=(
            DatasetRuleOutcome("unique", "warning", "uniqueness", False, "ana@example.org"),
            DatasetRuleOutcome("enough", "error", "volume", True, 7),
        ),
        newest="2026-02-03T03:05:00+00:00",
        sample=({"email": "ana@example.org"},),
    ),
    run_of("2026-02-02", row_rules=(RowRuleOutcome('amount "known"', "error", "completeness", "pre", 1),)),
)
TASKS = (*map(task_of, RUNS), TaskLine("shop/sales", "full", "failed", error="no rows of ana@example.org"))


def report(**other: Any) -> PipelineReport:
    said: dict[str, Any] = {"ended_at": BEGIN + timedelta(seconds=9), "environment": "prod", "by": "ana"}
    return pipeline_report("p-1", TASKS, started_at=BEGIN, request={"set": {"a": "hunter2"}}, **said | other)


def values(metrics: list[Metric], name: str, *labels: str) -> dict[Any, float]:
    found = {tuple(each.labels[label] for label in labels): each.value for each in metrics if each.name == name}
    assert found, name
    return {key[0] if len(key) == 1 else key: value for key, value in found.items()}


def test_the_pipeline_says_how_it_is_and_how_long_it_took() -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    assert values(made, "lakelogic_pipeline_status", "status") == {
        "running": 0, "success": 0, "partial": 1, "failed": 0, "held": 0,
    }  # fmt: skip
    assert values(made, "lakelogic_pipeline_duration_seconds") == {(): 9.0}
    assert values(made, "lakelogic_pipeline_end_timestamp_seconds") == {(): BEGIN.timestamp() + 9}
    assert values(made, "lakelogic_pipeline_windows", "outcome") == {
        "succeeded": 2, "skipped": 0, "failed": 1, "held": 0,
    }  # fmt: skip


def test_rows_of_all_windows_of_a_contract_are_added_up() -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    rows = values(made, "lakelogic_contract_rows", "contract", "layer", "outcome")
    assert rows["shop/orders", "silver", "source"] == 20
    assert rows["shop/orders", "silver", "good"] == 14
    assert rows["shop/sales", "", "source"] == 0
    assert values(made, "lakelogic_contract_quarantine_ratio", "contract")["shop/orders"] == 4 / 18
    assert values(made, "lakelogic_contract_duration_seconds", "contract")["shop/orders"] == 8.0
    assert values(made, "lakelogic_contract_windows", "contract", "status") == {
        ("shop/orders", "success"): 2,
        ("shop/sales", "failed"): 1,
    }


def test_only_broken_rules_are_listed_and_every_contract_counts_them() -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    assert values(made, "lakelogic_rule_failed_rows", "rule", "severity") == {('amount "known"', "error"): 3}
    assert values(made, "lakelogic_rule_failed", "rule", "severity") == {("unique", "warning"): 1}
    assert values(made, "lakelogic_contract_failed_checks", "severity") == {"error": 1, "warning": 1}
    clean = metrics_of(report(), [run_of("2026-02-01")], now=NOW)
    assert values(clean, "lakelogic_contract_failed_checks", "severity") == {"error": 0}


def test_the_last_success_is_this_one_or_the_one_before() -> None:
    name = "lakelogic_contract_last_success_timestamp_seconds"
    before = {"shop/orders": BEGIN - timedelta(days=9), "shop/sales": BEGIN - timedelta(days=1)}
    assert values(metrics_of(report(), RUNS, last_success=before), name, "contract") == {
        "shop/orders": BEGIN.timestamp() + 4,
        "shop/sales": BEGIN.timestamp() - 86_400,
    }


def test_freshness_is_the_age_of_the_newest_row() -> None:
    name = "lakelogic_contract_freshness_lag_seconds"
    assert values(metrics_of(report(), RUNS, now=NOW), name, "contract") == {"shop/orders": 3 * 3600}
    closed = {"key": "2026-01-01", "start": "2026-01-01T00:00:00+00:00", "end": "2026-01-02T00:00:00+00:00"}
    old = run_of("x", newest="2026-01-01T23:00:00")
    backfill = RunReport(**{each: getattr(old, each) for each in old.__slots__} | {"window": closed})
    assert values(metrics_of(report(), [backfill], now=NOW), name, "contract") == {"shop/orders": 3600}
    blocked = [run_of("x", "blocked", newest="2026-02-03T03:05:00")]
    assert name not in {each.name for each in metrics_of(report(), blocked, now=NOW)}


def test_a_pipeline_that_runs_says_how_long_so_far() -> None:
    made = metrics_of(report(ended_at=None), now=NOW)
    assert values(made, "lakelogic_pipeline_duration_seconds") == {(): 7200.0}
    assert values(made, "lakelogic_pipeline_status", "status")["running"] == 1
    assert "lakelogic_pipeline_end_timestamp_seconds" not in {each.name for each in made}


def test_no_value_of_a_row_no_person_and_no_secret_is_in_the_figures(tmp_path: Path) -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    write_metrics(tmp_path / "m.json", report(), made)
    for text in (as_prometheus(made), (tmp_path / "m.json").read_text()):
        assert not re.search(r"ana\b|hunter2", text)


def strictly_parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """By a parser of others; what it is lenient about is checked here."""
    assert text.endswith("\n")
    heads = re.findall(r"^# (HELP|TYPE) (\S+)", text, re.MULTILINE)
    assert len(heads) == len(set(heads))
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        for sample in family.samples:
            assert sample.name == family.name
            assert re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", sample.name)
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def test_the_text_says_the_same_as_the_figures() -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    parsed = strictly_parsed(as_prometheus(made))
    assert parsed == {(each.name, tuple(sorted(each.labels.items()))): each.value for each in made}
    assert len(parsed) == len(made)


def test_every_family_has_its_help_and_its_type_once() -> None:
    lines = as_prometheus(metrics_of(report(), RUNS, now=NOW)).splitlines()
    at = lines.index("# TYPE lakelogic_contract_rows gauge")
    assert lines[at - 1].startswith("# HELP lakelogic_contract_rows Rows of the contract")
    assert lines[at + 1] == 'lakelogic_contract_rows{contract="shop/orders",layer="silver",outcome="source"} 20'
    assert sum("lakelogic_contract_rows{" in line for line in lines) == 8


@given(st.text(), st.floats(allow_nan=False))
def test_any_label_and_any_number_survive(label: str, value: float) -> None:
    text = as_prometheus([Metric("m", value, {"rule": label}, 'back\\slash and\nline "quoted"')])
    assert text.split("\n")[0] == '# HELP m back\\\\slash and\\nline "quoted"'
    # Lines end at \n alone, while the parser splits at every end of line that Python knows.
    (sample,) = [line for line in text.split("\n") if line.startswith("m{")]
    shown = re.fullmatch(r'm\{rule="((?:[^"\\\n]|\\[\\"n])*)"\} (\S+)', sample)
    assert shown
    assert re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), shown[1]) == label
    assert float(shown[2]) == value


def test_numbers_that_are_none_are_written_as_the_format_wants() -> None:
    text = as_prometheus(
        [Metric("m", value, {"n": str(value)}) for value in (float("nan"), float("inf"), -float("inf"))]
    )
    assert re.findall(r"\} (\S+)", text) == ["NaN", "+Inf", "-Inf"]


def test_nothing_is_an_empty_page() -> None:
    assert as_prometheus([]) == ""


def test_the_file_is_json_or_text_by_its_name(tmp_path: Path) -> None:
    made = metrics_of(report(), RUNS, now=NOW)
    write_metrics(tmp_path / "a" / "m.json", report(), made)
    write_metrics(tmp_path / "m.prom", report(), made)
    said = json.loads((tmp_path / "a" / "m.json").read_text())
    assert (said["pipeline_run_id"], said["status"], len(said["metrics"])) == ("p-1", "partial", len(made))
    assert said["metrics"][0] == {
        "name": "lakelogic_pipeline_info",
        "type": "gauge",
        "help": made[0].help,
        "labels": {"pipeline_run_id": "p-1", "environment": "prod"},
        "value": 1,
    }
    assert (tmp_path / "m.prom").read_text() == as_prometheus(made)


@pytest.mark.parametrize("name", sorted({each.name for each in metrics_of(report(), RUNS, now=NOW)}))
def test_a_gauge_does_not_call_itself_a_counter(name: str) -> None:
    assert not name.endswith(("_total", "_count", "_sum", "_bucket"))
