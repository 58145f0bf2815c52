"""The Delta jars: resolved once by Spark's own Ivy, checked against pinned sums, then read from a folder.

`python -m lakelogic_assets.spark.jars` fills the folder; a second call finds it full and needs no network.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark.java import jvm_environment, spark_home

DELTA: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"

# Spark ships newer builds of everything else that Delta's metadata asks for, so only these are fetched.
SHA256: Final = {
    "io.delta_delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "io.delta_delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta_delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "io.unitycatalog_unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "io.unitycatalog_unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
}
EXCLUDED: Final = "com.*:*,commons-*:*,io.airlift:*,jakarta.*:*,javax.*:*,org.*:*"

Resolver = Callable[[Path], Path]


def jars_dir() -> Path:
    """Where the jars are kept: LAKELOGIC_JARS_DIR, else this checkout's cache, else the user's cache."""
    if chosen := os.environ.get("LAKELOGIC_JARS_DIR"):
        return Path(chosen).expanduser().absolute()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".cache" / "jars"
    return Path.home() / ".cache" / "lakelogic_assets" / "jars"


def cached_jars(folder: Path | None = None) -> list[Path]:
    """The verified jars, without the network; raises ProjectError when one is missing or damaged."""
    folder = folder or jars_dir()
    for name, expected in SHA256.items():
        if not (folder / name).is_file():
            raise ProjectError(f"{name} is not in {folder}: run `python -m lakelogic_assets.spark.jars` once")
        _verify(folder / name, expected)
    return [folder / name for name in SHA256]


def fetch_jars(folder: Path | None = None, resolve: Resolver | None = None) -> list[Path]:
    """Like `cached_jars`, but what is missing or damaged is resolved and verified first."""
    folder = folder or jars_dir()
    wanted = [name for name, expected in SHA256.items() if not _is_intact(folder / name, expected)]
    if wanted:
        folder.mkdir(parents=True, exist_ok=True)
        # The scratch folder lies on the same disk, so moving out of it is atomic.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".ivy-") as scratch:
            resolved = (resolve or _resolve_with_spark)(Path(scratch))
            for name in wanted:
                _adopt(resolved / name, folder / name)
    return [folder / name for name in SHA256]


def _adopt(resolved: Path, target: Path) -> None:
    if not resolved.is_file():
        raise ProjectError(f"{target.name} was not among the files that {DELTA} resolved to")
    _verify(resolved, SHA256[target.name])
    resolved.replace(target)


def _verify(jar: Path, expected: str) -> None:
    if (found := _sha256(jar)) != expected:
        raise ProjectError(f"{jar} has sha256 {found}, expected {expected}: delete it and fetch the jars again")


def _is_intact(jar: Path, expected: str) -> bool:
    return jar.is_file() and _sha256(jar) == expected


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _resolve_with_spark(scratch: Path) -> Path:
    """Lets spark-submit resolve Delta and run an empty program; returns the folder of the resolved jars."""
    program = scratch / "nothing.py"
    program.touch()
    done = subprocess.run(
        [
            *(spark_home() / "bin" / "spark-submit", "--master", "local[1]"),
            *("--packages", DELTA, "--exclude-packages", EXCLUDED),
            *("--conf", f"spark.jars.ivy={scratch}", "--conf", "spark.ui.enabled=false"),
            program,
        ],
        env=os.environ | jvm_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ProjectError(f"the Delta jars could not be fetched ({_reason(done.stderr)}): is there a network?")
    return scratch / "jars"


def _reason(output: str) -> str:
    """The part of Ivy's report that names the cause; its last line when none does."""
    if unresolved := re.search(r"unresolved dependency: [^\]\n]+", output):
        return unresolved[0]
    return (output.strip() or "spark-submit said nothing").splitlines()[-1]


def main() -> None:
    """Fetches what is missing; prints one line whatever happens."""
    try:
        jars = fetch_jars()
    except (ProjectError, OSError) as error:
        sys.exit(f"error: {error}")
    print(f"{len(jars)} Delta jars in {jars[0].parent}")


if __name__ == "__main__":
    main()
