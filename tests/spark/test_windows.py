"""Windows on the way in and on the way out: what is read, what is replaced."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

MODEL = """
model: {fields: [{name: id, type: int}, {name: day, type: date}, {name: region, type: string}]}
source: {type: landing, path: in, format: csv, options: {header: true}}
quality: {row_rules: [{name: known, sql: id < 100}]}
"""
PARTITION = MODEL + "materialization: {strategy: partition, partition_by: [day, region]}"
APPEND = MODEL + "materialization: {strategy: append, reprocess_date_column: day}"
DAYS = ("2026-02-02", "2026-02-03", "2026-02-04")


def land(sandbox: Sandbox, shift: int = 0) -> None:
    folder = sandbox.folder / "in"
    folder.mkdir(exist_ok=True)
    lines = ["id,day,region"]
    for number, day in enumerate(DAYS):
        lines += [f"{shift + number},{day},eu", f"{shift + number + 10},{day},us", f"{shift + number + 100},{day},eu"]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


def of_region(day: str, region: str) -> Window:
    return replace(Window.day(day), key=f"{day}|{region}", values=(("region", region),))


def test_a_window_of_a_day_and_a_value_reads_and_replaces_only_that(sandbox: Sandbox) -> None:
    land(sandbox)
    for day in DAYS:
        for region in ("eu", "us"):
            sandbox.processor(PARTITION).run(window=of_region(day, region))
    assert len(sandbox.target(PARTITION, "id")) == 6
    land(sandbox, shift=50)
    report = sandbox.processor(PARTITION).run(window=of_region("2026-02-03", "eu"))
    assert (report.counts.source, report.counts.good, report.counts.quarantined) == (2, 1, 1)
    assert sandbox.target(PARTITION, "id") == [(0,), (10,), (11,), (12,), (2,), (51,)]
    assert sandbox.quarantine(PARTITION, "id") == [(100,), (102,), (151,)]


def test_a_window_of_a_value_leaves_what_a_full_run_has_brought_of_other_values(sandbox: Sandbox) -> None:
    text = """
