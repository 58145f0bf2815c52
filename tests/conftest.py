"""What the whole suite shares: one Spark session and a browser, started by the first test that asks for them.

`make test` runs two processes side by side. A file is never divided between them, so what a module sets up is set up
once, and what uses the served Dagster goes to one of them; nothing else is shared but the read-only repository.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_SWITCHES = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run"

# JVMs of processes that tests start live for seconds: half of their work would be optimizing code that is not run again.
# The one of the suite itself lives for many minutes, and is half as fast again with that work done.
_CHEAP_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LASTING_JVM = "-XX:+UseSerialGC"
for _name, _value in {
    "SPARK_SUBMIT_OPTS": _CHEAP_JVM,
    "SPARK_LAUNCHER_OPTS": _CHEAP_JVM,
    "LAKELOGIC_DRIVER_MEMORY": "2g",
}.items():
    os.environ.setdefault(_name, _value)

_HERE = Path(__file__).parent
# The long ones first, so that both processes end at the same time; the rest takes a minute.
_FIRST = ("orchestration", "spark", "security", "faults", "authoring", "cli")
_SERVED = {f"tests/orchestration/{name}.py" for name in ("test_browser", "test_live")}
"""The files that share one served Dagster."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return "live" if file in _SERVED else file

    return Files(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)
    for item in items:
        if "live" in getattr(item, "fixturenames", ()) and item.nodeid.split("::", 1)[0] not in _SERVED:
            raise pytest.UsageError(f"{item.path} starts a second served Dagster: name it in _SERVED of {__file__}.")


def _place(item: pytest.Item) -> int:
    """Sorting is stable: within a folder the tests keep their order, which some of them need."""
    folder = item.path.relative_to(_HERE).parts[0]
    if item.nodeid.split("::", 1)[0] in _SERVED:
        return -1
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Imported here so that a selection of tests without Spark does not pay for it.
    from lakelogic_assets.spark.session import local_session

    with pytest.MonkeyPatch.context() as patched:
        if os.environ["SPARK_SUBMIT_OPTS"] == _CHEAP_JVM:
            patched.setenv("SPARK_SUBMIT_OPTS", _LASTING_JVM)
        session = local_session("lakelogic-tests")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    binary = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if binary is None:
        pytest.skip("no browser: install Debian's chromium-headless-shell, or any chromium, to look at pages")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=binary, args=_SWITCHES.split())
        yield started
        started.close()
