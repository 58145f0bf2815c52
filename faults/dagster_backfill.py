"""A backfill from Dagster's UI, whose daemon, webserver or run is killed in the middle of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from faults.catalogue import Fault
from faults.checking import Finding
from faults.crew import JAVA, ROOT, StuckError
from faults.lane import Lane
from faults.scene import Scene, day_name, draw_rows

_DAYS: Final = [0, 1, 2]
_PATIENCE: Final = 900.0
_LAUNCH: Final = """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_STATE: Final = """query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status runs { runId status } } } }"""


def dagster_killed(lane: Lane, fault: Fault) -> Finding:
    """Three days, one kill, a restart of what was killed; Dagster has to bring the backfill to its end by itself."""
    scene, _ = lane.scene(fault)
    for day in _DAYS:
        scene.land(day, draw_rows(random.Random(fault.seed + day), day))
    with _served(scene) as dagster:
        backfill = dagster.launch(scene.table)
        dagster.wait(lambda: dagster.run_processes() or None)
        time.sleep(fault.details["pause"])
        struck = dagster.kill_within(backfill, fault.details["killed"])
        dagster.start()
        state = dagster.wait(lambda: dagster.ended(backfill))
    if state["status"] not in ("COMPLETED", "COMPLETED_SUCCESS"):
        return Finding(needs_a_person=1, says=(f"the backfill ended as {state}", dagster.tail()))
    return Finding(struck=struck) + lane.recover(scene, [], scene.state(_DAYS))


@dataclass
class _Dagster:
    """Webserver and daemon over one project."""

    scene: Scene
    home: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """What is not running."""
        workspace = str(ROOT / "workspace.yaml")
        commands = {
            "daemon": ["dagster._daemon", "run", "-w", workspace],
            "webserver": ["dagster_webserver", "-w", workspace, "-h", "127.0.0.1", "-p", str(self.port)],
        }
        for name, words in commands.items():
            if name in self.processes and self.processes[name].poll() is None:
                continue
            with (self.home / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", *words],
                    cwd=self.home, env=self._environment(), stdout=log, stderr=subprocess.STDOUT,
                )  # fmt: skip
        self.wait(self._is_loaded)

    def kill_within(self, backfill: str, who: str) -> bool:
        """Whether there was somebody of every name to kill, and the backfill still under way."""
        if "run" in who:
            self.wait(lambda: self.run_processes() or self.ended(backfill))
        is_under_way = self.ended(backfill) is None
        return all(self.kill(who).values()) and is_under_way

    def kill(self, who: str) -> dict[str, list[int]]:
        """`daemon`, `webserver`, `run`, or `daemon and run`: those alone, at once; whom it has found, by name."""
        found = {name: [process.pid] for name, process in self.processes.items() if process.poll() is None}
        found["run"] = self.run_processes()
        killed = {name: [pid for pid in found.get(name, ()) if _killed(pid)] for name in who.split(" and ")}
        for name in killed.keys() & self.processes.keys():
            self.processes[name].wait()
        return killed

    def run_processes(self) -> list[int]:
        """Python processes that execute runs of this home: a code server starts one for each."""
        servers = _matching(self.home, "api", "grpc")
        return [pid for pid, parent in _parents().items() if parent in servers and "spawn_main" in _words(pid)]

    def launch(self, table: str) -> str:
        params = {
            "assetSelection": [{"path": ["faults", table]}],
            "partitionNames": [day_name(day) for day in _DAYS],
        }
        answer = self.ask(_LAUNCH, params=params)["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return str(answer["backfillId"])

    def ended(self, backfill: str) -> dict[str, Any] | None:
        state: dict[str, Any] = self.ask(_STATE, id=backfill)["partitionBackfillOrError"]
        return None if state["status"] in ("REQUESTED", "COMPLETING", "FAILING") else state

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.load(answer)["data"]

    def wait(self, look: Any) -> Any:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                if found := look():
                    return found
            time.sleep(0.5)
        raise StuckError(f"Dagster: nothing in {_PATIENCE:g} s\n{self.tail()}")

    def tail(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in sorted(self.home.glob("*.log")))

    def end(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
        for pid in _matching(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _is_loaded(self) -> bool:
        found = self.ask("{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }")
        return bool(found["repositoriesOrError"].get("nodes"))

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LAKELOGIC_", "DAGSTER_"))}
        return kept | {
            "LAKELOGIC_PROJECT_DIR": str(self.scene.folder),
            "LAKELOGIC_DRIVER_MEMORY": "1g",
            "DAGSTER_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "JAVA_TOOL_OPTIONS": JAVA,
        }


@contextlib.contextmanager
def _served(scene: Scene) -> Iterator[_Dagster]:
    scene.cut_by_days(_DAYS)
    (scene.folder / "contracts").mkdir()
    shutil.copy(scene.contract, scene.folder / "contracts")
    home = scene.folder / "home"
    home.mkdir()
    settings = yaml.safe_load((ROOT / "dagster_home" / "dagster.yaml").read_text(encoding="utf-8"))
    settings["run_monitoring"]["poll_interval_seconds"] = 5
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    dagster = _Dagster(scene, home, port)
    try:
        dagster.start()
        yield dagster
    finally:
        dagster.end()


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _parents() -> dict[int, int]:
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    return found


def _matching(home: Path, *words: str) -> set[int]:
    """Processes that were started for this home, with all these words in their command."""
    wanted = f"DAGSTER_HOME={home}\0".encode()
    found = set()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            pid = int(environ.parent.name)
            if wanted in environ.read_bytes() + b"\0" and all(word in _words(pid) for word in words):
                found.add(pid)
    return found


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
