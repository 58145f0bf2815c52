"""Where something is measured, and the clocks and processes to measure it with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_LIBRARIES = ("dagster", "pyspark", "delta-spark", "deltalake", "pydantic", "pyyaml", "sqlglot", "sqlglotc", "typer")
_TICK = os.sysconf("SC_CLK_TCK")


def user_seconds() -> float:
    """The user time of this process and of all that it started, also of those that still run, such as Spark's JVM."""
    return sum(_user_seconds(process) for process in _family(os.getpid()))


def _family(first: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [first]
    for process in found:
        found += children.get(process, [])
    return found


def _user_seconds(process: int) -> float:
    """Its own and that of its children which have ended."""
    fields = _stat(process)
    return (int(fields[11]) + int(fields[13])) / _TICK if fields else 0.0


def _stat(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def java_processes() -> int:
    """How many JVMs this process and its children have by now."""
    return sum(b"java" in _command(process).split(b"\0")[0] for process in _family(os.getpid()))


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def peak_mb(process: int) -> float:
    """The most memory that a process ever held."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def in_fresh_process(
    module: str, *arguments: str, python: str = sys.executable, more: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a module prints last, as JSON, in a process of its own, where nothing is warm from an earlier round."""
    # Packages are compiled when they are installed; ours would else be compiled anew in every process.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT), **(more or {})}
    command = [python, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def started(arguments: Sequence[str], cwd: Path = ROOT) -> None:
    """A whole process, from start to end."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, check=True)


def described() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "python": platform.python_version(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "versions": {name: metadata.version(name) for name in _LIBRARIES},
    }


def commit() -> str:
    """The commit that was tried; a plus says that something was not committed yet."""
    try:
        return _git("rev-parse", "--short=12", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
