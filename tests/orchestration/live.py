"""Dagster as people run it: webserver, daemon and code server over a shop, spoken to through GraphQL.

One set of processes and one backfill serve every test that asks: starting them costs more than the tests do.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.orchestration.conftest import BAD_DAY, DAYS, Shop, fast_folder, make_shop

ROOT = Path(__file__).resolve().parents[2]
LOCATION = "lakelogic_assets.definitions"
BRONZE, SILVER, TOTALS = "bronze_till_orders", "silver_till_orders", "gold_till_totals"
REASON = "no_closed_days"
"""The gate of silver that the bad day fails."""
LEFT_OUT = "contracts/depot/silver_stock.yaml"
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")
_PATIENCE = 600.0
T = TypeVar("T")


def dagster_environment(shop: Shop, home: Path) -> dict[str, str]:
    """For a process that shall know this shop and this home, whatever the tests themselves were started with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAKELOGIC_", "DAGSTER_"))}
    kept |= {name: value for name, value in os.environ.items() if name == "LAKELOGIC_DRIVER_MEMORY"}
    return kept | {
        "LAKELOGIC_PROJECT_DIR": str(shop.root),
        "DAGSTER_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        # Dagster's own notices would hide what we want to read in a failed test.
        "PYTHONWARNINGS": "ignore",
    }


def make_home(folder: Path) -> Path:
    """A home for Dagster with the settings that the repository ships."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "dagster_home" / "dagster.yaml", folder)
    return folder


def within(seconds: float, look: Callable[[], T | None], failed: Callable[[], str]) -> T:
    """What `look` finds, asked for every second; when it finds nothing in time, the test fails with what is known."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(1)
    pytest.fail(f"still waiting after {seconds:.0f} s: {failed()}")


def key(table: str) -> dict[str, list[str]]:
    return {"path": ["shop", table]}


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    id: str
    status: str
    errors: str

    def must_succeed(self) -> Run:
        assert self.status == "SUCCESS", f"run {self.id} ended as {self.status}\n{self.errors}"
        return self


