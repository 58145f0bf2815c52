"""What the whole suite shares: one Spark session, started by the first test that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Imported here so that a selection of tests without Spark does not pay for it.
    from lakelogic_assets.spark.session import local_session

    session = local_session("lakelogic-tests")
    yield session
    session.stop()
