"""Processes that are there to be killed, and the pipes to them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
_PATIENCE: Final = 600.0
# A JVM that lives for seconds spends half of its time on optimizing code it will not run again.
JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx1g"


# Half of what a JVM does in its first seconds is loading classes; all of them load the same.
_KEEP_CLASSES: Final = "-XX:ArchiveClassesAtExit={}"
_SHARE_CLASSES: Final = "-XX:SharedArchiveFile={} -Xlog:cds=off -Xlog:cds+dynamic=off"


class StuckError(Exception):
    """A process neither answered nor ended."""


@dataclass
class Victim:
    """One process with its JVM; `told` are answers that were read and not asked for yet."""

    process: subprocess.Popen[str]
    jvm: int = 0
    is_warm: bool = False
    """Whether it has done something before; the first time takes several times as long."""
    answers: queue.Queue[dict[str, Any] | None] = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(json.loads(line))
        self.answers.put(None)

    def wait_ready(self) -> None:
        answer = self.hear()
        if answer is None:
            raise StuckError("a process ended before it was ready")
        self.jvm = answer["jvm"]

    def tell(self, command: dict[str, Any]) -> None:
        """Give a command and wait until it has begun."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        self.hear()

    def hear(self, patience: float = _PATIENCE) -> dict[str, Any] | None:
        """The next answer; None when the process is gone."""
        try:
            answer = self.answers.get(timeout=patience)
        except queue.Empty:
            raise StuckError(f"no answer in {patience:g} s") from None
        if answer and "jvm" in answer:
            self.jvm = answer["jvm"]
        return answer

    def do(self, command: dict[str, Any]) -> dict[str, Any] | None:
        self.tell(command)
        return self.hear()

    @property
    def is_busy(self) -> bool:
        """Whether the answer to the last command is still to come."""
        return self.is_alive and self.answers.empty()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, *, python: bool = True, jvm: bool = False) -> None:
        if jvm and self.jvm:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.jvm, signal.SIGKILL)
        if python:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    def bury(self) -> None:
        self.kill(jvm=True)
        self.process.wait(timeout=30)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@dataclass
class Crew:
    """Keeps one process ahead, so that the next fault need not wait for a JVM to start."""

    log: IO[str]
    java: str = JAVA
    spare: list[Victim] = field(default_factory=list)
    hired: list[Victim] = field(default_factory=list)
    _gate: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> Victim:
        """A process that is ready; it may be one that has survived."""
        with self._gate:
            self.spare = [each for each in self.spare if each.is_alive]
            victim = self.spare.pop(0) if self.spare else self._hire()
            if not self.spare:
                self.spare.append(self._hire())
        if not victim.jvm:
            victim.wait_ready()
        return victim

    def give_back(self, victim: Victim) -> None:
        if victim.is_alive:
            with self._gate:
                self.spare.insert(0, victim)
        else:
            victim.bury()

    def share_classes(self, archive: Path, command: dict[str, Any]) -> None:
        """Let one process do something and end in peace; the JVMs of all others begin with the classes of its own."""
        self.java = f"{JAVA} {_KEEP_CLASSES.format(archive)}"
        first = self._hire()
        first.wait_ready()
        first.do(command)
        assert first.process.stdin is not None
        first.process.stdin.close()
        first.process.wait(timeout=_PATIENCE)
        wait_until_gone(first.jvm, _PATIENCE)
        self.hired.remove(first)
        self.java = f"{JAVA} {_SHARE_CLASSES.format(archive)}" if archive.exists() else JAVA

    def dismiss(self) -> None:
        for victim in self.hired:
            victim.bury()

    def _hire(self) -> Victim:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
        environment |= {"JAVA_TOOL_OPTIONS": self.java, "LAKELOGIC_DRIVER_MEMORY": "1g", "PYTHONPATH": str(ROOT)}
        victim = Victim(
            subprocess.Popen(
                [sys.executable, "-m", "faults.victim"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                text=True,
                cwd=tempfile.gettempdir(),
                env=environment,
            )
        )
        self.hired.append(victim)
        return victim


@contextlib.contextmanager
def crew(log: Path) -> Iterator[Crew]:
    with log.open("a", encoding="utf-8") as file:
        made = Crew(file)
        try:
            yield made
        finally:
            made.dismiss()


def wait_until_gone(pid: int, seconds: float = 30.0) -> None:
    """A killed Python leaves its JVM for a moment."""
    deadline = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
