"""The checker of the fault battery can say no: it finds what it is there to find."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import faults.__main__ as runner
from faults import deeds
from faults.catalogue import KILLED, Fault, catalogue, draw
from faults.checking import Finding, came_through, glimpse, verdict
from faults.lane import Lane
from faults.points import BORDERS
from faults.scene import BEGINNING, OPEN, STRATEGIES, Row, Scene, State, day_name, draw_rows

_DEAD = {"daemon", "webserver", "run", "daemon and run"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path, "append", windowed=True)
    made.land(0, draw_rows(random.Random(3), 0))  # noqa: S311 - drawn, not secret
    return made


def write(scene: Scene, state: State) -> None:
    """The tables as a run leaves them, with its row in the log."""
    write_tables(scene, state)
    log(scene, counts(scene))


def write_tables(scene: Scene, state: State) -> None:
    rows = [dict(zip(("id", "k", "v"), row, strict=True)) for row in state.target.elements()]
    write_deltalake(str(scene.target), pa.Table.from_pylist(rows), mode="overwrite")
    bad = pa.Table.from_pylist(
        [{"id": id_} for id_ in state.quarantine.elements()], schema=pa.schema({"id": pa.int64()})
    )
    write_deltalake(str(scene.quarantine), bad, mode="overwrite")


def test_every_row_in_its_place_is_clean(scene: Scene) -> None:
    state = scene.state([0])
    assert state.target
    assert state.quarantine
    write(scene, state)
    assert verdict(scene, state).is_clean


def test_a_row_that_is_missing_is_lost_and_one_too_many_is_doubled(scene: Scene) -> None:
    state = scene.state([0])
    first, *others = state.target.elements()
    write(scene, State(type(state.target)([*others, others[0]]), state.quarantine))
    found = verdict(scene, state)
    assert (found.lost, found.doubled) == (1, 1)
    assert first not in others


def test_bad_rows_that_are_missing_are_lost_too(scene: Scene) -> None:
    state = scene.state([0])
    write(scene, State(state.target, type(state.quarantine)()))
    assert verdict(scene, state).lost == len(state.quarantine)
    assert glimpse(scene, scene.state([]), state, 0).half_published == 1


def test_half_of_a_table_is_half_published(scene: Scene) -> None:
    state = scene.state([0])
    half = type(state.target)([*state.target.elements()][::2])
    write(scene, State(half, state.quarantine))
    assert glimpse(scene, scene.state([]), state, 0).half_published == 1


def test_an_intent_that_nobody_finished_is_half_published(scene: Scene) -> None:
    state = scene.state([0])
    write(scene, state)
    scene.intents.mkdir(parents=True)
    (scene.intents / "open.json").write_text("{}")
    assert verdict(scene, state).half_published == 1


def log(scene: Scene, *runs: dict[str, Any]) -> None:
    table = DeltaTable(str(scene.target)).metadata().id
    for number, counts in enumerate(runs):
        row = {"timestamp": counts.pop("timestamp", number)}
        said = {
            "status": "success", "run_id": counts.pop("run_id", str(number)), "table_id": str(table),
            "window": {"start": f"{counts.pop('day', '2026-02-01')}T00:00:00+00:00"}, "counts": counts,
        }  # fmt: skip
        row["report_json"] = json.dumps(said)
        write_deltalake(str(scene.run_log), pa.Table.from_pylist([row]), mode="append")


def counts_of(rows: list[Row], day: int) -> dict[str, Any]:
    return counted(rows) | {"run_id": str(day), "day": day_name(day)}


def counts(scene: Scene, **more: Any) -> dict[str, Any]:
    return counted(scene.rows_of(0)) | more


def counted(rows: list[Row]) -> dict[str, Any]:
    good, bad = sum(row.is_good for row in rows), sum(row.is_bad for row in rows)
    return {"source": len(rows), "good": good, "quarantined": bad, "dropped": len(rows) - good - bad}


def test_a_log_that_counts_other_lines_than_the_files_have_is_half_published(scene: Scene) -> None:
    state = scene.state([0])
    write(scene, state)
    log(scene, counts(scene, good=0, run_id="later"))
    assert verdict(scene, state).half_published == 1


def test_lines_that_no_run_in_the_log_has_read_are_half_published(scene: Scene) -> None:
    """A run that was published and never logged, whether it is the first of its table or not."""
    state = scene.state([0])
    write_tables(scene, state)
    assert "no run of them" in " ".join(verdict(scene, state).says)
    log(scene, counts(scene))
    assert verdict(scene, state).is_clean
    scene.land(1, draw_rows(random.Random(4), 1))  # noqa: S311 - drawn, not secret
    both = scene.state([0, 1])
    write_tables(scene, both)
    found = verdict(scene, both)
    assert (found.half_published, found.lost) == (1, 0)
    assert found.says[0].startswith("2026-02-02: 24 lines")
    every = Scene(scene.folder, "overwrite", windowed=False, files=scene.files)
    shutil.rmtree(scene.run_log)
    write_tables(every, both)
    assert verdict(every, both).says[0].startswith("everything: 48 lines")


def test_lines_that_are_counted_in_two_runs_are_half_published(scene: Scene) -> None:
    new = Scene(scene.folder, "append", windowed=False, files=scene.files)
    state = new.state([0])
    write(new, state)
    log(new, counts(scene, run_id="another"))
    assert "the log counts" in " ".join(verdict(new, state).says)


def test_a_run_that_is_in_the_log_twice_is_half_published(scene: Scene) -> None:
    state = scene.state([0])
    write(scene, state)
    log(scene, counts(scene))
    assert verdict(scene, state).says == ("a run is in the log twice",)


def test_runs_come_in_the_order_of_their_commits_whatever_the_clock_said(scene: Scene) -> None:
    write_tables(scene, scene.state([0]))
    log(scene, counts(scene, run_id="first", timestamp=9), counts(scene, run_id="second", timestamp=1))
    assert [run["run_id"] for run in came_through(scene)] == ["first", "second"]


def test_a_fault_that_did_not_strike_is_told_and_another_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pretended(_: Lane, fault: Fault) -> Finding:
        asked.append(fault.kind)
        return Finding(struck=fault.kind != "border")

    monkeypatch.setattr(runner, "let_loose", pretended)
    faults = [Fault("border", "append"), Fault("disk", "append")]
    found = runner.battery(faults, tmp_path, 1, [Fault("border", "merge"), Fault("moment", "merge")])
    assert asked == ["border", "disk", "border", "moment"]
    assert [finding.struck for _, finding in found] == [False, True, False, True]


def test_whatever_one_fault_raises_the_others_go_on_and_a_person_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Lane, fault: Fault) -> Finding:
        if fault.kind == "disk":
            raise subprocess.CalledProcessError(32, ["mount", "-t", "tmpfs"])
        return Finding()

    monkeypatch.setattr(runner, "let_loose", refused)
    found = runner.battery([Fault("disk", "append"), Fault("border", "append")], tmp_path, 1)
    assert [finding.needs_a_person for _, finding in found] == [1, 0]
    assert found[0][1].says[0].startswith("CalledProcessError: Command '['mount'")
    assert "disk" in runner.table(found)


def test_a_full_disk_is_refused_at_the_start_where_nobody_may_mount_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    again: list[list[str]] = []
    monkeypatch.setattr(runner, "may_mount", lambda: False)
    monkeypatch.setattr(runner, "may_mount_in_a_namespace", lambda: False)
    assert runner.main(["--only", "disk", "--seed", "5"]) == 2
    assert "run `make faults` as root" in capsys.readouterr().err
    monkeypatch.setattr(runner, "may_mount_in_a_namespace", lambda: True)
    monkeypatch.setattr(runner, "again_in_a_namespace", lambda words: again.append(words) or 0)
    assert runner.main(["--only", "disk"]) == 0
    assert again[0][:3] == ["--only", "disk", "--seed"]


def test_bad_rows_of_earlier_days_may_at_no_time_be_missing(scene: Scene) -> None:
    """Only those of the day itself are replaced, so only they may be absent before it is published."""
    scene.land(1, draw_rows(random.Random(4), 1))  # noqa: S311 - drawn, not secret
    before, after = scene.state([0]), scene.state([0, 1])
    write(scene, before)
    assert glimpse(scene, before, after, 1).is_clean
    write_tables(scene, State(before.target, after.quarantine - before.quarantine))
    assert "without the bad rows" in glimpse(scene, before, after, 1).says[0]
    assert glimpse(scene, before, after, 0).is_clean


class _Pretended:
    """A lane whose run has left the tables as they are, and said so; the recovery only looks."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.crew, self.answer, self.hired = mock.Mock(), answer, mock.MagicMock()

    def run(self, *_: object, reprocess: bool = False, **__: object) -> dict[str, Any]:
        return {"done": {}} if reprocess else self.answer

    def recover(self, scene: Scene, _: list[int], after: State) -> Finding:
        return verdict(scene, after)


