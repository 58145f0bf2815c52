"""What a person is told when a section is not what it may be."""

from __future__ import annotations

import time

import pytest

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import Location, Problem, dotted, nearest, shown, slip
from lakelogic_assets.contract.reading import read_text
from lakelogic_assets.contract.registry_files import DomainFile, SystemFile
from lakelogic_assets.contract.validation import keys_of, section_at, validated


def told(text: str, model: type[Contract | SystemFile | DomainFile] = Contract) -> list[Problem]:
    document = read_text(text)
    return validated(model, document.data, document.locate)[1]


def only(text: str, model: type[Contract | SystemFile | DomainFile] = Contract) -> Problem:
    problems = told(text, model)
    assert len(problems) == 1, problems
    return problems[0]


def test_a_problem_says_what_was_found_what_is_allowed_and_what_was_meant() -> None:
    problem = only("materialization:\n  strategy: megre\n")
    assert problem.code == "LL104"
    assert problem.message == (
        "`materialization.strategy` is 'megre'; allowed are append, merge, scd2, overwrite, partition, snapshot."
    )
    assert problem.found == "megre"
    assert "merge" in problem.allowed
    assert problem.advice == "Did you mean `merge`?"
    assert str(problem).startswith("<contract>:2:3: error LL104: ")


def test_a_misspelt_key_is_one_problem_and_not_also_a_missing_one() -> None:
    problem = only("quality:\n  row_rules:\n    - regex_match: {field: a, patern: x}\n")
    assert (problem.code, problem.suggestion) == ("LL101", "pattern")


def test_a_key_that_is_really_missing_is_told_beside_an_unknown_one() -> None:
    codes = [problem.code for problem in told("links:\n  - {nmae: x, colour: red}\n")]
    assert sorted(codes) == ["LL101", "LL101"]
    codes = [problem.code for problem in told("transformations:\n  - select: {colour: red}\n")]
    assert sorted(codes) == ["LL101", "LL102"]


def test_without_a_near_key_the_known_ones_are_listed() -> None:
    problem = only("source: {zzz: 1}\n")
    assert problem.suggestion is None
    assert "known are type, path, query" in problem.message


def test_a_second_spelling_of_a_key_is_a_contradiction_and_not_unknown() -> None:
    problem = only("quarantine:\n  write_mode: append\n  mode: append\n")
    assert (problem.code, problem.location.line) == ("LL109", 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("info: 5", "`info` is 5; a mapping is expected."),
        ("info: {title: [a]}", "`info.title` is a list; text is expected."),
        ("info: {title: {a: b}}", "`info.title` is a mapping; text is expected."),
        (
            "model: {fields: [{name: a, required: maybe}]}",
            "`model.fields[0].required` is 'maybe'; true or false is expected.",
        ),
        ("source: {flatten_nested: 7}", "`source.flatten_nested` is 7; true or false or a list is expected."),
        ("info: {contact: 5}", "`info.contact` is 5; text or a mapping is expected."),
        (
            "extraction: {provider: a, batch_size: lots}",
            "`extraction.batch_size` is 'lots'; a whole number is expected.",
        ),
        ("extraction: {provider: a, temperature: hot}", "`extraction.temperature` is 'hot'; a number is expected."),
    ],
)
def test_a_wrong_type_is_told_in_words(text: str, expected: str) -> None:
    problem = only(text)
    assert (problem.code, problem.message) == ("LL103", expected)


def test_a_value_is_shown_as_it_was_written() -> None:
    problem = only("transformations:\n  - date_diff: {field: a, from_col: b, to_col: c, unit: fortnight}\n")
    assert "is 'fortnight';" in problem.message


def test_braces_in_a_message_stand_as_they_were_written() -> None:
    problem = only("quality:\n  row_rules:\n    - regex_match: {field: a, pattern: '(\\d{4}'}\n")
    assert "'(\\\\d{4}'" in problem.message


