"""Which files are new is told by few reports, however many runs there were; no Spark is started here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from deltalake import write_deltalake

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark import boundaries
from lakelogic_assets.spark.boundaries import Decision, decide
from lakelogic_assets.spark.destination import Destination, destination
from lakelogic_assets.spark.log_rows import SEQUENCE, LogRows
from lakelogic_assets.spark.run_log import Successes, append_run, read_runs
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.snapshot import FileStat
from lakelogic_assets.spark.tables import Lakehouse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 2, 3, 12, tzinfo=UTC)


class Feed:
    """A landing folder of which every run has read one file; each clock is an hour behind the one before it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = {"type": "landing", "path": "in", "format": "csv", "load_mode": "incremental"}
        contract = Contract.model_validate({"info": {"title": "t", "table_name": "made"}, "source": source})
        lakehouse = Lakehouse(folder / "lake", project_root=folder, contract_folder=folder)
        self.place: Destination = destination(contract, lakehouse)
        write_deltalake(self.place.target, pa.table({"id": [1]}))
        self.scope = Scope(None, contract, lakehouse, "run", "run", NOW, lambda _: None)  # type: ignore[arg-type]
        self.root = str(folder / "in")
        self.runs = self.parsed = 0
        newest = Successes.newest

        def counted(told: Successes, count: int | None) -> Iterator[dict[str, Any]]:
            for report in newest(told, count):
                self.parsed += 1
                yield report

        monkeypatch.setattr(Successes, "newest", counted)

    def file(self, number: int) -> FileStat:
        return FileStat(f"{self.root}/{number}.csv", 10, 5000.0 - number)

    def ran(self, status: Status = "success", **more: Any) -> None:
        self.runs += 1
        ended, file = NOW - timedelta(hours=self.runs), self.file(self.runs)
        state = {"max_mtime": file.mtime, "root": self.root, "files": [[f"{self.runs}.csv", 10, file.mtime]]}
        told = {"watermark": state, "versions_written": {"target": self.runs}} | more
        append_run(
            self.place.run_log, None,
            RunReport(status, f"r{self.runs}", "p", "made", "made", FULL.as_dict(), ended, ended, **told), "local",
        )  # fmt: skip

    def decided(self) -> Decision:
        """As a run decides: what is due to be noted is."""
        self.parsed = 0
        decision = decide(self.scope, self.place, FULL)
        if decision.note is not None:
            decision.note.keep(self.place.known_files)
        return decision

    def known(self) -> set[int]:
        """The numbers of the files that the log says were read."""
        return {int(file.path.rsplit("/", 1)[1].removesuffix(".csv")) for file in self.decided().boundary.known or ()}


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Feed:
    monkeypatch.setattr(boundaries, "_MANY_REPORTS", 4)
    return Feed(tmp_path, monkeypatch)


def numbers(*spans: range) -> set[int]:
    return {number for span in spans for number in span}


def test_files_are_summed_up_now_and_then_and_the_reports_before_are_not_asked_any_more(feed: Feed) -> None:
    for _ in range(13):
        feed.ran()
        assert feed.decided().boundary.known == {feed.file(number) for number in range(1, feed.runs + 1)}
        assert feed.parsed <= 4


def test_a_row_of_the_log_does_not_grow_with_the_runs_before_it(feed: Feed) -> None:
    for _ in range(13):
        feed.ran()
        feed.decided()
    sizes = {len(json.dumps(row["report"])) for row in read_runs(feed.place.run_log, with_reports=True)}
    assert max(sizes) - min(sizes) < 20


def test_what_is_summed_up_is_not_believed_where_runs_were_taken_back_since(feed: Feed) -> None:
    for _ in range(6):
        feed.ran()
        feed.decided()
    feed.ran(status="restored", versions_read={"target": 3})
    assert feed.known() == numbers(range(1, 4))
    assert feed.known() == numbers(range(1, 4))
    assert feed.parsed == 0
    feed.ran(status="reset")
    assert feed.decided() == Decision(reason="no earlier success, so all files are read")
    for _ in range(5):
        feed.ran()
        feed.decided()
    assert feed.known() == numbers(range(9, 14))