@pytest.mark.parametrize("published", [True, False])
def test_a_file_that_is_removed_under_a_run_ends_in_a_verdict_on_what_was_published_of_it(
    published: bool, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.land(1, draw_rows(random.Random(4), 1))  # noqa: S311 - drawn, not secret
    before, old = scene.state([0]), scene.state([0, 1])
    there = old if published else before
    fault = Fault("source", "append", details={"act": "remove", "border": "after prepare"})
    lane = _Pretended({"struck": True, **({"done": {}} if published else {"error": "a file is gone"})})
    lines = {day: scene.rows_of(day) for day in (0, 1)}

    def found() -> Finding:
        again = replace(scene, files=dict(scene.files))
        monkeypatch.setattr(deeds, "prepared", lambda *_: (again, [0, 1], 1, before, old))
        return deeds.let_loose(cast("Lane", lane), fault)

    write_tables(scene, there)
    for day in (0, 1) if published else (0,):
        log(scene, counts_of(lines[day], day))
    assert found().is_clean
    write_tables(scene, State(there.target, there.quarantine - before.quarantine))
    assert not found().is_clean
    write_tables(scene, there)
    shutil.rmtree(scene.run_log)
    assert found().half_published


def test_a_late_batch_of_a_history_finds_its_place_by_time(scene: Scene) -> None:
    scd2 = Scene(scene.folder, "scd2", windowed=True)
    for day, value in enumerate("121"):
        scd2.land(day, [Row(day, "k", value, "kept", "2026-02-01", f"2026-02-0{day + 1} 00:00:00")])
    assert scd2.state([0, 1, 2]).target == Counter(
        [
            ("k", 1, BEGINNING, "2026-02-02 00:00:00", False),
            ("k", 2, "2026-02-02 00:00:00", "2026-02-03 00:00:00", False),
            ("k", 1, "2026-02-03 00:00:00", OPEN, True),
        ]
    )
    # What only said again what was there left no trace, so nobody knows any more that it came after the late one.
    assert scd2.state([0, 2, 1]).target == scd2.state([0, 1]).target
    assert scd2.state([0, 2, 1, 2]).target == scd2.state([0, 1, 2]).target


def test_a_seed_draws_the_same_faults_of_every_kind_and_strategy() -> None:
    faults = draw(7, 520)
    assert faults == draw(7, 520)
    assert faults != draw(8, 520)
    assert len(faults) == 520
    assert {fault.strategy for fault in faults} == set(STRATEGIES)
    assert {fault.kind for fault in draw(7, 40)} == {fault.kind for fault in faults}


@pytest.mark.parametrize("seed", range(40))
def test_no_seed_leaves_out_a_kind_for_a_strategy_or_a_way_of_doing_it(seed: int) -> None:
    """Nor a border, nor a death in Dagster; what is said to be in a run of the full size is in each of them."""
    faults = draw(seed, 520)
    assert {fault.face for fault in faults} == {fault.face for fault in catalogue(random.Random(seed))}  # noqa: S311 - drawn, not secret
    found = Counter((fault.kind, fault.strategy) for fault in faults)
    kinds = {fault.kind for fault in faults}
    lacking = {each for each in product(kinds - {"dagster"}, STRATEGIES) if not found[each]}
    assert lacking == {("backfill", "overwrite")}  # which takes everything at once
    assert sum(found["dagster", strategy] for strategy in STRATEGIES) == len(_DEAD)
    for kind in ("appearance", "moment", "killed twice", "doctor"):
        acts = {(each.strategy, each.details["act"]) for each in faults if each.kind == kind}
        assert acts == set(product(STRATEGIES, KILLED))
    borders = {(each.strategy, each.details["border"], each.details["act"]) for each in faults if each.kind == "border"}
    assert borders == set(product(STRATEGIES, BORDERS, ("kill python", "kill jvm")))
    dead = {each.details["killed"]: each.strategy for each in faults if each.kind == "dagster"}
    assert dead.keys() == _DEAD
    assert set(dead.values()) == set(STRATEGIES) - {"overwrite"}
    for kind in ("maintenance", "erasure"):
        killed = {(each.strategy, each.details["killed"]) for each in faults if each.kind == kind}
        assert killed == set(product(STRATEGIES, (None, "run", "upkeep")))
