"""Contracts changed at random: the answer is always a report or a valid contract, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakelogic_assets.contract.codes import CODES
from lakelogic_assets.contract.column_lineage import resolved_column_lineage
from lakelogic_assets.contract.columns import created_in
from lakelogic_assets.contract.loading import load_paths, load_project
from lakelogic_assets.contract.objectives import freshness_objective, volume_objective
from lakelogic_assets.contract.reading import read_document, read_text
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.rules import dataset_rules, row_rules
from lakelogic_assets.contract.settings import settings_of
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

CASES = Path(__file__).parents[1] / "cases" / "contracts"
ALONE = sorted([*CASES.glob("valid/*/contract.yaml"), *CASES.glob("snippets/*/contract.yaml")])
TREES = sorted({path.parent.parent.parent for path in CASES.glob("valid/*/*/*/_system.yaml")})
CONTRACTS = [yaml.safe_load(path.read_text().replace(" on:", " 'on':")) for path in ALONE]

thorough = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

GARBAGE: list[Any] = [
    None, True, False, 0, -1, 3, 10**18, 1.5, -0.0, 1e308, float("inf"), "", " ", "x", "x" * 3000, "\x00", "é\u2028", "'",
    "{x}", "{domain}", "${X}", "${X:-${Y}}", "${" * 20, "{{secrets/a/b}}", "*", "SELECT", "SELECT * FROM source", "a; b",
    "reflect(1)", "1 +", "(" * 40, "table:a.b.c", "table:", "...", "/", "../..", "a\x00b", "2026-02-31", "P1D", "[", "^(a+)+$",
    "struct<a:int>", "array<", "merge", "scd2", "post", "on", "yes", [], {}, [[]], [None], [{}], {"a": {}}, {"": ""},
    [1, "a", None, {"b": [2]}], {"name": "x", "sql": "y"}, {"path": ["a"]}, {"fields": {"a": 1}}, [["a"] * 3] * 3,
]  # fmt: skip
KEYS = [
    "name",
    "sql",
    "path",
    "type",
    "fields",
    "on",
    "<<",
    "",
    "~",
    "x-a",
    "null",
    "rules",
    "sqll",
    "é",
    "k" * 300,
    "a.b",
    "not_null",
]


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a document."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def copied(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: copied(value) for key, value in data.items()}
    return [copied(value) for value in data] if isinstance(data, list) else data


def holder(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data


def drop(home: Any, key: Any, _draw: Callable[..., Any]) -> None:
    del home[key]


def swap(home: Any, key: Any, draw: Callable[..., Any]) -> None:
    home[key] = copied(draw(st.sampled_from(GARBAGE)))


def nest(home: Any, key: Any, draw: Callable[..., Any]) -> None:
    home[key] = [home[key]] if draw(st.booleans()) else {draw(st.sampled_from(KEYS)): home[key]}


def rename(home: Any, key: Any, draw: Callable[..., Any]) -> None:
    if not isinstance(home, dict):
        return
    new = draw(st.sampled_from(KEYS)) if draw(st.booleans()) else str(key)[:-1]
    home[new] = home.pop(key)


def repeat(home: Any, key: Any, draw: Callable[..., Any]) -> None:
    if isinstance(home, list):
        home.insert(draw(st.integers(0, len(home))), copied(home[key]))
    else:
        home[draw(st.sampled_from(KEYS))] = copied(home[key])


def insert(home: Any, _key: Any, draw: Callable[..., Any]) -> None:
    value = copied(draw(st.sampled_from(GARBAGE)))
    if isinstance(home, list):
        home.insert(draw(st.integers(0, len(home))), value)
    else:
        home[draw(st.sampled_from(KEYS))] = value


MUTATIONS = [drop, swap, nest, rename, repeat, insert]


@st.composite
def mutated(draw: Callable[..., Any], documents: list[Any]) -> Any:
    """A document with one to four changes."""
    data = copied(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        inside = list(places(data))
        if not inside:
            break
        path = draw(st.sampled_from(inside))
        draw(st.sampled_from(MUTATIONS))(holder(data, path), path[-1], draw)
    return data


@st.composite
def scribbled(draw: Callable[..., Any], texts: list[str]) -> str:
    """A text with lines dropped, doubled, shifted, or with something written over them."""
    lines = draw(st.sampled_from(texts)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(lines) - 1))
        line = lines[index]
        cut = draw(st.integers(0, len(line)))
        scrap = draw(
            st.sampled_from(
                ["", "  ", "\t", "'", '"', "- ", ": ", "{", "]", "&a ", "*a ", "!!x ", "#", "|", "%", "\x07", "é"]
            )
        )
        lines[index] = draw(
            st.sampled_from([line[:cut] + scrap + line[cut:], line[:cut], scrap + line, f"{line}\n{line}", ""])
        )
    return "\n".join(lines)


def check(registry: Registry) -> None:
    """What holds for every answer, whatever was asked."""
    for problem in registry.problems:
        assert problem.code in CODES
        assert problem.location.line >= 1
        assert problem.location.column >= 1
        assert str(problem)
        json.dumps(problem.as_dict(), allow_nan=True)
    if registry.errors:
        return
    for contract in registry:
        assert contract.table
        assert all(rule.name for rule in (*row_rules(contract), *dataset_rules(contract)))
        assert created_in(contract, "pre") is not None
        assert settings_of(contract).sample_rows >= 0
        assert all(resolved_column_lineage(contract, registry).values())
        freshness, volume = freshness_objective(contract), volume_objective(contract)
        assert freshness is None or freshness.seconds > 0
        assert volume is None or volume.skip_reprocess_days >= 0
    assert len(registry.graph.nodes) == len(registry)


def answer(folder: Path, text: str) -> Registry:
    path = folder / "contract.yaml"
    path.write_text(text)
    registry = load_paths([path], Project(folder), {})
    assert registry.errors or len(registry) == 1
    assert all(problem.location.line <= len(text.splitlines()) + 1 for problem in registry.problems)
    return registry


def dumped(data: Any) -> str:
    return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


@settings(thorough, max_examples=1300)
@given(data=mutated(CONTRACTS))
def test_a_contract_with_changed_values_is_reported_or_valid(data: Any, tmp_path: Path) -> None:
    check(answer(tmp_path, dumped(data)))


@settings(thorough, max_examples=700)
@given(text=scribbled([path.read_text() for path in ALONE]))
def test_a_contract_with_changed_text_is_reported_or_valid(text: str, tmp_path: Path) -> None:
    check(answer(tmp_path, text))


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_a_registry_with_changed_values_is_reported_or_valid(tree: Path, tmp_path: Path) -> None:
    files = {path.relative_to(tree): path.read_text() for path in tree.rglob("*.yaml") if path.name != "expected.yaml"}
    registries = [name for name in files if name.name.startswith("_")]

    @settings(thorough, max_examples=60)
    @given(name=st.sampled_from(registries), draw=st.data())
    def changed(name: Path, draw: st.DataObject) -> None:
        for each, text in files.items():
            path = tmp_path / each
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if each != name else dumped(draw.draw(mutated([yaml.safe_load(text)]))))
        check(load_project(Project(tmp_path), {}))

    changed()


@settings(thorough, max_examples=400)
@given(text=st.text())
def test_any_text_is_a_mapping_or_a_report(text: str) -> None:
    try:
        assert isinstance(read_text(text).data, dict)
    except ContractError as error:
        assert error.problems


@settings(thorough, max_examples=400)
@given(raw=st.binary(max_size=400))
def test_any_bytes_are_a_mapping_or_a_report(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_bytes(raw)
    try:
        assert isinstance(read_document(path).data, dict)
    except ContractError as error:
        assert error.problems
