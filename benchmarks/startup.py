"""How long `lakelogic validate` lets one wait, against bare starts of Python with the libraries it builds on.

The example is answered in less than two starts of `import pydantic, yaml` plus the parsing of its files.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import ROOT, started
from benchmarks.measurement import Bar, Measurement, Size

BARE, TWICE = "a bare start", "two bare starts and the parsing"
REMEMBERED, ANEW = "nothing has changed", "looked at anew"
_BARE = ["-c", "import pydantic, yaml"]
_PARSE = [
    "-c",
    "import pathlib, sys, pydantic, yaml\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.yaml'): yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)",
]
_VALIDATE = ["-m", "lakelogic_assets.cli", "validate"]


@contextlib.contextmanager
def prepared(_: Size) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for part in ("contracts", "resources", "partitions"):
            shutil.copytree(ROOT / part, project / part)

        def twice() -> None:
            started(_BARE, project)
            started([*_PARSE, folder], project)

        yield Measurement(
            "`lakelogic validate` on the example",
            {
                BARE: lambda: started(_BARE, project),
                TWICE: twice,
                REMEMBERED: lambda: started(_VALIDATE, project),
                ANEW: lambda: started([*_VALIDATE, "--no-cache"], project),
            },
            (Bar(REMEMBERED, TWICE, 1.0),),
            rounds=15,
        )