model: {fields: [{name: id, type: int}, {name: region, type: string}]}
source: {type: landing, path: in, format: csv, partition: {format: "%Y-%m-%d"}}
materialization: {strategy: append}
"""
    folder = sandbox.folder / "in" / "2026-02-03"
    folder.mkdir(parents=True)
    (folder / "rows.csv").write_text("id,region\n1,eu\n2,us\n")
    sandbox.processor(text).run()
    (folder / "rows.csv").write_text("id,region\n1,eu\n2,us\n3,eu\n")
    assert sandbox.processor(text).run(window=of_region("2026-02-03", "eu")).counts.good == 2
    found = sandbox.target(text, "id", "region")
    assert (2, "us") in found
    assert {row for row in found if row[1] == "eu"} == {(1, "eu"), (3, "eu")}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_a_column_of_dates_is_cut_by_the_days_of_the_windows_zone(sandbox: Sandbox, zone: str) -> None:
    land(sandbox)
    report = sandbox.processor(PARTITION).run(window=Window.day("2026-02-03", zone))
    assert [row[0] for row in sandbox.target(PARTITION, "id")] == [1, 11]
    assert report.window.get("zone", "UTC") == zone


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_days_that_are_text_are_days_of_the_windows_zone_in_what_is_replaced_too(sandbox: Sandbox, zone: str) -> None:
    text = APPEND.replace("type: date", "type: string")
    assert text != APPEND
    land(sandbox)
    for day in ("2026-02-04", "2026-02-03", "2026-02-03"):
        sandbox.processor(text).run(window=Window.day(day, zone))
    assert sorted(row[0] for row in sandbox.target(text, "id")) == [1, 2, 11, 12]


def test_a_day_appended_after_a_range_that_holds_it_leaves_one_copy(sandbox: Sandbox) -> None:
    land(sandbox)
    sandbox.processor(APPEND).run(window=Window.range(DAYS[0], DAYS[2]))
    sandbox.processor(APPEND).run(window=Window.day(DAYS[1]))
    assert [row[0] for row in sandbox.target(APPEND, "id")] == [0, 1, 10, 11, 12, 2]
    assert sandbox.quarantine(APPEND, "id") == [(100,), (101,), (102,)]


def test_a_window_may_be_forbidden_to_run_twice(sandbox: Sandbox) -> None:
    land(sandbox)
    text = APPEND.replace("strategy: append", "strategy: append, reprocess_policy: fail")
    sandbox.processor(text).run(window=Window.day(DAYS[1]))
    with pytest.raises(EngineError, match="2026-02-03 is in orders already"):
        sandbox.processor(text).run(window=Window.day(DAYS[1]))


def test_a_look_back_widens_what_a_merge_reads(sandbox: Sandbox) -> None:
    land(sandbox)
    merge = MODEL.replace("options:", "watermark_field: day, lookback: 1d, options:")
    merge += "primary_key: [id]\nmaterialization: {strategy: merge}"
    report = sandbox.processor(merge).run(window=Window.day(DAYS[1]))
    assert report.counts.source == 6
    sandbox.processor(merge).run(window=Window.day(DAYS[2]))
    assert sandbox.quarantine(merge, "id") == [(100,), (101,), (102,)]
    partition = merge.replace("strategy: merge", "strategy: partition, partition_by: [day]")
    assert sandbox.processor(partition, "others").run(window=Window.day(DAYS[1])).counts.source == 3


def test_a_date_that_is_spread_over_columns_cuts_a_window(sandbox: Sandbox) -> None:
    folder = sandbox.folder / "in"
    folder.mkdir()
    (folder / "rows.csv").write_text("id,day,y,m,d\n1,x,2026,2,3\n2,x,2026,2,4\n3,x,2026,,4\n")
    text = MODEL.replace("options:", "watermark_date_parts: [y, m, d], options:")
    text = text.replace("{name: day, type: date}", "{name: day, type: string}")
    report = sandbox.processor(text + "materialization: {strategy: append}").run(window=Window.day("2026-02-03"))
    assert report.counts.source == 1


def test_a_window_that_is_run_again_does_not_turn_an_incremental_load_back(sandbox: Sandbox) -> None:
    land(sandbox)
    text = APPEND.replace("options:", "load_mode: incremental, watermark_strategy: pipeline_log, options:")
    assert sandbox.processor(text).run().counts.source == 9
    sandbox.processor(text).run(window=Window.day(DAYS[0]))
    assert sandbox.processor(text).run().status == "no_new_data"


FOLDERS = """
model: {fields: [{name: id, type: int}, {name: day, type: date}]}
source: {type: landing, path: in, format: csv, options: {header: true}, partition: {format: "%Y-%m-%d"}, MORE}
quality: {row_rules: [{name: known, sql: id < 100}]}
materialization: {strategy: append, partition_by: [day]}
"""


def land_folders(sandbox: Sandbox) -> None:
    """Every folder holds a good and a bad row of its day, and a good and a bad one of the day before."""
    for number, day in enumerate(DAYS):
        folder = sandbox.folder / "in" / day
        folder.mkdir(parents=True)
        before = DAYS[max(0, number - 1)]
        (folder / "rows.csv").write_text(
            f"id,day\n{number},{day}\n{number + 100},{day}\n{number + 10},{before}\n{number + 110},{before}\n"
        )


def ids(rows: list[tuple[int, ...]]) -> list[int]:
    return sorted(row[0] for row in rows)


ALL_GOOD, ALL_BAD = [0, 1, 2, 10, 11, 12], [100, 101, 102, 110, 111, 112]


@pytest.mark.parametrize("order", [DAYS, DAYS[::-1], (*DAYS, *DAYS)], ids=["in order", "in reverse", "twice"])
def test_rows_of_other_days_in_a_folder_stay_with_the_window_of_their_folder(
    sandbox: Sandbox, order: tuple[str, ...]
) -> None:
    text = FOLDERS.replace(", MORE", "")
    land_folders(sandbox)
    for day in order:
        sandbox.processor(text).run(window=Window.day(day))
    assert ids(sandbox.target(text, "id")) == ALL_GOOD
    assert ids(sandbox.quarantine(text, "id")) == ALL_BAD


def test_a_range_of_folders_replaces_the_days_in_it(sandbox: Sandbox) -> None:
    text = FOLDERS.replace(", MORE", "")
    land_folders(sandbox)
    sandbox.processor(text).run(window=Window.day(DAYS[1]))
    sandbox.processor(text).run(window=Window.range(DAYS[0], DAYS[2]))
    assert ids(sandbox.target(text, "id")) == ALL_GOOD
    assert ids(sandbox.quarantine(text, "id")) == ALL_BAD


def test_a_folder_that_an_incremental_run_has_read_is_told_by_its_files(sandbox: Sandbox) -> None:
    text = "lineage: {enabled: true}" + FOLDERS.replace(
        "MORE", "load_mode: incremental, watermark_strategy: pipeline_log"
    )
    land_folders(sandbox)
    assert sandbox.processor(text).run().counts.source == 12
    report = sandbox.processor(text).run(window=Window.day(DAYS[1]))
    assert not any("Other runs have read the same" in warning for warning in report.warnings)
    assert ids(sandbox.target(text, "id")) == ALL_GOOD


def test_without_lineage_it_is_told_by_the_column_of_time_and_a_warning(sandbox: Sandbox) -> None:
    text = FOLDERS.replace("MORE", "load_mode: incremental, watermark_strategy: pipeline_log")
    land_folders(sandbox)
    sandbox.processor(text).run()
    report = sandbox.processor(text).run(window=Window.day(DAYS[2]))
    assert any("Other runs have read the same" in warning for warning in report.warnings)
    assert ids(sandbox.target(text, "id")) == sorted([*ALL_GOOD, 12])


def test_a_table_without_the_column_that_cut_its_source_tells_rows_by_their_runs(sandbox: Sandbox) -> None:
    text = MODEL.replace("options:", "watermark_field: day, options:").replace(
        "{name: day, type: date}", "{name: due, type: date}"
    )
    text += "transformations: [{derive: {field: due, sql: DATE'2026-02-03'}}, {drop: [day]}]\n"
    text += "materialization: {strategy: append, partition_by: [due]}"
    land(sandbox)
    for day in DAYS:
        sandbox.processor(text).run(window=Window.day(day))
    assert ids(sandbox.target(text, "id")) == ALL_GOOD


def test_a_bad_row_that_every_incremental_run_reads_again_is_in_quarantine_once(sandbox: Sandbox) -> None:
    path = str(sandbox.folder / "landed")
    text = f"""