def test_of_a_union_only_the_member_that_was_meant_complains() -> None:
    problem = only("slo:\n  freshness:\n    silver: {max_delay: 5}\n    gold: {max_delay_minutes: 5}\n", SystemFile)
    assert (problem.code, problem.location.line, problem.suggestion) == ("LL101", 3, "max_delay_minutes")
    assert only("info: {contact: {mail: 5}}").message == "`info.contact.mail` is 5; text is expected."
    assert only("notifications:\n  - {type: slack, tarjet: x}\n", SystemFile).suggestion == "target"
    assert only("notifications: {enabled: true, chanels: []}\n", SystemFile).suggestion == "channels"


def test_slo_are_for_all_layers_or_for_each() -> None:
    assert told("slo:\n  row_count: {min_rows: 1, anomaly: {enabled: true}}\n", DomainFile) == []
    assert told("slo:\n  row_count: {gold: {min_rows: 1, anomaly: {enabled: true}}}\n", DomainFile) == []


def test_a_problem_of_a_short_form_is_told_at_what_was_written() -> None:
    problem = only("quality:\n  row_rules:\n    - not_null:\n        - a\n        - 5\n")
    assert (problem.code, problem.location.line) == ("LL103", 5)


def test_many_problems_of_one_file_are_told_quickly() -> None:
    text = "model:\n  fields:\n" + "".join(f"    - {{nam: a{i}, typ: strin}}\n" for i in range(3000))
    started = time.process_time()
    assert len(told(text)) == 6000
    assert time.process_time() - started < 5


def test_a_section_is_found_by_its_path() -> None:
    assert keys_of(section_at(Contract, ("transformations", 3, "deduplicate")))[:2] == ("on", "by")
    assert section_at(Contract, ("materialization", "scd2", "unknown_member")).__name__ == "UnknownMember"
    assert section_at(SystemFile, ("slo", "freshness", "silver")).__name__ == "SloFreshness"
    assert section_at(Contract, ("metadata", "x")) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stratgy", "strategy"),
        ("Strategy", "strategy"),
        ("row-rules", "row_rules"),
        ("row", None),
        ("max_delay", "max_delay_minutes"),
    ],
)
def test_the_nearest_word_is_suggested_only_if_it_is_near(word: str, meant: str | None) -> None:
    assert nearest(word, ["strategy", "row_rules", "format", "max_delay_minutes"]) == meant


def test_nothing_is_near_to_what_is_no_word() -> None:
    assert nearest(5, ["a"]) is None
    assert nearest("x" * 10_000, ["a"]) is None


@pytest.mark.parametrize("word", ["emial", "emai", "emaill", "emoil", "Emial", "mail"])
def test_one_slip_of_the_hand_is_recognised(word: str) -> None:
    assert slip(word, ["phone", "email"]) == "email"


@pytest.mark.parametrize("word", ["email", "store", "eamli", ""])
def test_more_than_one_slip_is_another_word(word: str) -> None:
    assert slip(word, ["phone", "email"]) is None


def test_a_long_value_is_shown_on_one_short_line() -> None:
    assert shown("a\nb " * 100).count("\n") == 0
    assert len(shown("x" * 1000)) == 60


def test_a_path_is_written_as_people_write_it() -> None:
    assert dotted(("quality", "row_rules", 2, "sql")) == "quality.row_rules[2].sql"


def test_a_problem_is_plain_data_for_programs() -> None:
    problem = Problem("LL101", "A message.", Location(None, 3, 5), ("a", 0), "x", ("y",), "y")
    assert problem.as_dict() == {
        "code": "LL101",
        "severity": "error",
        "file": None,
        "line": 3,
        "column": 5,
        "path": "a[0]",
        "message": "A message.",
        "found": "x",
        "allowed": ["y"],
        "suggestion": "y",
        "advice": "Did you mean `y`?",
    }
