"""The shape of all measurements, without Spark: what is measured is run by `make bench`."""

from __future__ import annotations

import ast
import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.plan.window import Window

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    module = import_module("benchmarks.measurement")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "SCRATCH", tmp_path / "scratch")
    return module


def result_of(shape: ModuleType, rows: int, limit: float = 1.5) -> object:
    """Two jobs with clocks of their own, of which the second takes twice as long."""
    turns: list[str] = []

    def job(name: str, seconds: float) -> object:
        def run() -> object:
            turns.append(name)
            return shape.Sample(seconds * len(turns), seconds, facts={"rows": 3, "turns": list(turns)})

        return run

    @contextlib.contextmanager
    def prepared(_: object) -> Iterator[object]:
        jobs = {"plain": job("plain", 1.0), "ours": job("ours", 2.0)}
        bars, claims = (shape.Bar("ours", "plain", limit, "cpu"),), (shape.Claim("ours", "rows", 3),)
        yield shape.Measurement("two jobs", jobs, bars, claims, rounds=2)

    return shape.measure("example", prepared, shape.Size(rows))


def test_jobs_take_turns_and_the_first_round_only_warms_up(shape: ModuleType) -> None:
    kept = result_of(shape, 100).as_dict()
    assert kept["jobs"]["ours"]["facts"]["turns"] == ["plain", "ours"] * 3
    assert kept["jobs"]["plain"]["wall"] == {"min": 3.0, "median": 4.0, "all": [3.0, 5.0]}


@pytest.mark.parametrize(("limit", "met"), [(1.5, False), (2.0, True)])
def test_a_bar_is_met_by_the_clock_that_it_names(shape: ModuleType, limit: float, met: bool) -> None:
    result = result_of(shape, 100, limit)
    assert result.met is met
    assert result.as_dict()["bars"][0]["ratio"] == 2.0
    assert result.as_dict()["claims"][0] == {"job": "ours", "fact": "rows", "at_most": 3, "found": 3.0, "met": True}


def test_only_the_full_size_is_kept_with_the_code_unless_asked_for(shape: ModuleType) -> None:
    small, full = result_of(shape, 100), result_of(shape, shape.FULL_ROWS)
    assert small.write(keep=False).parent.name == "scratch"
    assert small.write(keep=True).parent.name == "results"
    assert full.write(keep=False).parent.name == "results"


def test_results_become_drawings_and_a_table_between_their_marks(shape: ModuleType, tmp_path: Path) -> None:
    plots = import_module("benchmarks.plots")
    kept = json.loads(result_of(shape, 100).write(keep=True).read_text())
    for drawing in (plots.jobs_chart(kept), plots.ratios_chart([kept])):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")  # noqa: S314 - our own text
    page = tmp_path / "page.md"
    page.write_text(f"before\n{plots.BEGIN}\nold\n{plots.END}\nafter\n")
    plots.write_page(page, [kept])
    assert "| example: ours (user time) | plain | 2.00 | 1.50 |" in page.read_text()
    assert "old" not in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")


@pytest.mark.usefixtures("shape")
def test_rows_of_two_lakes_differ_also_in_how_often_they_stand_there() -> None:
    lake = import_module("benchmarks.example_lake")
    some = {"a": Counter(x=2, y=1), "b": Counter(z=1)}
    assert lake.differing(some, {"a": Counter(x=1, y=1), "b": Counter()}) == {"a": 1, "b": 1}
    assert lake.differing(some, {"a": Counter(y=1, x=2), "b": Counter(z=1)}) == {}


@pytest.mark.usefixtures("shape")
def test_what_a_rebuild_touches_is_told_by_the_history_and_by_the_values_in_files(tmp_path: Path) -> None:
    touched = import_module("benchmarks.touched")
    days = [date(2026, 2, day) for day in (1, 2, 3)]
    rows = pa.table({"came": [str(day) for day in days], "sold": days})
    write_deltalake(tmp_path, rows, partition_by=["came"])
    write_deltalake(tmp_path, rows.slice(1, 1), mode="overwrite", predicate="came = '2026-02-02'")
    paths = list(touched.paths_since(tmp_path, 0))
    assert [path.split("/")[0] for path in paths] == ["came=2026-02-02"] * 2
    assert len(list(touched.paths_since(tmp_path, -1))) == 5
    table, window = DeltaTable(tmp_path), touched.days_of(Window.range("2026-02-02", "2026-02-03"))
    for column in ("came", "sold"):
        files = touched.files_of(table, column, window)
        assert {file.split("/")[0] for file in files} == {"came=2026-02-02", "came=2026-02-03"}


@pytest.mark.usefixtures("shape")
def test_every_benchmark_that_can_be_named_is_there() -> None:
    known = import_module("benchmarks.__main__")
    files = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert {*known.ALWAYS, *known.WHEN_NAMED} <= files


BARS = {
    "engine": ["1 / 2.2", "1.1", "1.2", "1.25", "1.65", "2.0"],
    "merge": ["1.3"],
    "scd2": ["1.2"],
    "dataset": ["1.3"],
    "overhead": ["1.5"],
    "location": ["1.5"],
    "noop": ["3.0"],
    "memory": ["1.2"],
    "peers": ["1 / 5", "1.0", "2.5"],
    "generate": ["3.0"],
    "backfill": ["2 * rebuilt / len(days)"],
}
CLAIMS = {"noop": ["0"], "overhead": ["1"], "large": ["GIGABYTES"]}


@pytest.mark.parametrize(("made", "at", "set_once"), [("Bar", 2, BARS), ("Claim", 2, CLAIMS)])
def test_nobody_moves_a_bar_to_meet_it(made: str, at: int, set_once: dict[str, list[str]]) -> None:
    for name, limits in set_once.items():
        tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == made]
        assert sorted(ast.unparse(call.args[at]) for call in calls) == limits, name
