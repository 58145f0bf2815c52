"""Who may look at Dagster's UI, and who may do something there: this machine alone, or viewers behind a proxy."""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakelogic_assets.cli.metrics_server import MetricsServer
from tests.orchestration.live import within

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
REFUSED = "UnauthorizedError"
MUTATIONS = {
    "launchRun": '(executionParams: {selector: {repositoryLocationName: "a", repositoryName: "b", pipelineName: "c"}})',
    "terminateRun": '(runId: "a")',
    "deletePipelineRun": '(runId: "a")',
    "reloadWorkspace": "",
    "wipeAssets": '(assetPartitionRanges: [{assetKey: {path: ["a"]}}])',
    "launchPartitionBackfill": '(backfillParams: {assetSelection: [{path: ["a"]}], partitionNames: ["a"]})',
}


def answer(url: str, query: str) -> Any:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as said:  # noqa: S310 - always our own webserver
            return json.load(said)
    except urllib.error.HTTPError as error:
        with error:
            return json.loads(error.read())
    except OSError:
        return None


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A webserver for viewers, without a code location: what it refuses, it refuses before it looks for one."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--read-only", "--empty-workspace", "-h", "127.0.0.1", "-p", str(port)]
    started = subprocess.Popen(
        [sys.executable, "-m", "dagster_webserver", *words],
        env={**os.environ, "DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "1", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        within(180, lambda: answer(url, "{ version }"), lambda: f"the webserver ended with {started.poll()}")
        yield url
    finally:
        started.terminate()
        started.wait()


def test_the_ui_and_the_metrics_answer_this_machine_alone() -> None:
    command = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "dagster dev" in line)
    assert re.search(r"-h 127\.0\.0\.1\b", command)
    assert inspect.signature(MetricsServer).parameters["host"].default == "127.0.0.1"


def test_viewers_can_look(viewer: str) -> None:
    assert answer(viewer, "{ runsOrError { __typename } }") == {"data": {"runsOrError": {"__typename": "Runs"}}}
    granted = answer(viewer, "{ permissions { permission value } }")["data"]["permissions"]
    assert granted
    assert not any(each["value"] for each in granted)


@pytest.mark.parametrize("name", MUTATIONS)
def test_viewers_change_nothing(viewer: str, name: str) -> None:
    said = answer(viewer, f"mutation {{ {name}{MUTATIONS[name]} {{ __typename }} }}")
    assert said == {"data": {name: {"__typename": REFUSED}}}


@pytest.mark.parametrize(
    "change", ["setAutoMaterializePaused(paused: true)", 'setConcurrencyLimit(concurrencyKey: "a", limit: 0)']
)
def test_viewers_switch_nothing(viewer: str, change: str) -> None:
    said = answer(viewer, f"mutation {{ {change} }}")
    assert "errors" in said, said
    assert REFUSED in json.dumps(said["errors"]), said


def test_viewers_report_no_materializations(viewer: str) -> None:
    request = urllib.request.Request(f"{viewer}/report_asset_materialization/a", method="POST")  # noqa: S310
    with pytest.raises(urllib.error.HTTPError) as refusal, urllib.request.urlopen(request, timeout=60):  # noqa: S310
        pass
    refusal.value.close()
    assert refusal.value.code == 401
