"""The rules of docs/architecture.md that a linter does not know."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lakelogic_assets"

MODULES = sorted(PACKAGE.rglob("*.py"))
EVERY_FILE = [*MODULES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]
FACADES = {"definitions.py": 80, "processor.py": 150}


def imported(module: Path) -> Iterator[str]:
    """The top-level packages a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def importers_of(*libraries: str) -> set[str]:
    return {str(module.relative_to(PACKAGE)) for module in MODULES if set(imported(module)) & set(libraries)}


def length(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_only_the_spark_package_imports_pyspark_or_delta() -> None:
    assert {place for place in importers_of("pyspark", "delta", "py4j") if not place.startswith("spark/")} == set()


def test_only_orchestration_and_the_composition_root_import_dagster() -> None:
    doors = ("orchestration/", "definitions.py")
    assert {place for place in importers_of("dagster") if not place.startswith(doors)} == set()


@pytest.mark.parametrize("module", ["lakelogic_assets", "lakelogic_assets.cli", "lakelogic_assets.contract"])
def test_importing_starts_neither_spark_nor_dagster(module: str) -> None:
    code = f"import sys, {module}; print({{'pyspark', 'py4j', 'delta', 'dagster'}} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"


def test_facades_are_thin() -> None:
    limits = FACADES | {str(module.relative_to(PACKAGE)): 80 for module in PACKAGE.rglob("__init__.py")}
    present = {place: limit for place, limit in limits.items() if (PACKAGE / place).exists()}
    assert {place for place, limit in present.items() if length(PACKAGE / place) > limit} == set()


def test_no_file_is_longer_than_400_lines() -> None:
    assert {str(path.relative_to(ROOT)): length(path) for path in EVERY_FILE if length(path) > 400} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = {
        f"{module.relative_to(ROOT)}:{node.lineno}"
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= 60
    }
    assert long == set()


def test_no_module_is_named_after_nothing() -> None:
    assert {str(path.relative_to(ROOT)) for path in EVERY_FILE if path.stem in {"utils", "helpers", "common"}} == set()


def test_the_spark_fixture_is_only_used_where_spark_is_tested() -> None:
    users = {
        path.relative_to(ROOT / "tests").parts[0]
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and "spark" in {argument.arg for argument in node.args.args}
    }
    assert users <= {"spark", "cases", "orchestration", "authoring", "security", "faults"}
