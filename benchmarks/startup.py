"""How long `lakelogic validate` lets one wait, against bare starts of Python with the libraries it builds on.

The bar: the example is answered in less than two starts of `import pydantic, yaml` plus the parsing of its files.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import ROOT, Timing, best_of, started, write_result

ROUNDS = 15
_BARE = ["-c", "import pydantic, yaml"]
_PARSE = [
    "-c",
    "import pathlib, sys, pydantic, yaml\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.yaml'): yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)",
]
_VALIDATE = ["-m", "lakelogic_assets.cli", "validate"]


def main() -> bool:
    """Measure, print and write the result; gives whether the bar is met."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("contracts", "resources", "partitions"):
            shutil.copytree(ROOT / part, Path(folder, part))
        times = best_of(ROUNDS, _subjects(Path(folder)))
    parsing = max(0.0, times["parse"].wall - times["bare"].wall)
    bar = 2 * times["bare"].wall + parsing
    remembered, cold = times["remembered"].wall, times["cold"].wall
    print(f"startup: `lakelogic validate` on the example, best of {ROUNDS}")
    print(f"  one bare start       {times['bare'].wall * 1000:6.0f} ms")
    print(f"  bar                  {bar * 1000:6.0f} ms, {parsing * 1000:.0f} of them for the parsing")
    print(f"  nothing has changed  {remembered * 1000:6.0f} ms")
    print(f"  looked at anew       {cold * 1000:6.0f} ms")
    figures = {name: timing.rounded() for name, timing in times.items()}
    write_result("startup", {**figures, "bar": round(bar, 4)})
    return remembered < bar


def _subjects(project: Path) -> dict[str, Callable[[], Timing]]:
    started(_VALIDATE, project)  # so that there is something to remember

    def bare() -> Timing:
        return started(_BARE, project)

    def parse() -> Timing:
        return started([*_PARSE, str(project)], project)

    def remembered() -> Timing:
        return started(_VALIDATE, project)

    def cold() -> Timing:
        return started([*_VALIDATE, "--no-cache"], project)

    return {"bare": bare, "parse": parse, "remembered": remembered, "cold": cold}
