"""YAML text into plain values: strict where YAML is lax, quick where a file is hostile."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from lakelogic_assets.contract.problems import Problem
from lakelogic_assets.contract.reading import MAX_BYTES, MAX_DEPTH, MAX_VALUES, read_document, read_text
from lakelogic_assets.errors import ContractError


def problems_of(text: str) -> list[Problem]:
    with pytest.raises(ContractError) as caught:
        read_text(text)
    return list(caught.value.problems)


def value(text: str) -> Any:
    return read_text(f"v: {text}").data["v"]


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "NO", "y", "n", "Yes", "On"])
def test_only_true_and_false_are_booleans(word: str) -> None:
    assert value(word) == word


@pytest.mark.parametrize(("word", "meant"), [("true", True), ("True", True), ("FALSE", False), ("'true'", "true")])
def test_true_and_false_are_booleans_in_any_case_unless_they_are_quoted(word: str, meant: object) -> None:
    assert value(word) is meant or value(word) == meant


@pytest.mark.parametrize(
    "word", ["12:30:45", "010", "2026-02-03", "0x1F", "1_000", "+5", "0b1", ".inf", ".nan", "1.2.3"]
)
def test_what_only_looks_like_a_number_stays_text(word: str) -> None:
    assert value(word) == word


@pytest.mark.parametrize(
    ("word", "number"), [("0", 0), ("-7", -7), ("1.50", 1.5), (".5", 0.5), ("1e3", 1000.0), ("5.", 5.0)]
)
def test_plain_numbers_are_numbers(word: str, number: float) -> None:
    assert value(word) == number
    assert type(value(word)) is type(number)


def test_a_number_too_long_for_a_machine_stays_text() -> None:
    assert value("9" * 30) == "9" * 30


@pytest.mark.parametrize("word", ["null", "~", "", "Null"])
def test_null_is_null(word: str) -> None:
    assert value(word) is None


def test_keys_are_always_text() -> None:
    assert read_text("on: 1\ntrue: 2\n5: 3\nnull: 4").data == {"on": 1, "true": 2, "5": 3, "null": 4}


def test_standard_tags_are_allowed() -> None:
    assert read_text("a: !!str 5\nb: !!int 5\nc: !!seq [1]\nd: !!map {}").data == {"a": "5", "b": 5, "c": [1], "d": {}}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read_text("'<<': 5").data == {"<<": 5}


def test_of_several_merged_mappings_the_earlier_wins_and_what_is_written_wins_over_both() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}"
    assert read_text(text).data["c"] == {"x": 1, "y": 3, "z": 2}


def test_all_keys_that_stand_twice_are_told() -> None:
    found = problems_of("a: 1\na: 2\nb:\n  c: 1\n  c: 2\n  c: 3\n")
    assert [(each.code, each.location.line, each.location.column) for each in found] == [
        ("LL005", 2, 1),
        ("LL005", 5, 3),
        ("LL005", 6, 3),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1.0.0\n")
    assert read_document(path).data == {"version": "1.0.0"}


def test_lines_end_as_they_like(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_bytes(b"a: 1\r\nb:\r\n  c: 2\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": {"c": 2}}
    assert document.locate(("b", "c")).line == 3


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        read_document(tmp_path / "none.yaml")
    assert [problem.code for problem in caught.value.problems] == ["LL001"]


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        read_document(tmp_path)
    assert caught.value.code == "LL001"


def test_a_file_of_50_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    started = time.process_time()
    with pytest.raises(ContractError) as caught:
        read_document(path)
    assert time.process_time() - started < 0.5
    assert caught.value.code == "LL003"


def test_a_text_that_is_too_long_is_refused() -> None:
    assert problems_of("a: " + "x" * MAX_BYTES)[0].code == "LL003"


HOSTILE = {
    "brackets": "a: " + "[" * 500_000,
    "braces": "a: " + "{a: " * 200_000,
    "dashes": "a:\n  " + "- " * 400_000 + "x",
    "dashes with two blanks": "a:\n  " + "-  " * 300_000 + "x",
    "question marks": "? " * 400_000 + "x",
    "mixed marks": "a:\n  " + "- ? " * 200_000 + "x",
    "indents": "".join(" " * depth + "a:\n" for depth in range(1500)),
    "a list in itself": "a: &a [*a, *a]",
    "a mapping in itself": "a: &a\n  <<: *a",
    "aliases": "a: &a [x, x, x, x, x]\n"
    + "".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}' if i else '*a'] * 9)}]\n" for i in range(12)),
    "merge keys": "a: &a {x: 1}\n"
    + "".join(f"k{i}: &k{i} {{<<: [{', '.join([f'*k{i - 1}' if i else '*a'] * 9)}]}}\n" for i in range(12)),
    "many values": "a: [" + "1," * (MAX_VALUES + 1) + "]",
    "many keys that stand twice": "a: 1\n" * 100_000,
    "an anchor in every value": "".join(f"k{i}: &a{i} x\n" for i in range(60_000)) + "b: [",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_quickly(name: str) -> None:
    started = time.process_time()
    found = problems_of(HOSTILE[name])
    assert time.process_time() - started < 3
    assert found[0].code in {"LL004", "LL005", "LL006", "LL007"}


def test_a_file_may_be_nested_as_deeply_as_is_promised() -> None:
    depth = MAX_DEPTH - 1
    assert read_text("a: " + "[" * depth + "]" * depth).data
    assert problems_of("a: " + "[" * (depth + 1) + "]" * (depth + 1))[0].code == "LL006"


def test_a_character_that_yaml_does_not_have_is_told_with_its_line() -> None:
    found = problems_of("a: é\n# éé\nb: \x01\n")
    assert (found[0].code, found[0].location.line) == ("LL004", 3)
    assert "'\\x01'" in found[0].message


def test_half_a_character_is_told() -> None:
    assert problems_of("a: \ud800")[0].code == "LL002"


def test_an_open_quote_is_told_where_it_was_opened() -> None:
    found = problems_of("a: 1\nb: 'x\nc: 2\nd: 3\n")
    assert (found[0].code, found[0].location.line) == ("LL004", 2)


DOCUMENT = """\
version: 1.0.0
x-base: &base
  type: string
  pii: true