model: {{fields: [{{name: id, type: int}}, {{name: day, type: date}}]}}
source: {{type: delta, path: {path}, load_mode: incremental, watermark_field: day}}
primary_key: [id]
quality: {{row_rules: [{{name: known, sql: id < 100}}]}}
materialization: {{strategy: merge}}
"""
    days = [("2026-02-02", "2099-01-01"), ("2026-02-03", "2026-02-03"), ("2026-02-03", "2026-02-04")]
    for number, (good, bad) in enumerate(days):
        rows = sandbox.frame([(number, good), (number + 100, bad)], "id int, day string")
        rows.selectExpr("id", "CAST(day AS DATE) AS day").write.format("delta").mode("append").save(path)
        sandbox.processor(text).run()
    assert ids(sandbox.quarantine(text, "id")) == [100, 101, 102]
    # The third row came for a day that the second run had already seen.
    assert ids(sandbox.target(text, "id")) == [0, 1, 2]


def test_a_source_that_was_made_anew_is_not_taken_for_the_old_one(sandbox: Sandbox) -> None:
    rows = sandbox.spark.range(2).selectExpr("CAST(id AS INT) AS id")
    path = str(sandbox.folder / "source")
    text = f"""
model: {{fields: [{{name: id, type: int}}]}}
source: {{type: delta, path: {path}, load_mode: incremental, watermark_strategy: delta_version}}
primary_key: [id]
materialization: {{strategy: merge}}
"""
    rows.write.format("delta").save(path)
    sandbox.processor(text).run()
    assert sandbox.processor(text).run().status == "no_new_data"
    (sandbox.folder / "source").rename(sandbox.folder / "moved")
    rows.selectExpr("id + 5 AS id").write.format("delta").save(path)
    sandbox.processor(text).run()
    assert ids(sandbox.target(text, "id")) == [0, 1, 5, 6]
    (sandbox.folder / "source").rename(sandbox.folder / "moved again")
    rows.write.format("delta").save(path)
    with pytest.raises(EngineError, match="lakelogic reload orders"):
        sandbox.processor(text.replace("primary_key: [id]", "").replace("merge", "append")).run()


def test_what_is_new_among_files_is_told_after_a_run_that_was_given_its_rows(sandbox: Sandbox) -> None:
    text = APPEND.replace("options:", "load_mode: incremental, watermark_strategy: pipeline_log, options:")
    land(sandbox)
    sandbox.processor(text).run()
    rows = sandbox.spark.createDataFrame([(40, "eu")], "id int, region string").selectExpr(
        "id", "DATE'2026-02-09' AS day", "region"
    )
    sandbox.processor(text).run(rows)
    older = sandbox.folder / "in" / "older.csv"
    older.write_text("id,day,region\n50,2026-02-02,eu\n")
    os.utime(older, (1_600_000_000, 1_600_000_000))
    assert sandbox.processor(text).run().counts.source == 1
    assert sandbox.processor(text).run().status == "no_new_data"
    assert ids(sandbox.target(text, "id")) == [0, 1, 2, 10, 11, 12, 40, 50]


def test_the_window_of_an_append_is_no_data_of_what_reads_from_it(sandbox: Sandbox) -> None:
    bronze = sandbox.processor(APPEND, "bronze")
    text = f"""
