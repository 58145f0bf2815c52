"""Rows that come late through a table: which windows they belong to, and which rows only look new."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lakelogic_assets.plan.window import FULL, Window
from lakelogic_assets.processor import DataProcessor
from lakelogic_assets.report.run import RunReport, Status
from lakelogic_assets.spark.late import LateReport, late_windows
from lakelogic_assets.spark.run_log import append_run

FACTS = """
version: 1.0.0
info: {title: Facts, table_name: facts}
model: {fields: [{name: id, type: int}, {name: business_date, type: date}]}
primary_key: [id]
source: {type: table, path: "table:lakehouse.default.orders", load_mode: incremental, watermark_field: business_date}
materialization: {strategy: merge}
"""
NOW = datetime(2026, 4, 30, tzinfo=UTC)
DAYS = [f"2026-02-0{day}" for day in range(1, 8)]
SCHEMA = pa.schema(
    [("id", pa.int32()), ("business_date", pa.date32()), ("_lakelogic_processed_at", pa.timestamp("us", "UTC"))]
)


def days_between(start: datetime, end: datetime, zone: str = "UTC") -> list[Window]:
    first = max(start.date(), date(2026, 1, 1))
    every = [Window.day(first + timedelta(days=number), zone) for number in range((end.date() - first).days + 2)]
    return [each for each in every if each.overlaps(Window("asked", start, end))]


class Shop:
    """A table of orders that somebody else fills, and a contract that makes facts of it: no Spark at all."""

    def __init__(self, folder: Path, text: str = FACTS) -> None:
        path = folder / "facts.yaml"
        path.write_text(text, encoding="utf-8")
        self.processor = DataProcessor(path)
        contract = self.processor.contract
        self.orders = self.processor.workspace.lakehouse(contract).table_path("lakehouse.default.orders")
        self.windows: Any = days_between
        self.runs = 0

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.orders)

    def deliver(self, rows: list[tuple[int, str]], *, merged: bool = False) -> str:
        """Rows as a run of silver brings them, by appending or by merging; the id of that run."""
        self.runs += 1
        run_id, at = f"delivery-{self.runs}", datetime.now(UTC)
        given = [(number, date.fromisoformat(day), at) for number, day in rows]
        arrived = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], SCHEMA)
        said = json.dumps({"lakelogic": 1, "run_id": run_id, "at": at.isoformat()})
        properties = CommitProperties(custom_metadata={"userMetadata": said})
        if not merged:
            write_deltalake(self.orders, arrived, mode="append", commit_properties=properties)
            return run_id
        merge = self.table.merge(arrived, "t.id = s.id", "s", "t", commit_properties=properties)
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        return run_id

    def build(self, *windows: Window | str, status: Status = "success", **state: Any) -> None:
        """Successful runs of the contract, as the run log tells of them."""
        for window in windows:
            self.runs += 1
            chosen = Window.day(window) if isinstance(window, str) else window
            version = {"version": self.table.version()} if status == "success" else {}
            now = datetime.now(UTC)
            report = RunReport(
                status, f"run-{self.runs}", "p", "facts", "facts", chosen.as_dict(), now, now,
                watermark={**version, **state},
            )  # fmt: skip
            append_run(self.processor.destination.run_log, None, report, "local")

    def late(self) -> LateReport:
        return late_windows(self.processor.contract, self.processor.workspace, self.windows, NOW)

    def keys(self) -> dict[str, tuple[int | None, int]]:
        return {each.window.key: (each.rows, each.gone) for each in self.late().late}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Three days, delivered and built."""
    made = Shop(tmp_path)
    for number, day in enumerate(DAYS[:3]):
        made.deliver([(number * 10 + each, day) for each in range(3)])
    made.build(*DAYS[:3])
    return made


def with_source(folder: Path, **said: str) -> Shop:
    more = "".join(f", {name}: {value}" for name, value in said.items())
    return Shop(folder, FACTS.replace("watermark_field: business_date", f"watermark_field: business_date{more}"))


def test_a_row_of_a_past_day_names_exactly_that_day_and_the_run_that_brought_it(shop: Shop) -> None:
    assert shop.late() == LateReport(("facts",))
    run = shop.deliver([(40, DAYS[3]), (41, DAYS[1])])
    report = shop.late()
    (found,) = report.late
    assert (found.window.key, found.rows, found.gone) == (DAYS[1], 1, 0)
    assert [(each.run_id, each.version) for each in found.arrived] == [(run, 3)]
    assert (found.built_by, report.missing, report.notes) == ("run-5", (), ())
    shop.build(DAYS[1])
    assert shop.keys() == {}


