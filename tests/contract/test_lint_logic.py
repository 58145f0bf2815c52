"""External logic whose file is not there: told before a run, and nothing is told of other folders of the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lakelogic_assets.contract.left_out import sort_contracts
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.project import Project

Write = Callable[[Mapping[str, str]], Path]
CONTRACT = (
    "version: 1.0.0\ninfo: {{title: T, table_name: gold_t, target_layer: gold}}\n"
    "source: {{type: landing, path: data}}\nmodel: {{fields: [{{name: a, type: string}}]}}\n"
    "external_logic: {{type: python, path: {path!r}, args: {args}}}\n"
)
DAYS = "{start_date: 2026-01-01, end_date: 2026-12-31}"


def told(folder: Path) -> list[str]:
    found = load_project(Project(folder), {}).problems
    return [problem.code for problem in found if problem.path[:1] == ("external_logic",)]


@pytest.mark.parametrize(
    ("path", "args", "codes"),
    [
        ("../../scripts/price.py", "{}", ["LL422"]),
        ("price.py", "{}", ["LL422"]),
        ("../../_generators/dim_date.py", DAYS, ["LL442"]),
        ("dim_date.py", DAYS, ["LL442"]),
        ("../../_generators/dim_date.py", "{start_date: 2026-01-01}", ["LL422"]),
        ("../../_generators/days.py", DAYS, ["LL422"]),
        ("there.py", "{}", []),
        ("../there.py", "{}", []),
    ],
)
def test_a_file_that_is_missing_in_the_project_is_told_of(write: Write, path: str, args: str, codes: list[str]) -> None:
    folder = write({"contracts/sales/gold_t.yaml": CONTRACT.format(path=path, args=args)})
    (folder / "contracts" / "there.py").touch()
    (folder / "contracts" / "sales" / "there.py").touch()
    assert told(folder) == codes
    registry = load_project(Project(folder), {})
    assert [each.key for each in sort_contracts(registry, Project(folder)).left_out] == (
        [("gold_t",)] if codes == ["LL422"] else []
    )


@pytest.mark.parametrize("path", ["../../../outside/price.py", "../../out/price.py", "../../../outside/dim_date.py"])
def test_nothing_is_told_of_what_lies_outside_of_the_project(write: Write, tmp_path: Path, path: str) -> None:
    folder = write({"project/contracts/sales/gold_t.yaml": CONTRACT.format(path=path, args=DAYS)}) / "project"
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    before = told(folder)
    (tmp_path / "outside" / Path(path).name).touch()
    assert before == told(folder) == []
