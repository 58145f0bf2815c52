"""What a battery and a soak have found is kept with what is needed to find it again, and the page shows it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import faults.__main__ as runner
from benchmarks.plots import BEGIN, END
from faults import record
from faults.catalogue import Fault
from faults.checking import Finding
from faults.lane import Lane


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "page.md"
    made.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    monkeypatch.setattr(record, "PAGE", made)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    return made


def test_a_battery_is_kept_with_its_seed_and_circumstances_when_it_is_whole_or_asked_to_be(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pretended(_: Lane, fault: Fault) -> Finding:
        return Finding(lost=int(fault.kind == "clock"))

    monkeypatch.setattr(runner, "let_loose", pretended)
    kept = page.parent / "results" / "faults.json"
    assert runner.main(["--seed", "5", "--faults", "20", "--only", "clock"]) == 1
    assert not kept.exists()
    assert runner.main(["--seed", "5", "--faults", "20", "--only", "clock", "--record"]) == 1
    found = json.loads(kept.read_text())
    count = found["table"]["clock"]["faults"]
    assert (found["seed"], found["table"]["all"]["lost rows"], len(found["bad"])) == (5, count, count)
    assert found.keys() >= {"commit", "seconds", "machine", "recorded_at", "load"}
    assert f"| clock | {count} | {count} | 0 | {count} | 0 | 0 | 0 |" in page.read_text()


def test_the_page_shows_a_soak_below_the_battery_and_nothing_old(page: Path) -> None:
    told = {"runs": 500, "bar": 1.3, "figures": {"heap_mb": [90.0, 99.0, 1.1]}}
    record.record("soak", time.monotonic() - 600, told)
    shown = page.read_text()
    assert "| heap mb | 90.00 | 99.00 | 1.10 |" in shown
    assert '`make soak ARGS="--runs 500"`, 10 minutes on' in shown
    assert "old" not in shown
    assert shown.startswith("before\n")
    assert shown.endswith("after\n")


def test_the_page_is_what_the_records_say(tmp_path: Path) -> None:
    copy = tmp_path / "page.md"
    copy.write_text(record.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    record.write_page(copy, record.RESULTS)
    assert copy.read_text(encoding="utf-8") == record.PAGE.read_text(encoding="utf-8")
