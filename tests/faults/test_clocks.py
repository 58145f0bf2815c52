"""The battery's wrong clock is the one that the engine asks, and only as long as it is meant to be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from faults.clocks import shifted
from lakelogic_assets.spark import delivery, doctor
from lakelogic_assets.spark.intents import Intents


@pytest.mark.parametrize("border", [None, "before forget"])
def test_a_wrong_clock_is_told_to_the_engine_and_right_again_afterwards(border: str | None, tmp_path: Path) -> None:
    def asked() -> tuple[datetime, float]:
        return delivery.datetime.now(UTC), doctor.time.time()

    with shifted(90_000.0, border) as told:
        early = asked()
        if border:
            assert told == []
            Intents(tmp_path, "a table").forget("an intent")
        late = asked()
        assert isinstance(late[0], delivery.datetime)
        assert type(delivery.datetime.fromisoformat("2026-02-01")) is datetime
    assert told[-1] == late[0].isoformat()
    assert len(told) == (1 if border else 2)
    now = asked()
    for moment, off in ((early, 0 if border else 90_000), (late, 90_000)):
        assert abs((moment[0] - now[0]).total_seconds() - off) < 60
        assert abs(moment[1] - now[1] - off) < 60
    assert delivery.datetime is datetime