def test_rows_that_a_merge_only_copies_are_not_late(shop: Shop) -> None:
    shop.table.optimize.compact()
    shop.deliver([(11, DAYS[1]), (40, DAYS[3])], merged=True)
    # One row of the second day has changed; eight others were written again beside it.
    assert shop.keys() == {DAYS[1]: (1, 1)}
    assert shop.late().notes == ()


def test_files_that_are_put_together_bring_nothing_and_hide_nothing(shop: Shop) -> None:
    shop.table.optimize.compact()
    assert shop.keys() == {}
    shop.deliver([(41, DAYS[1])])
    shop.table.optimize.compact()
    assert shop.keys() == {DAYS[1]: (1, 0)}


def test_rows_that_were_deleted_upstream_make_their_window_late(shop: Shop) -> None:
    shop.table.optimize.compact()
    shop.table.delete("id IN (10, 12)")
    assert shop.keys() == {DAYS[1]: (None, 2)}


def test_a_source_that_was_emptied_and_restored_is_the_same_again(shop: Shop) -> None:
    version = shop.table.version()
    shop.table.delete()
    assert shop.keys() == dict.fromkeys(DAYS[:3], (None, 3))
    shop.build(DAYS[0])
    shop.table.restore(version)
    # Only the first day was built while nothing was there.
    assert shop.keys() == {DAYS[0]: (3, 0)}


