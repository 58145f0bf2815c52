"""How old what a contract reads may be: reference data longer than facts, and a limit for all that is not named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.plan.window import FULL
from lakelogic_assets.project import Project
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark.admission import refusal, upstreams_of
from lakelogic_assets.spark.holds import Hold, Holds
from lakelogic_assets.spark.request import RunRequest
from lakelogic_assets.spark.run_log import append_run
from lakelogic_assets.spark.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "version: 1.0.0\ninfo: {{title: T, table_name: {0}}}\nmodel: {{fields: [{{name: id, type: int}}]}}\n"
BELOW = """
upstream: [facts, rates]
extensions: {com.lakelogic.upstream_freshness: {"*": 1h, rates: 6h}}
"""


class Place:
    """Facts, reference data and what is made from them; runs are only logged."""

    def __init__(self, root: Path) -> None:
        (root / "contracts").mkdir()
        for name, more in (("facts", ""), ("rates", ""), ("below", BELOW)):
            (root / f"contracts/{name}.yaml").write_text(TABLE.format(name) + more)
        self.registry, self.workspace = load_project(Project(root)), Workspace(Project(root))
        assert self.registry.errors == ()
        self.keys = {key[-1]: key for key in self.registry.contracts}

    def ran(self, name: str, *, ago: timedelta, status: Status = "success") -> None:
        key, ended = self.keys[name], datetime.now(UTC) - ago
        report = RunReport(status, f"{name}-{ago}", "p", "/".join(key), name, FULL.as_dict(), ended, ended)
        append_run(self.workspace.destination(self.registry.contracts[key]).run_log, None, report, "local")

    def hold(self, name: str) -> None:
        holds = Holds(self.workspace.destination(self.registry.contracts[self.keys[name]]).holds)
        holds.note(Hold(self.keys[name], FULL, ("a rule failed",), "run-1", "2026-02-03T00:00:00+00:00"))

    def refused(self) -> list[str]:
        contract = self.registry.contracts[self.keys["below"]]
        request = RunRequest(upstream=upstreams_of(self.registry, self.workspace, contract.key))
        found = refusal(contract, self.workspace.destination(contract), request, lambda _: None)
        return list(found.noted) if found else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_reference_data_of_six_hours_may_pass_and_facts_may_not(place: Place) -> None:
    for name in ("facts", "rates"):
        place.ran(name, ago=timedelta(hours=5))
    (why,) = place.refused()
    assert why.startswith("facts last succeeded 5 hours ago; at most 60 minutes are allowed")
    place.ran("facts", ago=timedelta(minutes=30))
    assert place.refused() == []


def test_what_is_only_limited_by_the_rule_for_all_does_not_stand_in_for_a_held_window(place: Place) -> None:
    for name in ("facts", "rates"):
        place.ran(name, ago=timedelta(minutes=5))
        place.hold(name)
    assert place.refused() == ["facts is held back for full: a rule failed"]


def test_a_table_that_was_emptied_is_as_old_as_one_that_never_was_made(place: Place) -> None:
    for name in ("facts", "rates"):
        place.ran(name, ago=timedelta(minutes=5))
    place.ran("facts", ago=timedelta(hours=30), status="reset")
    assert [why.split(";")[0] for why in place.refused()] == ["facts has never succeeded"]
    place.ran("facts", ago=timedelta(minutes=1), status="no_new_data")
    assert place.refused() == []