model: {{fields: [{{name: id, type: int}}]}}
source: {{type: delta, path: {bronze.destination.target}}}
primary_key: [id]
materialization: {{strategy: scd2}}
"""
    for _ in range(2):
        land(sandbox)
        bronze.run()
        sandbox.processor(text).run()
    columns = sandbox.spark.read.format("delta").load(sandbox.processor(text).destination.target).columns
    assert "_lakelogic_window" not in columns
    assert len(sandbox.target(text, "id")) == 6


def test_a_part_of_a_text_that_a_window_does_not_have_is_null_there(sandbox: Sandbox) -> None:
    text = """
model: {fields: [{name: id, type: int}, {name: day, type: date}, {name: pay_kind}, {name: pay_rate, type: int}]}
source: {type: landing, path: in, format: csv, watermark_field: day, flatten_nested: [pay]}
server: {schema_policy: {evolution: strict, unknown_fields: quarantine}}
materialization: {strategy: append}
"""
    folder = sandbox.folder / "in"
    folder.mkdir()
    full, short = '"{""kind"": ""card"", ""rate"": 3}"', '"{""kind"": ""cash""}"'
    (folder / "rows.csv").write_text(f"id,day,pay\n1,2026-02-03,{full}\n2,2026-02-04,{short}\n")
    for day in ("2026-02-03", "2026-02-04"):
        report = sandbox.processor(text).run(window=Window.day(day))
        assert (report.counts.good, report.counts.quarantined) == (1, 0)
    assert sandbox.target(text, "id", "pay_kind", "pay_rate") == [(1, "card", 3), (2, "cash", None)]
