"""What a request asks of each contract, told from logs and calendars alone; no Spark is started here."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.errors import RequestError
from lakelogic_assets.plan.campaign import Task
from lakelogic_assets.plan.request import Mode, PipelineRequest
from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.project import Project
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark import compaction
from lakelogic_assets.spark.campaigns import Planner
from lakelogic_assets.spark.run_log import SEQUENCE, append_run, read_runs, standing_reports
from lakelogic_assets.spark.window_states import succeeded_in
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONTRACT = """
version: 1.0.0
info: {title: T, table_name: sales}
model: {fields: [{name: id, type: int}, {name: day, type: date}, {name: region, type: string}]}
source: {type: landing, path: in, format: csv, watermark_field: day}
materialization: {strategy: append, reprocess_date_column: day}
extensions: {com.lakelogic.partitions: SET}
"""
SETS = {
    "daily": 'name: daily\ncadence: daily\nstart: "2026-01-20"\n',
    "regions": 'name: regions\ncadence: daily\nstart: "2026-01-20"\nstatic: {column: region, values: [eu, us]}\n',
}
NOW = datetime(2026, 2, 7, 3, tzinfo=UTC)
"""The night after the sixth of February."""


class Diary:
    """A contract by partitions whose runs are only logged."""

    def __init__(self, root: Path, partitions: str = "daily", text: str = CONTRACT) -> None:
        (root / "contracts").mkdir()
        (root / "partitions").mkdir()
        (root / "contracts/sales.yaml").write_text(text.replace("SET", partitions))
        for name, text in SETS.items():
            (root / f"partitions/{name}.yaml").write_text(text)
        registry = load_project(Project(root))
        assert registry.errors == ()
        self.planner = Planner(registry, Workspace(Project(root)), NOW)
        (self.contract,) = registry
        self.log = self.planner.workspace.destination(self.contract).run_log
        self.count = 0

    def window(self, key: str) -> Window:
        if key == FULL.key:
            return FULL
        day = date.fromisoformat(key.split("|")[0])
        if self.planner.partitions(self.contract) is None:
            return Window.day(day)
        return next(each for each in self.planner.windows(self.contract, day, day) if each.key == key)

    def ran(self, *keys: str, status: Status = "success", at: datetime | None = None, **more: Any) -> None:
        for key in keys:
            self.count += 1
            window = FULL if status in ("reset", "restored") else self.window(key)
            ended = at or NOW - timedelta(hours=2) + timedelta(seconds=self.count)
            name = "/".join(self.contract.key)
            told = {"versions_written": {"target": self.count}} | more
            report = RunReport(status, f"run-{self.count}", "p", name, "sales", window.as_dict(), ended, ended, **told)
            append_run(self.log, None, report, "local")

    def next_night(self) -> list[str]:
        return [task.window.key for task in self.asked(PipelineRequest(window="last_success"))]

    def asked(self, request: PipelineRequest) -> Sequence[Task]:
        return self.planner.campaign(request, self.planner.registry.contracts).tasks


def days(first: int, last: int) -> list[str]:
    return [f"2026-02-0{day}" for day in range(first, last + 1)]


def test_a_day_that_nobody_has_run_is_not_passed_over_because_a_later_one_was(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.ran(*days(1, 2), "2026-02-05")
    assert diary.next_night() == ["2026-02-03", "2026-02-04", "2026-02-06"]
    diary.ran("2026-02-03", status="no_new_data")
    diary.ran("2026-02-04", status="failed")
    assert diary.next_night() == ["2026-02-04", "2026-02-06"]


def test_of_a_day_that_is_done_for_one_region_the_others_are_run(tmp_path: Path) -> None:
    diary = Diary(tmp_path, "regions")
    diary.ran("2026-02-04|eu", "2026-02-04|us", "2026-02-05|eu")
    assert diary.next_night() == ["2026-02-05|us", "2026-02-06|eu", "2026-02-06|us"]


def test_a_run_of_all_there_is_has_taken_in_what_was_over_by_then(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.ran(FULL.key, at=datetime(2026, 2, 3, 5, tzinfo=UTC))
    assert diary.next_night() == days(3, 6)
    diary.ran("2026-02-05", "2026-01-25")
    assert diary.next_night() == ["2026-02-03", "2026-02-04", "2026-02-06"]


def test_what_an_emptied_table_had_is_run_again_also_after_one_day_of_it(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.ran(*days(2, 4))
    diary.ran("any", status="reset")
    assert diary.next_night() == [FULL.key]
    diary.ran("2026-02-03")
    assert diary.next_night() == ["2026-02-02", "2026-02-04", "2026-02-05", "2026-02-06"]


@pytest.mark.parametrize("together", [False, True], ids=["file by file", "put together"])
def test_a_reset_forgets_the_days_of_a_clock_that_was_ahead(
    tmp_path: Path, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary = Diary(tmp_path)
    diary.ran(*days(2, 3))
    diary.ran("2026-02-04", at=NOW + timedelta(hours=25))
    diary.ran("any", status="reset")
    if together:
        monkeypatch.setattr(compaction, "_MANY_FILES", 3)
    diary.ran("2026-02-05")
    assert len(DeltaTable(diary.log).file_uris()) == (1 if together else 5)
    kept = [report["window"]["key"] for report in standing_reports(diary.log, "/".join(diary.contract.key))]
    assert kept == ["2026-02-05"]
    assert diary.next_night() == ["2026-02-02", "2026-02-03", "2026-02-04", "2026-02-06"]
    assert [row["run_id"] for row in read_runs(diary.log)] == [f"run-{number}" for number in (5, 4, 3, 2, 1)]


def test_a_day_that_failed_after_the_clock_went_back_is_tried_again(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.ran(*days(1, 6), at=NOW + timedelta(hours=25))
    diary.ran("2026-02-04", status="failed")
    assert diary.next_night() == ["2026-02-04"]
    assert succeeded_in(diary.log, "/".join(diary.contract.key), "p") == {
        diary.window(day) for day in days(1, 6) if day != "2026-02-04"
    }


def test_a_log_from_before_runs_were_counted_goes_on_and_its_runs_are_the_oldest(tmp_path: Path) -> None:
    diary = Diary(tmp_path)
    diary.ran("2026-02-01", at=NOW + timedelta(days=9))
    diary.ran("2026-02-02", at=NOW + timedelta(days=10))
    table = DeltaTable(diary.log)
    plain = f"{diary.log}_plain"
    write_deltalake(plain, table.to_pyarrow_table().drop_columns([SEQUENCE]))
    diary.log = plain
    diary.ran("2026-02-03")
    assert [row["run_id"] for row in read_runs(diary.log)] == ["run-3", "run-2", "run-1"]


WHOLE = CONTRACT.replace("extensions: {com.lakelogic.partitions: SET}\n", "")
NEWS = WHOLE.replace("format: csv", "format: csv, load_mode: incremental")
UNCUT = NEWS.replace(", watermark_field: day", "").replace(", reprocess_date_column: day", "")
DAYS = (date(2026, 2, 3), date(2026, 2, 4))


@pytest.mark.parametrize("mode", ["range", "backfill", "reprocess"])
def test_days_of_what_is_appended_are_cut_and_what_is_new_is_taken_in_before(tmp_path: Path, mode: Mode) -> None:
    diary = Diary(tmp_path, text=NEWS)
    request = PipelineRequest(window=mode, days=DAYS, direction="reverse")
    cut = ["2026-02-04", "2026-02-03"] if mode == "backfill" else ["2026-02-03..2026-02-05"]
    assert [task.window.key for task in diary.asked(request)] == [FULL.key]  # else the days would come once more
    diary.ran("2026-02-02")
    assert [task.window.key for task in diary.asked(request)] == cut
    diary.ran(FULL.key)
    tasks = diary.asked(request)
    assert [task.window.key for task in tasks] == [FULL.key, *cut]
    assert {task.rebuilds for task in tasks} == {mode == "reprocess"}


def test_what_is_made_as_a_whole_still_is(tmp_path: Path) -> None:
    (task,) = Diary(tmp_path, text=WHOLE).asked(PipelineRequest(window="range", days=DAYS))
    assert (task.window, task.why) == (FULL, "made as a whole, after what it is made from")


@pytest.mark.parametrize("more", ["", ", partition_by: [region]"])
def test_days_that_nothing_can_be_cut_by_are_refused_and_not_said_to_be_done(tmp_path: Path, more: str) -> None:
    diary = Diary(tmp_path, text=UNCUT.replace("strategy: append", f"strategy: append{more}"))
    with pytest.raises(RequestError, match=r"^sales cannot be cut into days: name a column of time in .*reload` it\.$"):
        diary.asked(PipelineRequest(window="reprocess", days=DAYS))
