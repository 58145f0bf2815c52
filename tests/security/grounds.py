"""A project to attack, what lies around it, and two ways to call the command line there."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from lakelogic_assets.cli.app import run
from tests.security.entries import CONTRACT, LANDED, contract
from tests.work import work_of_children

ROOT = Path(__file__).resolve().parents[2]
LITTLE_MEMORY = 1 << 30
_KEPT = ("LAKELOGIC_JARS_DIR", "LAKELOGIC_DRIVER_MEMORY")


class Said(NamedTuple):
    code: int
    text: str
    seconds: float
    """Of a core, which do not grow while others use the machine."""


class Grounds(NamedTuple):
    """A project, what lies beside it, and a file that must never be made."""

    project: Path
    outside: Path
    canary: Path

    @classmethod
    def made(cls, folder: Path, patch: pytest.MonkeyPatch) -> Grounds:
        """The plain project with secrets beside it; the process stands in it, and knows no variable of ours."""
        grounds = cls(folder / "project", folder / "outside", folder / "canary")
        grounds.put({CONTRACT: contract(), LANDED: "order_id,amount,note\na,1.5,fine\n"})
        grounds.outside.mkdir()
        (grounds.outside / "secret.csv").write_text("order_id,amount,note\nsecret,1,secret\n")
        (grounds.outside / "secret.yaml").write_text(contract())
        (grounds.outside / "pack.yaml").write_text("name: pack\n")
        for name in [each for each in os.environ if each.startswith("LAKELOGIC_") and each not in _KEPT]:
            patch.delenv(name)
        patch.setenv("HOME", str(grounds.outside))
        patch.setenv("COLUMNS", "100")
        patch.chdir(grounds.project)
        return grounds

    def filled(self, text: str) -> str:
        return text.replace("OUTSIDE", str(self.outside)).replace("CANARY", str(self.canary))

    def put(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else self.filled(content).encode())

    def link(self, links: Mapping[str, str]) -> None:
        for name, target in links.items():
            (self.project / name).symlink_to(self.filled(target))

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Everything around the project, byte by byte."""
        around = [each for each in self.project.parent.rglob("*") if self.project not in (each, *each.parents)]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in around}


def said_in_process(words: list[str]) -> Said:
    out = io.StringIO()
    began = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run(words)
    return Said(code, out.getvalue(), time.process_time() - began)


def said_with_little_memory(words: list[str]) -> Said:
    """A process that may not take more than a gibibyte: what would fill a machine fails here."""
    command = [sys.executable, "-m", "lakelogic_assets.cli", *words]
    began = work_of_children()
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LITTLE_MEMORY, LITTLE_MEMORY)), timeout=600,
    )  # fmt: skip
    return Said(done.returncode, done.stdout + done.stderr, work_of_children() - began)
