"""Ninety days of the whole example: one by one, in order, in reverse, side by side; and five of them rebuilt.

What the other ways leave in the tables is held against the days that were run one by one, each by a request of its own.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from benchmarks.example_lake import Lake, Ran, differing
from benchmarks.measurement import Bar, Claim, Measurement, Sample, Size, clocked
from benchmarks.touched import Witness
from lakelogic_assets.plan.request import PipelineRequest
from lakelogic_assets.spark.session import local_session

FIRST = date(2026, 2, 1)
DAYS, REBUILT = 90, 5
REBUILD = "five days rebuilt, less one run"
ALONE, ORDERED, REVERSED, BESIDE = WAYS = ("one by one", "in order", "in reverse", "side by side")
_STRANGE = ("landing files of other days", "scans of other days", "files of other days rewritten")
_CONF = {"spark.sql.maxMetadataStringLength": "4000"}
"""So that a plan names the place that it scans in full."""


@contextlib.contextmanager
def prepared(size: Size) -> Iterator[Measurement]:
    """Each way has a lakehouse of its own and is run once: days that are there already would not be run again."""
    days, rebuilt = _days(FIRST, size.of(DAYS, 3)), size.of(REBUILT)
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-backfill-"))
    spark = local_session(conf=_CONF)
    try:
        made = Lake(folder / "made", spark, days)
        lakes = {way: Lake(folder / way.replace(" ", "_"), spark, days, like=made) for way in WAYS}
        yield Measurement(
            f"{len(days)} days of {len(made.keys)} tables in every order, and {rebuilt} of them rebuilt",
            {
                **{way: lambda way=way: _filled(lakes, way, days) for way in WAYS},  # type: ignore[misc]
                REBUILD: lambda: _rebuilt(lakes[ORDERED], days, rebuilt),
            },
            (Bar(REBUILD, ORDERED, 2 * rebuilt / len(days)),),
            (
                *(Claim(way, "rows that differ", 0) for way in WAYS[1:]),
                *(Claim(REBUILD, strange, 0) for strange in _STRANGE),
            ),
            rounds=1,
            warm_up=0,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _filled(lakes: dict[str, Lake], way: str, days: Sequence[date]) -> Sample:
    """Only what the bar is held against runs by itself; the other ways use both cores."""
    whole = PipelineRequest(window="backfill", days=(days[0], days[-1]))
    requests = {
        ALONE: [PipelineRequest(window="range", days=(day, day)) for day in days],
        ORDERED: [whole],
        REVERSED: [replace(whole, direction="reverse")],
        BESIDE: [whole],
    }[way]
    ran: list[Ran] = []
    parallel = 1 if way == ORDERED else 2
    sample = clocked(lambda: ran.extend(lakes[way].run(request, parallel) for request in requests))
    expected, here = lakes[ALONE].rows(), lakes[way].rows()
    differ = differing(expected, here)
    windows = sum(len(each.done) for each in ran)
    facts = {
        "rows": sum(rows.total() for rows in here.values()),
        "rows by table": {name: rows.total() for name, rows in here.items()},
        "rows that differ": sum(differ.values()),
        "tables that differ": differ,
        "runs": windows,
        "seconds a run": round(sum(each.seconds for each in ran) / windows, 3),
        # Where runs are side by side their steps add up to more than the clock says.
        "steps of a run": ran[0].steps() if parallel == 1 else {},
        "seconds by table": ran[0].tables() if parallel == 1 else {},
    }
    return replace(sample, facts=facts)


def _rebuilt(lake: Lake, days: Sequence[date], count: int) -> Sample:
    """Some days in the middle, less what one run costs anyway; and which files that read and rewrote."""
    first = days[(len(days) - count) // 2]
    some = _days(first, count)
    one = clocked(lambda: lake.run(PipelineRequest(window="reprocess", days=(first, first))))
    before = lake.rows()
    witness = Witness(lake)
    sample = clocked(lambda: lake.run(PipelineRequest(window="reprocess", days=(some[0], some[-1])), tell=witness.note))
    touched = witness.finish(frozenset(some))
    if not (touched.landing_files and touched.scans and touched.commit_paths):
        raise RuntimeError(f"The rebuild touched nothing that could be of other days: {touched}")
    strange = (touched.strange_files, touched.strange_scans, touched.strange_paths)
    facts = {
        "seconds": sample.wall,
        "one day seconds": one.wall,
        "rows that differ": sum(differing(before, lake.rows()).values()),
        "landing files read": touched.landing_files,
        "scans of tables": touched.scans,
        "scans for keys of a merge": touched.key_scans,
        "scans of times that are text": touched.text_scans,
        "files rewritten": touched.commit_paths,
        **{name: len(found) for name, found in zip(_STRANGE, strange, strict=True)},
        "strange": [each for found in strange for each in found][:50],
    }
    return replace(sample, wall=max(sample.wall - one.wall, 0.0), cpu=max(sample.cpu - one.cpu, 0.0), facts=facts)


def _days(first: date, count: int) -> list[date]:
    return [first + timedelta(days=number) for number in range(count)]
