"""A window that is there already: what each `reprocess_policy` makes of other rows, of bad ones, and of none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.audit import audit

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

HEAD = """
model: {fields: [{name: id, type: int}, {name: day, type: date}]}
source: {type: landing, path: in, format: csv, partition: {format: "%Y-%m-%d"}MORE}
quality: {row_rules: [{name: known, sql: id < 100}]}
primary_key: [id]
"""
APPEND, PARTITION = "strategy: append", "strategy: partition, partition_by: [day]"
ONE, TWO = "2026-02-01", "2026-02-02"


def contract(strategy: str, policy: str = "overwrite_partition", more: str = "") -> str:
    return HEAD.replace("MORE", more) + f"materialization: {{{strategy}, reprocess_policy: {policy}}}"


def land(sandbox: Sandbox, day: str, *numbers: int) -> None:
    """The day's only file, with a good row for each number below 100; without any it is gone."""
    file = sandbox.folder / "in" / day / "rows.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("id,day\n" + "".join(f"{number},{day}\n" for number in numbers))
    if not numbers:
        file.unlink()


def ids(rows: list[tuple[int, ...]]) -> list[int]:
    return [row[0] for row in rows]


SEEN = [1, 2]
"""What the table holds before: the first day's row and the second's."""


@pytest.mark.parametrize(
    ("strategy", "policy", "other", "bad_only", "gone"),
    [
        (APPEND, "overwrite_partition", [1, 3], [1], [1]),
        (APPEND, "window", [1, 3], [1], [1]),
        (APPEND, "overwrite_partition_safe", [1, 3], SEEN, SEEN),
        (APPEND, "append", [1, 2, 3], SEEN, SEEN),
        (PARTITION, "overwrite_partition", [1, 3], [1], [1]),
        (PARTITION, "overwrite_partition_safe", [1, 3], SEEN, SEEN),
    ],
)
def test_a_window_that_is_there_is_replaced_kept_or_added_to_by_its_policy(
    sandbox: Sandbox, strategy: str, policy: str, other: list[int], bad_only: list[int], gone: list[int]
) -> None:
    for table, numbers, expected, bad in (
        ("other", (3, 103), other, [103]),
        ("bad_only", (104,), bad_only, [104]),
        ("gone", (), gone, []),
    ):
        text = contract(strategy, policy)
        for day, landed in ((ONE, (1,)), (TWO, (2, 102))):
            land(sandbox, day, *landed)
            sandbox.processor(text, table).run(window=Window.day(day))
        land(sandbox, TWO, *numbers)
        report = sandbox.processor(text, table).run(window=Window.day(TWO), reprocess=True)
        destination = sandbox.processor(text, table).destination
        kept = policy == "overwrite_partition_safe" and table != "other"
        assert report.status == ("unchanged" if kept else "success")
        assert sorted(ids(sandbox.rows(destination.target, "id"))) == expected, table
        assert ids(sandbox.rows(destination.quarantine, "id")) == bad, table
        assert all(run.holds for run in audit(destination))


def test_a_window_that_may_not_be_repeated_is_not_emptied_either(sandbox: Sandbox) -> None:
    text = contract(APPEND, "fail")
    land(sandbox, ONE, 1)
    sandbox.processor(text).run(window=Window.day(ONE))
    land(sandbox, ONE)
    with pytest.raises(EngineError, match="2026-02-01 is in orders already"):
        sandbox.processor(text).run(window=Window.day(ONE), reprocess=True)
    assert ids(sandbox.target(text, "id")) == [1]


def test_an_empty_place_is_not_taken_for_withdrawn_where_the_contract_says_otherwise(sandbox: Sandbox) -> None:
    text = contract(APPEND, more=", post_ingestion: {action: delete}")
    land(sandbox, ONE, 1)
    sandbox.processor(text).run(window=Window.day(ONE))
    assert not (sandbox.folder / "in" / ONE / "rows.csv").exists()
    assert sandbox.processor(text).run(window=Window.day(ONE), reprocess=True).status == "no_new_data"
    text = contract(APPEND, more=", empty_behavior: fail")
    with pytest.raises(EngineError, match="found nothing to read"):
        sandbox.processor(text).run(window=Window.day(ONE), reprocess=True)
    assert ids(sandbox.target(text, "id")) == [1]


def test_files_that_an_incremental_run_has_read_among_others_take_their_own_rows_with_them(sandbox: Sandbox) -> None:
    text = "lineage: {enabled: true}" + contract(
        APPEND, more=", load_mode: incremental, watermark_strategy: pipeline_log"
    )
    for day, number in ((ONE, 1), (TWO, 2)):
        land(sandbox, day, number)
    sandbox.processor(text).run()
    land(sandbox, TWO)
    assert sandbox.processor(text).run(window=Window.day("2026-02-03"), reprocess=True).status == "no_new_data"
    assert sandbox.processor(text).run(window=Window.day(TWO), reprocess=True).counts.source == 0
    assert ids(sandbox.target(text, "id")) == [1]
    # Of a folder that is not there at all, nobody knows whether its files were withdrawn.
    (sandbox.folder / "in").rename(sandbox.folder / "elsewhere")
    with pytest.raises(EngineError, match=r"found no .*in, so nothing of the window 2026-02-01"):
        sandbox.processor(text).run(window=Window.day(ONE), reprocess=True)


def test_what_is_merged_by_key_keeps_rows_that_nothing_tells_and_says_so(sandbox: Sandbox) -> None:
    text = contract("strategy: merge, partition_by: [day]")
    land(sandbox, ONE, 1, 101)
    sandbox.processor(text).run(window=Window.day(ONE))
    land(sandbox, ONE)
    report = sandbox.processor(text).run(window=Window.day(ONE), reprocess=True)
    assert any("no column of the table tells which rows came from there" in each for each in report.warnings)
    assert ids(sandbox.target(text, "id")) == [1]
    assert sandbox.quarantine(text, "id") == []
