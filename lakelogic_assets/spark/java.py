"""Which Java, Spark and Python a JVM of ours runs on.

`python -m lakelogic_assets.spark.java` prints its home, or says in one line what to install.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakelogic_assets.errors import ProjectError

SUPPORTED: Final = (17, 21)
# Debian's folder: a second Java is often installed without being the default one.
INSTALLED: Final = Path("/usr/lib/jvm")


def jvm_environment() -> dict[str, str]:
    """What a JVM must find in its environment, whatever else is installed on the machine."""
    return {
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable,
    }


def spark_home() -> Path:
    """The Spark that came with the installed pyspark; pyspark itself is not imported."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ProjectError("pyspark is not installed in this environment")
    return Path(spec.origin).parent


def java_home() -> Path:
    """The first supported Java of JAVA_HOME, the PATH and the system's folder."""
    seen = []
    for home in _candidates():
        version = java_version(home)
        if version in SUPPORTED:
            return home
        if version:
            seen.append(f"{version} in {home}")
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise ProjectError(f"Spark needs Java 17 or 21 ({found}): install openjdk-17-jre-headless or set JAVA_HOME")


def java_version(home: Path) -> int | None:
    """The major version of the Java in `home`; None when there is no working one."""
    try:
        shown = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major = re.search(r'version "(\d+)', shown.stderr)
    return int(major[1]) if major else None


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("JAVA_HOME"):
        yield Path(chosen)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parents[1]
    yield from sorted(INSTALLED.glob("*"))


def main() -> None:
    """Prints the Java home or one line that says what to do."""
    try:
        print(java_home())
    except ProjectError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