@pytest.mark.parametrize("spoilt", ["", "[]", '{"of"', '{"of": [], "run_id": "r6", "rows": 6, "state": {}}', None])
def test_the_log_alone_tells_what_was_read(feed: Feed, spoilt: str | None) -> None:
    for _ in range(6):
        feed.ran()
        feed.decided()
    if spoilt is None:
        feed.place.known_files.unlink()
    else:
        feed.place.known_files.write_text(spoilt, encoding="utf-8")
    assert feed.known() == numbers(range(1, 7))
    assert feed.parsed == 6
    assert feed.known() == numbers(range(1, 7))
    assert feed.parsed == 0


@pytest.mark.parametrize("change", [{"run_id": "elsewhere"}, {"rows": 3}, {"rows": 99}, {"of": ["another log"]}])
def test_a_note_that_does_not_fit_the_log_is_not_believed(feed: Feed, change: dict[str, Any]) -> None:
    for _ in range(6):
        feed.ran()
        feed.decided()
    said = json.loads(feed.place.known_files.read_text(encoding="utf-8"))
    said["state"]["files"] = [["99.csv", 10, 1.0]]
    feed.place.known_files.write_text(json.dumps(said), encoding="utf-8")
    assert 99 in feed.known()
    feed.place.known_files.write_text(json.dumps(said | change), encoding="utf-8")
    assert feed.known() == numbers(range(1, 7))


def test_an_older_note_leaves_more_reports_to_ask_and_nothing_out(feed: Feed) -> None:
    for _ in range(5):
        feed.ran()
    feed.decided()
    older = feed.place.known_files.read_text(encoding="utf-8")
    for _ in range(7):
        feed.ran()
        feed.decided()
    feed.place.known_files.write_text(older, encoding="utf-8")
    assert feed.known() == numbers(range(1, 13))
    assert feed.parsed == 7


def test_a_run_that_does_not_name_its_files_leaves_their_times_to_tell_also_when_summed_up(feed: Feed) -> None:
    feed.ran(watermark={"max_mtime": 9000.0, "files_at_max": ["/in/a.csv"]})
    for _ in range(6):
        feed.ran()
    for asked in (7, 0):
        boundary = feed.decided().boundary
        assert (boundary.after_mtime, boundary.seen_at_mtime) == (9000.0, frozenset({"/in/a.csv"}))
        assert (boundary.known, feed.parsed) == (None, asked)


def test_a_plan_writes_no_note(feed: Feed) -> None:
    for _ in range(6):
        feed.ran()
    assert decide(feed.scope, feed.place, FULL).note is not None
    assert not feed.place.known_files.exists()


def test_more_rows_than_one_slice_come_newest_first_whether_or_not_the_log_counts_them(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    rows = [{"run_id": f"r{number}", "status": "success", "timestamp": NOW, "n": number} for number in range(300)]
    clocks = [row | {"timestamp": NOW + timedelta(hours=number)} for number, row in enumerate(rows)]
    schema = pa.schema(
        [("run_id", "string"), ("status", "string"), ("timestamp", pa.timestamp("us", "UTC")), ("n", "int64")]
    )
    write_deltalake(path, pa.Table.from_pylist(clocks[:100], schema=schema))
    counted = schema.append(pa.field(SEQUENCE, pa.int64()))
    for first, after in ((100, 200), (200, 300)):
        some = [row | {SEQUENCE: row["n"] // 3} for row in rows[first:after]]
        write_deltalake(path, pa.Table.from_pylist(some, schema=counted), mode="append", schema_mode="merge")
    found = [n for some in LogRows(path, None).newest(["n"]) for n in some["n"].to_pylist()]
    assert [n if n < 100 else n // 3 for n in found] == [
        *sorted((n // 3 for n in range(100, 300)), reverse=True),
        *range(99, -1, -1),
    ]
    assert sorted(found) == [*range(300)]
    assert [n for some in LogRows(path, pads.field("n") < 150).newest(["n"], 70) for n in some["n"].to_pylist()][
        50:
    ] == [*range(99, 79, -1)]
