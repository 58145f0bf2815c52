"""Whether the file that finishes a contract's rows is there, and what happens where it is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.problems import Problem, YamlPath, shown
from lakelogic_assets.contract.roots import is_inside

_AT: YamlPath = ("external_logic", "path")


def lint_logic(contract: Contract, merged: Merged, project: Path) -> Iterator[Problem]:
    """A problem where the file is missing: an error, except for a calendar, which the engine has, too.

    Nothing outside of the project is looked at, links followed: nobody learns from an error what is on a disk, and a
    run refuses such a path in any case.
    """
    logic, folder = contract.external_logic, contract.place.path.parent if contract.place.path else None
    if logic is None or folder is None or "{" in logic.path or "\0" in logic.path:
        return
    file = Path(os.path.normpath(folder / logic.path))
    try:
        if not any(is_inside(file, root) for root in (project, folder)) or file.exists():
            return
    except OSError:  # a name that no file can have
        pass
    where = merged.locate(_AT)
    if logic.is_calendar:
        message = f"There is no file {shown(logic.path)}; the engine's own calendar makes the rows."
        yield Problem("LL442", message, where, _AT, found=logic.path)
    else:
        yield Problem("LL422", f"There is no file {shown(logic.path)}.", where, _AT, found=logic.path)