model:
  fields:
    - name: a
      <<: *base
    - {name: b, type: int}
quality:
  row_rules:
    - name: first
      sql: |
        a > 0
        AND b > 0
    - sql: >-
        a
        > 0
    - sql: "a\\nb"
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ((), 1, 1),
        (("version",), 1, 1),
        (("model", "fields"), 6, 3),
        (("model", "fields", 0), 7, 7),
        (("model", "fields", 0, "name"), 7, 7),
        (("model", "fields", 0, "pii"), 4, 3),
        (("model", "fields", 1, "type"), 9, 17),
        (("model", "fields", 1, "not there", 5), 9, 7),
        (("model", "fields", 99), 6, 3),
        (("nothing", "of", "this"), 1, 1),
        (("quality", "row_rules", 0, "sql"), 13, 7),
    ],
)
def test_a_value_is_located_by_its_key_or_by_the_nearest_that_is_there(
    path: tuple[Any, ...], line: int, column: int
) -> None:
    assert read_text(DOCUMENT).locate(path)[1:3] == (line, column)


@pytest.mark.parametrize(
    ("rule", "offset", "line"), [(0, 0, 14), (0, 1, 15), (1, 0, 17), (1, 1, 17), (2, 0, 19), (2, 1, 19)]
)
def test_a_line_of_sql_is_a_line_of_the_file_only_in_a_literal_block(rule: int, offset: int, line: int) -> None:
    assert read_text(DOCUMENT).locate_value(("quality", "row_rules", rule, "sql"), offset).line == line


def test_a_wide_mapping_is_searched_as_quickly_as_a_narrow_one() -> None:
    document = read_text("".join(f"key{i}: {i}\n" for i in range(20_000)))
    started = time.process_time()
    lines = [document.locate((f"key{i}",)).line for i in range(0, 20_000, 2)]
    assert time.process_time() - started < 3
    assert lines == list(range(1, 20_001, 2))


def test_in_a_wide_mapping_what_is_merged_is_found_too() -> None:
    document = read_text("a: &a\n  deep: 1\nwide:\n" + "".join(f"  k{i}: 1\n" for i in range(30)) + "  <<: *a\n")
    assert document.locate(("wide", "deep")).line == 2
    assert document.locate(("wide", "k7")).line == 11