def test_each_window_is_held_against_the_version_that_it_was_built_from(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.deliver([(1, DAYS[0])])
    shop.build(DAYS[0])
    shop.deliver([(2, DAYS[1]), (3, DAYS[0])])
    shop.build(DAYS[1])
    assert shop.keys() == {DAYS[0]: (1, 0)}


def test_windows_between_successes_that_have_none_are_missing_not_late(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.deliver([(1, day) for day in DAYS])
    shop.build(DAYS[0], DAYS[3])
    shop.deliver([(2, day) for day in DAYS])
    assert [each.key for each in shop.late().missing] == [DAYS[1], DAYS[2]]
    assert set(shop.keys()) == {DAYS[0], DAYS[3]}


def test_a_run_over_a_range_counts_for_each_of_its_days(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.deliver([(1, DAYS[0])])
    shop.build(Window.range(DAYS[0], DAYS[2]))
    shop.deliver([(3, DAYS[2])])
    assert shop.keys() == {DAYS[2]: (1, 0)}
    assert shop.late().missing == ()


def test_a_run_of_what_is_new_never_looks_at_what_lies_below_its_watermark(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.deliver([(1, DAYS[0]), (2, DAYS[1])])
    shop.build(FULL, value=DAYS[1])
    shop.deliver([(3, DAYS[2]), (4, DAYS[0])])
    shop.build(FULL, value=DAYS[2])
    assert shop.keys() == {DAYS[0]: (1, 0)}


def test_a_lookback_has_seen_the_days_before(tmp_path: Path) -> None:
    shop = with_source(tmp_path, lookback="1d")
    shop.deliver([(1, DAYS[0])])
    shop.build(DAYS[0])
    shop.deliver([(2, DAYS[1]), (3, DAYS[0])])
    shop.build(DAYS[1])
    assert shop.keys() == {}
    shop.deliver([(4, DAYS[0])])
    assert shop.keys() == {DAYS[0]: (1, 0)}


def test_rows_that_the_source_filters_out_are_not_late(tmp_path: Path) -> None:
    shop = with_source(tmp_path, partition_filters="{id: [7, 8]}")
    shop.deliver([(1, DAYS[0])])
    shop.build(DAYS[0])
    shop.deliver([(2, DAYS[0])])
    assert shop.keys() == {}
    shop.deliver([(7, DAYS[0])])
    assert shop.keys() == {DAYS[0]: (1, 0)}


def test_every_day_of_months_finds_its_own_rows(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    days = [(date(2026, 1, 1) + timedelta(days=number)).isoformat() for number in range(119)]
    shop.deliver([(0, days[0])])
    shop.build(Window.range(days[0], days[-1]))
    shop.deliver([(number, day) for number, day in enumerate(days) for _ in range(number + 1)])
    assert shop.keys() == {day: (number + 1, 0) for number, day in enumerate(days)}


def test_what_lies_behind_a_reset_was_never_built(shop: Shop) -> None:
    shop.deliver([(41, DAYS[1])])
    shop.build(FULL, status="reset")
    assert shop.late() == LateReport(("facts",))


def test_a_table_that_does_not_say_when_its_rows_came_counts_whole_files(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    plain = pa.table({"id": [1, 2], "business_date": [date(2026, 2, 1), date(2026, 2, 2)]})
    write_deltalake(shop.orders, plain)
    shop.build(*DAYS[:2])
    write_deltalake(shop.orders, plain.slice(1), mode="append")
    shop.table.optimize.compact()
    assert shop.keys() == {DAYS[1]: (1, 0)}
    assert "does not say when its rows came" in shop.late().notes[0]


def test_a_log_that_was_cleaned_up_leaves_the_moment_in_the_rows(shop: Shop) -> None:
    shop.deliver([(41, DAYS[1])])
    shop.table.create_checkpoint()
    for file in (Path(shop.orders) / "_delta_log").glob("*.json"):
        file.unlink()
    assert shop.keys() == {DAYS[1]: (1, 0)}
    assert "are gone from its log" in shop.late().notes[0]


def test_a_contract_without_a_column_of_time_says_so(tmp_path: Path) -> None:
    shop = Shop(tmp_path, FACTS.replace(", watermark_field: business_date", ""))
    shop.deliver([(1, DAYS[0])])
    shop.build(DAYS[0])
    shop.deliver([(2, DAYS[0])])
    assert shop.late().notes == ("The contract names no column of time, so every window reads all of the source.",)


def test_a_window_of_a_day_and_a_region_is_late_for_its_region_only(tmp_path: Path) -> None:
    shop = Shop(
        tmp_path, FACTS.replace("strategy: merge", "strategy: partition, partition_by: [business_date, region]")
    )

    def regions(start: datetime, end: datetime) -> list[Window]:
        return [
            replace(day, key=f"{day.key}|{region}", values=(("region", region),))
            for day in days_between(start, end)
            for region in ("eu", "us")
        ]

    def landed(*rows: tuple[str, str]) -> pa.Table:
        days, found = [date.fromisoformat(day) for day, _ in rows], [region for _, region in rows]
        return pa.table({"id": range(len(rows)), "business_date": days, "region": found})

    shop.windows = regions
    write_deltalake(shop.orders, landed((DAYS[0], "eu"), (DAYS[1], "us")), partition_by=["business_date", "region"])
    shop.build(*regions(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 3, tzinfo=UTC)))
    write_deltalake(shop.orders, landed((DAYS[0], "us"), (DAYS[2], "eu")), mode="append")
    assert shop.keys() == {f"{DAYS[0]}|us": (1, 0)}


@pytest.mark.parametrize("zoned", [True, False])
@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2026-03-28T22:59:59", "2026-03-28"),
        ("2026-03-28T23:00:00", "2026-03-29"),
        ("2026-03-29T21:59:59.999999", "2026-03-29"),
        ("2026-03-29T22:00:00", "2026-03-30"),
    ],
)
def test_moments_belong_to_the_day_of_the_zone_also_where_clocks_change(
    tmp_path: Path, moment: str, day: str, *, zoned: bool
) -> None:
    shop = Shop(tmp_path)
    shop.windows = lambda start, end: days_between(start, end, "Europe/Berlin")

    def at(text: str) -> pa.Table:
        found = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return pa.table({"business_date": pa.array([found if zoned else text], None if zoned else pa.string())})

    write_deltalake(shop.orders, at("2026-03-29T12:00:00"))
    shop.build(Window.days(date(2026, 3, 28), date(2026, 3, 31), "Europe/Berlin"))
    write_deltalake(shop.orders, at(moment), mode="append")
    assert shop.keys() == {day: (1, 0)}


def test_a_text_without_a_clock_is_a_day_of_the_windows_zone(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.windows = lambda start, end: days_between(start, end, "America/New_York")
    write_deltalake(shop.orders, pa.table({"business_date": ["2026-02-01"]}))
    shop.build(Window.days(date(2026, 2, 1), date(2026, 2, 4), "America/New_York"))
    write_deltalake(shop.orders, pa.table({"business_date": ["2026-02-02", "2026-2-3", "soon", None]}), mode="append")
    assert shop.keys() == {DAYS[1]: (1, 0), DAYS[2]: (1, 0)}


def test_a_report_can_be_written_as_json(shop: Shop) -> None:
    shop.deliver([(41, DAYS[1])])
    said = json.loads(json.dumps(shop.late().as_dict()))
    assert (said["contract"], said["late"][0]["window"]["key"], said["late"][0]["rows"]) == ("facts", DAYS[1], 1)