@dataclass(frozen=True)
class Live:
    """A shop that is served, and what people do with it."""

    shop: Shop
    url: str
    logs: Path

    def ask(self, query: str, **variables: Any) -> Any:
        """The data of a GraphQL answer; its errors fail the test."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(  # noqa: S310 - always our own webserver
            f"{self.url}/graphql", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                pytest.fail(f"{error} {error.read().decode()[:3000]}")
        assert "errors" not in found, found["errors"]
        return found["data"]

    def start(
        self,
        *tables: str,
        day: str | None = None,
        job: str = "__ASSET_JOB",
        checks: Sequence[tuple[str, str]] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> str:
        """Launch a run as the UI's buttons do. `checks` are (table, check); none at all means those of the tables."""
        selector: dict[str, Any] = {
            "repositoryLocationName": LOCATION,
            "repositoryName": "__repository__",
            "pipelineName": job,
        }
        if job == "__ASSET_JOB":
            selector["assetSelection"] = [key(table) for table in tables]
        if checks is not None:
            selector["assetCheckSelection"] = [{"assetKey": key(table), "name": name} for table, name in checks]
        tags = [{"key": "dagster/partition", "value": day}] if day else []
        answer = self.ask(
            """mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
                 __typename
                 ... on LaunchRunSuccess { run { runId } }
                 ... on PythonError { message }
                 ... on RunConfigValidationInvalid { errors { message } }
               } }""",
            params={
                "selector": selector,
                "runConfigData": json.dumps(config or {}),
                "executionMetadata": {"tags": tags},
            },
        )["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return str(answer["run"]["runId"])

    def wait(self, run_id: str) -> Run:
        def look() -> Run | None:
            status = self.ask("query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }", id=run_id)
            ended = status["runOrError"]["status"]
            return Run(run_id, ended, self.errors_of(run_id)) if ended in _ENDED else None

        return within(_PATIENCE, look, lambda: f"run {run_id}\n{self.errors_of(run_id)}\n{self.log_tail()}")

    def run(self, *tables: str, **options: Any) -> Run:
        return self.wait(self.start(*tables, **options))

    def errors_of(self, run_id: str) -> str:
        """The run's own error events, as a person reads them."""
        events = self.ask(
            """query ($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
                 __typename
                 ... on MessageEvent { message level }
                 ... on ExecutionStepFailureEvent { error { message cause { message } } }
                 ... on RunFailureEvent { error { message } }
               } } } }""",
            id=run_id,
        )["logsForRun"]["events"]
        told = [
            f"{event['__typename']}: {event.get('message')} {json.dumps(event.get('error'))}"
            for event in events
            if event.get("level") == "ERROR" or event.get("error")
        ]
        return "\n".join(told)

    def backfill(self, *tables: str, days: Sequence[str]) -> str:
        answer = self.ask(
            """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
                 __typename
                 ... on LaunchBackfillSuccess { backfillId }
                 ... on PythonError { message }
               } }""",
            params={"assetSelection": [key(table) for table in tables], "partitionNames": [*days]},
        )["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return str(answer["backfillId"])

    def backfill_state(self, backfill_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(
            """query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill {
                 status
                 error { message }
                 runs { runId status }
                 assetBackfillData { assetBackfillStatuses { ... on AssetPartitionsStatusCounts {
                   assetKey { path } numPartitionsTargeted numPartitionsMaterialized numPartitionsFailed
                 } } }
               } } }""",
            id=backfill_id,
        )["partitionBackfillOrError"]
        return found

    def wait_for_backfill(self, backfill_id: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            state = self.backfill_state(backfill_id)
            return None if state["status"] in ("REQUESTED", "COMPLETING", "FAILING", "CANCELING") else state

        def told() -> str:
            state = self.backfill_state(backfill_id)
            return f"{state}\n" + "\n".join(self.errors_of(run["runId"]) for run in state["runs"]) + self.log_tail()

        return within(2 * _PATIENCE, look, told)

    def materializations(self, table: str, *days: str) -> list[dict[str, Any]]:
        """The newest first."""
        found: list[dict[str, Any]] = self.ask(
            """query ($key: AssetKeyInput!, $days: [String!]) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
                 assetMaterializations(partitions: $days, limit: 100) {
                   runId partition
                   metadataEntries { label
                     ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text }
                     ... on TableMetadataEntry { table { records } } }
                 } } } }""",
            key=key(table),
            days=[*days] or None,
        )["assetNodeOrError"]["assetMaterializations"]
        return found

    def days_recorded(self, table: str) -> list[str]:
        return sorted({each["partition"] for each in self.materializations(table)})

    def evaluations(self, table: str, check: str, day: str) -> list[dict[str, Any]]:
        """What a check found for a day, the newest first."""
        found: list[dict[str, Any]] = self.ask(
            """query ($key: AssetKeyInput!, $check: String!, $day: String) {
                 assetCheckExecutions(assetKey: $key, checkName: $check, partition: $day, limit: 10) {
                   runId status partition
                   evaluation { success severity description partition targetMaterialization { runId storageId } }
                 } }""",
            key=key(table),
            check=check,
            day=day,
        )["assetCheckExecutions"]
        return found

    def check_days(self, table: str, check: str) -> dict[str, str]:
        """The bar of a check in the UI: the status of every day that has one."""
        ranges = self.ask(
            """query ($key: AssetKeyInput!, $check: String!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
                 assetCheckOrError(checkName: $check) { ... on AssetCheck { partitionStatuses {
                   ... on AssetCheckTimePartitionStatuses { ranges { startKey endKey status } }
                 } } } } } }""",
            key=key(table),
            check=check,
        )["assetNodeOrError"]["assetCheckOrError"]["partitionStatuses"]["ranges"]
        return {day: each["status"] for each in ranges for day in DAYS if each["startKey"] <= day <= each["endKey"]}

    def version(self, table: str) -> int:
        """The newest commit of a table, as another program sees it."""
        from deltalake import DeltaTable

        return DeltaTable(str(self.shop.root / ".lakehouse/warehouse/lake/shop" / table)).version()

    def log_tail(self) -> str:
        return "\n".join(
            f"-- {path.name}\n{path.read_text(errors='replace')[-4000:]}" for path in sorted(self.logs.glob("*.log"))
        )


@dataclass(frozen=True)
class Backfilled:
    """The week after its backfill: all days landed, one of them bad."""

    live: Live
    id: str
    state: Mapping[str, Any]


def land_week(shop: Shop) -> None:
    """Three orders a day, one of them below zero, and on the bad day one that closes the gate."""
    for day in DAYS:
        shop.land(day, 10, -5, 666 if day == BAD_DAY else 30)


def _make_live_shop(folder: Path) -> Shop:
    shop = make_shop(folder)
    land_week(shop)
    # A contract with an error, in a domain of its own.
    shop.write(
        LEFT_OUT,
        """
        version: 1.0.0
        info: {title: Stock, table_name: silver_stock, target_layer: silver}
        model: {fields: [{name: item, type: strng}]}
        materialization: {strategy: append}
        """,
    )
    return shop


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Exactly the processes that were started here; they end their own children when asked politely."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _serve(folder: Path) -> Iterator[Live]:
    """The contracts in a server of their own, as `dagster dev` does: the daemon would load them anew every minute."""
    shop, home, code = _make_live_shop(folder / "shop"), make_home(folder / "home"), folder / "code.sock"
    port, workspace = _free_port(), folder / "workspace.yaml"
    workspace.write_text(f"load_from: [{{grpc_server: {{socket: '{code}', location_name: {LOCATION}}}}}]\n")
    processes: list[subprocess.Popen[bytes]] = []
    live = Live(shop, f"http://127.0.0.1:{port}", folder)

    def start(name: str, *words: str | Path) -> None:
        command = [sys.executable, "-m", *map(str, words)]
        with (folder / f"{name}.log").open("wb") as log:
            processes.append(
                subprocess.Popen(
                    command, cwd=folder, env=dagster_environment(shop, home), stdout=log, stderr=subprocess.STDOUT
                )
            )

    try:
        start("code", "dagster", "api", "grpc", "-m", LOCATION, "-s", code, "--use-python-environment-entry-point")
        within(_PATIENCE, lambda: _listens(code, live, processes), live.log_tail)
        start("webserver", "dagster_webserver", "-w", workspace, "-h", "127.0.0.1", "-p", str(port))
        start("daemon", "dagster._daemon", "run", "-w", workspace)
        within(_PATIENCE, lambda: _loaded(live, processes), live.log_tail)
        yield live
    finally:
        _end(processes[::-1])


def _all_alive(live: Live, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        assert process.poll() is None, f"{process.args!r} ended by itself\n{live.log_tail()}"


def _listens(path: Path, live: Live, processes: Sequence[subprocess.Popen[bytes]]) -> bool | None:
    """Code servers listen when they have loaded."""
    _all_alive(live, processes)
    with socket.socket(socket.AF_UNIX) as probe:
        return True if probe.connect_ex(str(path)) == 0 else None


def _loaded(live: Live, processes: Sequence[subprocess.Popen[bytes]]) -> bool | None:
    _all_alive(live, processes)
    try:
        with urllib.request.urlopen(f"{live.url}/server_info", timeout=30) as answer:  # noqa: S310
            answer.read()
    except OSError:
        return None
    found = live.ask("{ repositoriesOrError { __typename ... on RepositoryConnection { nodes { name } } } }")
    return True if found["repositoriesOrError"].get("nodes") else None


_LIVE = pytest.StashKey[Live]()
_BACKFILLED = pytest.StashKey[Backfilled]()


@pytest.fixture(scope="session")
def live(pytestconfig: pytest.Config) -> Iterator[Live]:
    """Modules that import a fixture get one each, so the first to ask keeps the processes for all."""
    if _LIVE in pytestconfig.stash:
        yield pytestconfig.stash[_LIVE]
        return
    with fast_folder() as folder:
        for served in _serve(folder):
            pytestconfig.stash[_LIVE] = served
            yield served


@pytest.fixture(scope="session")
def backfilled(pytestconfig: pytest.Config, live: Live) -> Backfilled:
    """The week through a backfill of the three tables by day, waited for once."""
    if _BACKFILLED not in pytestconfig.stash:
        backfill_id = live.backfill(BRONZE, SILVER, TOTALS, days=DAYS)
        state = live.wait_for_backfill(backfill_id)
        pytestconfig.stash[_BACKFILLED] = Backfilled(live, backfill_id, state)
    return pytestconfig.stash[_BACKFILLED]
