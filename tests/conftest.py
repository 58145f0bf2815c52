"""What the whole suite shares: one Spark session and a browser, started by the first test that asks for them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_SWITCHES = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Imported here so that a selection of tests without Spark does not pay for it.
    from lakelogic_assets.spark.session import local_session

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
