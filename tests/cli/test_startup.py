"""The path that people wait on: what it imports, and how long it takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.work import work_of_children

if TYPE_CHECKING:
    from tests.cli.conftest import Call

ROOT = Path(__file__).resolve().parents[2]

# The process ends at once, so what it has imported is printed from inside.
MODULES = """
import os, sys
import lakelogic_assets.cli as cli
leave = lambda code: (sys.stdout.flush(), sys.stderr.write(" ".join(sys.modules)), sys.stderr.flush(), os._exit(code))
cli._leave = leave
cli.main(sys.argv[1:])
"""


def modules_of(*words: str, cwd: Path) -> set[str]:
    command = [sys.executable, "-c", MODULES, *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    return {name.split(".")[0] for name in done.stderr.split()}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    for part in ("contracts", "resources", "partitions"):
        shutil.copytree(ROOT / part, tmp_path / part)
    return tmp_path


HEAVY = {"pyspark", "py4j", "delta", "dagster", "deltalake", "pyarrow"}


@pytest.mark.parametrize("words", [["validate"], ["graph"], ["show", "silver_crm_customers"], ["--help"]])
def test_reading_contracts_imports_neither_spark_nor_dagster(example: Path, words: list[str]) -> None:
    loaded = modules_of(*words, cwd=example)
    assert "lakelogic_assets" in loaded
    assert loaded & HEAVY == set()


def test_nobody_pays_for_colours_in_a_pipe(example: Path) -> None:
    assert modules_of("validate", cwd=example) & {"rich", "pygments"} == set()


def test_a_remembered_answer_needs_no_library_at_all(example: Path) -> None:
    assert "pydantic" in modules_of("validate", cwd=example)
    again = modules_of("validate", cwd=example)
    assert again & {"pydantic", "pydantic_core", "sqlglot", "typer", "yaml", "rich"} == set()


def test_help_does_not_build_the_models(example: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "lakelogic_assets.cli", "--help"]
    done = subprocess.run(
        command, cwd=example, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert "lakelogic_assets.contract.document" not in done.stderr
    assert "sqlglot" not in done.stderr


def fastest(command: list[str], cwd: Path, rounds: int = 7) -> float:
    took = []
    for _ in range(rounds):
        before = work_of_children()
        subprocess.run(command, cwd=cwd, capture_output=True, check=False, env={"PYTHONPATH": str(ROOT)})
        took.append(work_of_children() - before)
    return min(took)


def test_the_example_is_answered_before_two_bare_starts(example: Path, start: Call) -> None:
    start("validate", cwd=example)
    bare = fastest([sys.executable, "-c", "import pydantic, yaml"], example)
    answer = fastest([sys.executable, "-m", "lakelogic_assets.cli", "validate"], example)
    assert answer < 2 * bare
