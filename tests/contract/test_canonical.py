from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic_assets.contract.canonical import strict_problems
from lakelogic_assets.contract.reading import read_document, read_text

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = [
    path for path in (ROOT / "contracts").rglob("*.yaml") if path.name[0] != "_" and path.parent.name != "policy_packs"
]

PLAIN = """\
version: 1.0.0
info: {title: Orders}
model: {fields: [{name: id, type: long}]}
"""


def found(text: str) -> list[tuple[int, str]]:
    return [(problem.location.line, problem.message) for problem in strict_problems(read_text(text))]


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem)
def test_the_example_is_canonical(path: Path) -> None:
    assert strict_problems(read_document(path)) == []


def test_every_problem_has_the_code_of_strictness() -> None:
    assert {problem.code for problem in strict_problems(read_text("version: 1.0"))} == {"LL120"}


@pytest.mark.parametrize("version", ["1.0", "'1.0'", "v1.0.0", "1", "'01.0.0'"])
def test_a_version_is_three_numbers(version: str) -> None:
    ((line, message),) = found(PLAIN.replace("version: 1.0.0", f"version: {version}"))
    assert line == 1
    assert "a full version such as 1.0.0 is expected" in message


@pytest.mark.parametrize("version", ["1.0.0", "0.1.0-beta.1", "2.10.3+build.7"])
def test_a_full_version_is_fine(version: str) -> None:
    assert found(PLAIN.replace("version: 1.0.0", f"version: {version}")) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x-anchors: {a: 1}", "`x-anchors` is not a key of a contract."),
        ("upstream_sources: [{type: a, name: b}]", "`upstream_sources` is not a key of a contract."),
        ("server: {format: csv}", "`server` needs `path`."),
        ("source: {path: a}", "`source` needs `type`."),
        ("source: {type: a, retry: {}}", "`retry` is not a key of `source`."),
        ("external_logic: {type: python, path: a.py}", "`external_logic` needs `engine`."),
        ("primary_key: id", "`primary_key` is one name; a list is expected."),
        ("materialization: {primary_key: [id]}", "`primary_key` is not a key of `materialization`."),
        ("quarantine: {mode: append}", "`mode` is not a key of `quarantine`."),
        ("quarantine: {notifications: [{body: a}]}", "`body` is not a key of `quarantine.notifications[0]`."),
        ("service_levels: {freshness_hours: 2}", "`freshness_hours` is not a key of `service_levels`."),
        ("schema_policy: {evolution: all}", "`schema_policy.evolution` is 'all'; the canonical word is 'allow'."),
        ("quality: {row_rules: [{sql: id > 1}]}", "`quality.row_rules[0]` needs `name`: it is a rule in SQL."),
        ("quality: {row_rules: [{not_null: id, on_null: pass}]}", "`on_null` is not a key of `quality.row_rules[0]`."),
        (
            "transformations: [{select: [id]}]",
            "`transformations[0].select` is written short; a mapping with `columns` is expected.",
        ),
        (
            "transformations: [{trim: {fields: id}}]",
            "`transformations[0].trim.fields` is one name; a list is expected.",
        ),
        ("environments: {dev: {path: a, forma: b}}", "`forma` is not a key of `environments.dev`."),
    ],
)
def test_what_only_this_project_reads_is_told_at_its_line(line: str, message: str) -> None:
    assert found(f"{PLAIN}{line}\n") == [(4, message)]


def test_titles_and_types_are_required() -> None:
    assert found("version: 1.0.0\ninfo: {}\nmodel:\n  fields:\n    - name: id\n") == [
        (2, "`info` needs `title`."),
        (5, "`model.fields[0]` needs `type`."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "materialization: {scd2: {anything: at all}, compaction: {auto: true, more: 1}}",
        "quality: {row_rules: [{not_null: id}, {not_null: {fields: id}}], dataset_rules: [{unique: id, name: n}]}",
        "transformations: [{pivot: {pivot_col: a, value_col: b, values: [1]}}, {rollup: {keys: a}}]",
        "metadata: {any: {thing: 1}}",
        "extensions: {com.acme.x: {any: thing}}",
    ],
)
def test_what_the_canonical_schema_leaves_open_is_left_open(line: str) -> None:
    assert found(f"{PLAIN}{line}\n") == []
