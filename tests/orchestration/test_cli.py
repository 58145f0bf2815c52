"""The code location from a command line, as continuous integration uses it: every command a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.orchestration.conftest import BAD_DAY, DAYS, Shop, fast_folder
from tests.orchestration.live import BRONZE, LOCATION, ROOT, SILVER, TOTALS, dagster_environment, make_home

GOOD_DAYS = [day for day in DAYS if day != BAD_DAY]
OVERVIEW = "gold_till_overview"


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err


Command = Callable[..., Said]


@pytest.fixture
def command(shop: Shop, tmp_path: Path) -> Iterator[Command]:
    """Run a module of the environment as a command, by default from a folder that belongs to no project."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def called(module: str, *words: str | Path, cwd: Path = elsewhere, **variables: str) -> Said:
        environment = dagster_environment(shop, home)
        done = subprocess.run(
            [sys.executable, "-m", module, *map(str, words)],
            cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False, timeout=1800,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    with fast_folder() as folder:
        home = make_home(folder / "home")
        yield called


def selected(*tables: str) -> str:
    return " or ".join(f'key:"shop/{table}"' for table in tables)


def break_silver(shop: Shop) -> int:
    """The line of the error."""
    path = shop.root / f"contracts/shop/till/{SILVER}.yaml"
    lines = path.read_text().replace("strategy: merge", "strategy: marge").splitlines()
    path.write_text("\n".join(lines))
    return next(number for number, line in enumerate(lines, 1) if "marge" in line)


def test_a_partition_is_that_day_and_no_other(shop: Shop, command: Command) -> None:
    for day in DAYS[:2]:
        shop.land(day, 10, 20, -5)
    tables = selected(BRONZE, SILVER)
    said = command("dagster", "asset", "materialize", "-m", LOCATION, "--select", tables, "--partition", DAYS[0])
    assert said.code == 0, said.both
    assert shop.days(BRONZE) == shop.days(SILVER) == [DAYS[0]]
    assert [amount for (amount,) in shop.rows(SILVER, "amount")] == ["10.0", "20.0"]


def test_a_range_with_a_bad_day_brings_the_other_six_and_exits_with_1(shop: Shop, command: Command) -> None:
    for day in DAYS:
        shop.land(day, 10, 666 if day == BAD_DAY else 20)
    tables, days = selected(BRONZE, SILVER, TOTALS), f"{DAYS[0]}...{DAYS[-1]}"
    said = command("dagster", "asset", "materialize", "-m", LOCATION, "--select", tables, "--partition-range", days)
    assert said.code == 1, said.both
    assert shop.days(BRONZE) == DAYS
    assert shop.days(SILVER) == GOOD_DAYS
    assert shop.days(TOTALS) == GOOD_DAYS
    assert f"1 of 7 windows were not published: {BAD_DAY}" in said.both


def test_a_table_without_days_follows_tables_with_days_in_one_range(shop: Shop, command: Command) -> None:
    for day in DAYS[:2]:
        shop.land(day, 10, 20)
    days = f"{DAYS[0]}...{DAYS[1]}"
    said = command("dagster", "asset", "materialize", "-m", LOCATION, "--select", "*", "--partition-range", days)
    assert said.code == 0, said.both
    assert shop.rows(OVERVIEW, "days", "total") == [("2", "60.0")]


def test_materialize_prints_where_every_row_went_and_exits_with_1_when_a_day_is_held(
    shop: Shop, command: Command
) -> None:
    for day in DAYS[2:4]:
        shop.land(day, 10, -5, 666 if day == BAD_DAY else 20)
    words = ("materialize", BRONZE, "--from", DAYS[2], "--to", DAYS[3])
    fine = command("lakelogic_assets.cli", *words)
    assert fine.code == 0, fine.both
    header, *rows = [line.split() for line in fine.out.splitlines() if line.startswith(("asset ", "shop/"))]
    assert header == "asset rows in good quarantined dropped checks seconds status".split()
    assert [(row[:5], row[-1]) for row in rows] == [([f"shop/{BRONZE}", "6", "6", "0", "0"], "success")]

    held = command("lakelogic_assets.cli", "--json", "materialize", SILVER, *words[2:])
    assert held.code == 1, held.both
    (line,) = json.loads(held.out[held.out.index("[\n") if "[\n" in held.out else 0 :])
    assert (line["asset"], line["status"], line["good"]) == (f"shop/{SILVER}", "failed", 2)
    assert shop.days(SILVER) == [DAYS[2]]


def test_materialize_refuses_days_the_wrong_way_round(command: Command) -> None:
    said = command("lakelogic_assets.cli", "materialize", "--from", DAYS[3], "--to", DAYS[2])
    assert said.code == 2
    assert f"--to {DAYS[2]} is before --from {DAYS[3]}" in said.err


def test_materialize_names_what_is_left_out_and_exits_with_1(shop: Shop, command: Command) -> None:
    shop.land(DAYS[0], 1.0)
    line = break_silver(shop)
    said = command("lakelogic_assets.cli", "materialize", "--from", DAYS[0], "--to", DAYS[0])
    assert said.code == 1
    assert f"left out shop/{SILVER}" in said.both
    assert f"{SILVER}.yaml:{line}" in said.both
    assert any(line.split()[0] == f"shop/{BRONZE}" and line.endswith("success") for line in said.out.splitlines())


def test_the_workspace_loads_from_any_folder(command: Command) -> None:
    said = command("dagster", "definitions", "validate", "-w", ROOT / "workspace.yaml")
    assert said.code == 0, said.both


def test_a_project_of_its_own_needs_only_the_module_in_its_pyproject(shop: Shop, command: Command) -> None:
    line = break_silver(shop)
    shop.write("pyproject.toml", f'[tool.dagster]\nmodule_name = "{LOCATION}"\n')
    said = command("dagster", "definitions", "validate", cwd=shop.root, LAKELOGIC_PROJECT_DIR="")
    assert said.code == 0, said.both
    assert f"shop/{SILVER} is left out" in said.both
    assert f"{SILVER}.yaml:{line}" in said.both


def test_strict_mode_fails_the_load_and_names_file_and_line(shop: Shop, command: Command) -> None:
    line = break_silver(shop)
    said = command("dagster", "definitions", "validate", "-m", LOCATION, LAKELOGIC_STRICT="1")
    assert said.code == 1, said.both
    assert f"{SILVER}.yaml:{line}" in said.both
    assert "marge" in said.both


@pytest.fixture
def depot(shop: Shop, tmp_path: Path) -> Path:
    """Another Dagster project, which takes the shop's contracts in five lines of YAML."""
    folder = tmp_path / "depot"
    files = {
        "pyproject.toml": """
            [project]
            name = "depot"
            version = "0.1.0"

            [tool.dg]
            directory_type = "project"

            [tool.dg.project]
            root_module = "depot"
        """,
        "src/depot/__init__.py": "",
        "src/depot/definitions.py": """
            from pathlib import Path

            import dagster as dg


            @dg.definitions
            def defs() -> dg.Definitions:
                return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
        """,
        "src/depot/defs/__init__.py": "",
        "src/depot/defs/shop/defs.yaml": f"""
            type: lakelogic_assets.orchestration.component.LakeLogicContractsComponent
            attributes:
              project: {os.path.relpath(shop.root, folder / "src/depot/defs/shop")}
              exclude: ["shop/gold_*"]
        """,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return folder


def dg_command(command: Command, depot: Path, *words: str, **variables: str) -> Said:
    """`dg` in a project that is not installed."""
    found = os.pathsep.join([str(depot / "src"), str(ROOT)])
    return command("dagster_dg_cli.cli.entrypoint", *words, cwd=depot, PYTHONPATH=found, **variables)


def test_another_project_checks_and_lists_the_contracts_of_a_folder(command: Command, depot: Path) -> None:
    checked = dg_command(command, depot, "check", "defs")
    assert checked.code == 0, checked.both
    assert "All component YAML validated successfully." in checked.both
    listed = dg_command(command, depot, "list", "defs", "--json")
    assert listed.code == 0, listed.both
    found = json.loads(listed.out)
    keys = {asset["asset_key"] for asset in found["assets"]}
    assert {f"shop/{BRONZE}", f"shop/{SILVER}"} <= keys
    assert f"shop/{TOTALS}" not in keys
    assert any(check["asset_key"] == f"shop/{SILVER}" for check in found["asset_checks"])


def test_a_slip_in_the_component_is_told_with_its_line(command: Command, depot: Path) -> None:
    path = depot / "src/depot/defs/shop/defs.yaml"
    path.write_text(path.read_text().replace("exclude:", "excluded:"))
    said = dg_command(command, depot, "check", "yaml")
    assert said.code == 1
    assert "excluded" in said.both
    assert "defs.yaml:4" in said.both


def test_a_broken_contract_fails_the_check_of_another_project_in_strict_mode(
    command: Command, shop: Shop, depot: Path
) -> None:
    line = break_silver(shop)
    said = dg_command(command, depot, "check", "defs", LAKELOGIC_STRICT="1")
    assert said.code == 1
    assert f"{SILVER}.yaml:{line}" in said.both
