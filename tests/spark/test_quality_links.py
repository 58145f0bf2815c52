"""What links hold is often typed by guess: a word beside numbers is the fault of its row, never of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

HEAD = "model: {fields: [{name: id, type: int}, {name: cid, type: string}]}\n"
LINK = "links: [{name: ref, path: ref.%s, type: %s}]\n"
ROWS = [(1, "1001"), (2, "unknown"), (3, "1003"), (4, None)]
SCHEMA = "id int, cid string"
FOUND = {"1001": "2020-01-01", "1002": "2020-01-01"}


@pytest.fixture(params=["csv", "jsonl"])
def link(sandbox: Sandbox, request: pytest.FixtureRequest) -> str:
    """A link whose keys are taken for numbers."""
    lines = ["cid,region,start_date,end_date", *(f"{key},north,{start}," for key, start in FOUND.items())]
    if request.param == "jsonl":
        lines = [f'{{"cid": {key}, "region": "north", "start_date": "{start}"}}' for key, start in FOUND.items()]
        lines.append('{"cid": null, "end_date": null}')
    (sandbox.folder / f"ref.{request.param}").write_text("\n".join(lines) + "\n")
    return LINK % (request.param, request.param)


def test_a_word_among_keys_that_are_numbers_is_one_bad_row(sandbox: Sandbox, link: str) -> None:
    text = (
        HEAD.replace("fields: [", "fields: [{name: at, type: date}, ")
        + link
        + (
            "quality:\n  row_rules:\n    - referential_integrity: {field: cid, reference: ref, key: cid}\n"
            "    - lifecycle_window: {event_ts: at, event_key: cid, reference: ref, reference_key: cid}\n"
        )
    )
    rows = [(*row, "2024-01-01") for row in ROWS]
    outcome = sandbox.validate(text, rows, SCHEMA + ", at string")
    assert [row["id"] for row in outcome.good.collect()] == [1]
    assert outcome.report.failed_row_rules == {"cid_referential_integrity": 3, "cid_lifecycle_window": 3}


def test_steps_look_words_up_among_numbers_and_never_double_a_row(sandbox: Sandbox, link: str) -> None:
    text = (
        HEAD
        + link
        + (
            "transformations:\n"
            "  - lookup: {field: region, reference: ref, on: cid, key: cid, value: region, default_value: none}\n"
            "  - join: {reference: ref, on: cid, key: cid, fields: [region], prefix: j_}\n"
        )
    )
    good = sandbox.validate(text, ROWS, SCHEMA).good.collect()
    assert sorted((row["id"], row["region"], row["j_region"]) for row in good) == [
        (1, "north", "north"),
        (2, "none", None),
        (3, "none", None),
        (4, "none", None),
    ]


def test_keys_of_text_that_are_the_same_number_count_once(sandbox: Sandbox) -> None:
    (sandbox.folder / "ref.csv").write_text("cid,region\n01,a\n1,b\nx,c\n")
    text = (
        "model: {fields: [{name: cid, type: int}]}\n" + LINK % ("csv", "csv") + "transformations:\n"
        "  - lookup: {field: region, reference: ref, on: cid, key: cid, value: region}\n"
        "quality: {row_rules: [{referential_integrity: {field: cid, reference: ref, key: cid}}]}\n"
    )
    good = sandbox.validate(text, [(1,), (2,)], "cid int").good.collect()
    assert [(row["cid"], row["region"]) for row in good] == [(1, "b")]


def test_a_link_that_is_called_like_the_table_is_read_under_that_name(sandbox: Sandbox) -> None:
    (sandbox.folder / "ref.csv").write_text("cid,region\na,north\n")
    text = (
        "links: [{name: orders, path: ref.csv, type: csv}]\n"
        "model: {fields: [{name: cid, type: string}, {name: region, type: string, required: true}]}\n"
        'transformations: [{sql: "SELECT s.cid, o.region FROM source s JOIN orders o ON o.cid = s.cid"}]\n'
        "quality: {row_rules: [{name: known, sql: cid IN (SELECT cid FROM orders)}]}\n"
    )
    outcome = sandbox.validate(text, [("a",), ("b",)], "cid string")
    assert [row["region"] for row in outcome.good.collect()] == ["north"]
    assert outcome.report.failed_row_rules == {"known": 1}


def test_a_join_that_makes_rows_of_rows_is_told_of(sandbox: Sandbox) -> None:
    (sandbox.folder / "twice.csv").write_text("cid,region\na,north\na,south\nb,east\n")
    text = (
        "model: {fields: [{name: id, type: int}, {name: region, type: string}]}\n"
        "links: [{name: twice, path: twice.csv, type: csv}]\ntransformations:\n"
        "  - join: {reference: twice, on: cid, key: cid, fields: [region]}\n"
    )
    rows = [(1, "a"), (2, "b")]
    outcome = sandbox.validate(text, rows, "id int, cid string")
    assert (outcome.report.counts.good, outcome.report.counts.dropped) == (3, -1)
    (told,) = outcome.report.warnings
    assert told.startswith("2 rows were read and 3 made of them: a key of `twice` stands there several times.")
    meant = text + "  - sql: SELECT *, explode(sequence(1, 2)) AS n FROM source\n"
    assert sandbox.validate(meant, rows, "id int, cid string").report.warnings == ()
