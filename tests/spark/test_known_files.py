"""Which files are new is told by few reports, however many runs there were; no Spark is started here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark import boundaries
from lakelogic_assets.spark.boundaries import Decision, decide
from lakelogic_assets.spark.destination import Destination, destination
from lakelogic_assets.spark.run_log import append_run, successes
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
        monkeypatch.setattr(boundaries, "successes", self._counted)

    def _counted(self, *asked: Any) -> Iterator[dict[str, Any]]:
        for report in successes(*asked):
            self.parsed += 1
            yield report

    def file(self, number: int) -> FileStat:
        return FileStat(f"{self.root}/{number}.csv", 10, 5000.0 - number)

    def ran(self, decision: Decision | None = None, status: Status = "success", **more: Any) -> None:
        self.runs += 1
        ended, file = NOW - timedelta(hours=self.runs), self.file(self.runs)
        state = {"max_mtime": file.mtime, "root": self.root, "files": [[f"{self.runs}.csv", 10, file.mtime]]}
        told = {"watermark": state | (decision.remembered(self.root) if decision else {})}
        told |= {"versions_written": {"target": self.runs}} | more
        append_run(
            self.place.run_log, None,
            RunReport(status, f"r{self.runs}", "p", "made", "made", FULL.as_dict(), ended, ended, **told), "local",
        )  # fmt: skip

    def decided(self) -> Decision:
        self.parsed = 0
        return decide(self.scope, self.place, FULL)


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Feed:
    monkeypatch.setattr(boundaries, "_MANY_REPORTS", 4)
    return Feed(tmp_path, monkeypatch)


def test_a_run_names_all_files_now_and_then_and_those_before_it_are_not_asked_any_more(feed: Feed) -> None:
    for _ in range(13):
        feed.ran(feed.decided() if feed.runs else None)
        assert feed.decided().boundary.known == {feed.file(number) for number in range(1, feed.runs + 1)}
        assert feed.parsed <= 4


def test_a_run_that_names_all_files_and_is_taken_back_tells_nothing(feed: Feed) -> None:
    for _ in range(6):
        feed.ran(feed.decided() if feed.runs else None)
    feed.ran(status="restored", versions_read={"target": 3})
    assert feed.decided().boundary.known == {feed.file(number) for number in (1, 2, 3)}
    feed.ran(status="reset")
    assert feed.decided() == Decision(reason="no earlier success, so all files are read")
