"""A small project to break, and ways to call the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakelogic_assets.cli.app import run

ROOT = Path(__file__).resolve().parents[2]

ORDERS = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders, target_layer: silver}
model:
  fields:
    - {name: order_id, type: string, required: true}
    - {name: amount, type: double, min: 0}
quality:
  row_rules:
    - {name: amount_known, sql: amount IS NOT NULL}
materialization: {strategy: append}
"""

BROKEN = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders, target_layer: silver}
model:
  fields:
    - {name: order_id, type: strng, required: true}
    - {name: email, type: string, pii: true}
quality:
  row_rules:
    - regx_match: {field: email, pattern: '@'}
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a call printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Call = Callable[..., Said]


@pytest.fixture(autouse=True)
def nobody_is_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is for a pipe, at a known width, whatever the tests themselves are started from."""
    for name in ("FORCE_COLOR", "NO_COLOR", "LAKELOGIC_ENV", "LAKELOGIC_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process, past its memory."""

    def called(*words: str | Path) -> Said:
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return called


@pytest.fixture
def start() -> Call:
    """Start the command as a process of its own, as people do."""

    def started(*words: str | Path, cwd: Path = ROOT, **variables: str) -> Said:
        command = [sys.executable, "-m", "lakelogic_assets.cli", *(str(word) for word in words)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    return started


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one good contract; the tests stand in it."""
    folder = tmp_path / "contracts" / "shop"
    folder.mkdir(parents=True)
    (folder / "silver_orders.yaml").write_text(ORDERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def orders(shop: Path) -> Path:
    return shop / "contracts" / "shop" / "silver_orders.yaml"


@pytest.fixture
def broken(orders: Path) -> Path:
    orders.write_text(BROKEN)
    return orders
