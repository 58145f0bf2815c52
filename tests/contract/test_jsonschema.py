"""The schema for editors accepts what the loader accepts, and is closed where the loader is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lakelogic_assets.contract.codes import CODES
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.jsonschema import KINDS, json_schema
from lakelogic_assets.contract.reading import read_document, read_text
from lakelogic_assets.contract.validation import validated

ROOT = Path(__file__).resolve().parents[2]
SILENT = {"$defs", "$schema", "default", "description", "examples", "title", "x-lenient"}
TYPES: dict[str, Any] = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}


class Checker:
    """As much of JSON Schema as the generator uses; a keyword it does not know is a failure of this test."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.root = schema

    def faults(self, schema: Any, value: Any, at: str = "$") -> Iterator[str]:
        if schema is True or schema == {}:
            return
        for keyword, wanted in schema.items():
            if keyword not in SILENT:
                yield from getattr(self, f"_{keyword.removeprefix('$')}")(wanted, value, at, schema)

    def fits(self, schema: Any, value: Any) -> bool:
        return next(self.faults(schema, value), None) is None

    def _ref(self, wanted: str, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self.faults(self.root["$defs"][wanted.rsplit("/", 1)[1]], value, at)

    def _type(self, wanted: str, value: Any, at: str, _: Any) -> Iterator[str]:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        right = number and (wanted == "number" or isinstance(value, int)) if wanted in ("number", "integer") else None
        if not (isinstance(value, TYPES[wanted]) if right is None else right):
            yield f"{at} is no {wanted}"

    def _enum(self, wanted: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:
        if value not in wanted:
            yield f"{at} is {value!r}"

    def _const(self, wanted: Any, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._enum([wanted], value, at, _)

    def _any(self, wanted: list[Any], value: Any, at: str, *, exactly: bool) -> Iterator[str]:
        count = sum(self.fits(each, value) for each in wanted)
        if count == 0 or (exactly and count > 1):
            yield f"{at} fits {count} of {len(wanted)} forms"

    def _anyOf(self, wanted: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._any(wanted, value, at, exactly=False)

    def _oneOf(self, wanted: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._any(wanted, value, at, exactly=True)

    def _allOf(self, wanted: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for each in wanted:
            yield from self.faults(each, value, at)

    def _required(self, wanted: list[str], value: Any, at: str, _: Any) -> Iterator[str]:
        yield from (f"{at} needs {key}" for key in wanted if isinstance(value, dict) and key not in value)

    def _properties(self, wanted: dict[str, Any], value: Any, at: str, _: Any) -> Iterator[str]:
        for key in wanted.keys() & value.keys() if isinstance(value, dict) else ():
            yield from self.faults(wanted[key], value[key], f"{at}.{key}")

    def _patternProperties(self, wanted: dict[str, Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for pattern, schema in wanted.items():
            for key in value if isinstance(value, dict) else ():
                if re.search(pattern, key):
                    yield from self.faults(schema, value[key], f"{at}.{key}")

    def _additionalProperties(self, wanted: Any, value: Any, at: str, schema: Any) -> Iterator[str]:  # noqa: N802
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for key in value if isinstance(value, dict) else ():
            if key not in known and not any(re.search(pattern, key) for pattern in patterns):
                yield from (
                    [f"{at} may not have {key}"] if wanted is False else self.faults(wanted, value[key], f"{at}.{key}")
                )

    def _propertyNames(self, wanted: Any, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for key in value if isinstance(value, dict) else ():
            yield from self.faults(wanted, key, f"{at}.{key}")

    def _items(self, wanted: Any, value: Any, at: str, _: Any) -> Iterator[str]:
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from self.faults(wanted, item, f"{at}[{index}]")

    def _prefixItems(self, wanted: list[Any], value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        for index, (schema, item) in enumerate(zip(wanted, value if isinstance(value, list) else (), strict=False)):
            yield from self.faults(schema, item, f"{at}[{index}]")

    def _limit(self, holds: bool, at: str) -> Iterator[str]:
        if not holds:
            yield f"{at} is out of bounds"

    def _minItems(self, wanted: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._limit(not isinstance(value, list) or len(value) >= wanted, at)

    def _maxItems(self, wanted: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._limit(not isinstance(value, list) or len(value) <= wanted, at)

    def _minLength(self, wanted: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._limit(not isinstance(value, str) or len(value) >= wanted, at)

    def _minProperties(self, wanted: int, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._limit(not isinstance(value, dict) or len(value) >= wanted, at)

    def _pattern(self, wanted: str, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._limit(not isinstance(value, str) or re.search(wanted, value) is not None, at)

    def _minimum(self, wanted: float, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._limit(not isinstance(value, int | float) or value >= wanted, at)

    def _maximum(self, wanted: float, value: Any, at: str, _: Any) -> Iterator[str]:
        yield from self._limit(not isinstance(value, int | float) or value <= wanted, at)

    def _exclusiveMinimum(self, wanted: float, value: Any, at: str, _: Any) -> Iterator[str]:  # noqa: N802
        yield from self._limit(not isinstance(value, int | float) or value > wanted, at)


@cache
def checker(kind: str) -> Checker:
    return Checker(json_schema(kind))


def faults(kind: str, value: Any) -> list[str]:
    return list(checker(kind).faults(checker(kind).root, value))


def kind_of(path: Path) -> str:
    names = {"_system.yaml": "system", "_domain.yaml": "domain", "_registry.yaml": "registry"}
    folders = {"policy_packs": "policy-pack", "resources": "resource", "partitions": "partitions"}
    return names.get(path.name) or folders.get(path.parent.name, "contract")


SHIPPED = sorted(
    path for folder in ("contracts", "resources", "partitions") for path in (ROOT / folder).rglob("*.yaml")
)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_example_fits_its_schema(path: Path) -> None:
    assert faults(kind_of(path), read_document(path).data) == []


GOOD = [
    "version: 1.0",
    "primary_key: id",
    "x-anchors: {any: thing}",
    "model: {fields: [{name: a}, {name: b, type: 'decimal(18,2)'}]}",
    "transformations: [{select: [a, b]}, {drop: a}, {filter: a > 1}, {lower: a}]",
    "transformations: [{deduplicate: {by: [a]}}, {deduplicate: {on: a}}, {rename: {from: a, to: b}}]",
    "transformations: [{date_diff: {field: a, from_col: b, to_col: c, unit: day}}]",
    "transformations: [{pivot: {pivot_col: a, value_col: b, pivot_values: [1]}}]",
    "quality: {row_rules: [{not_null: a}, {not_null: [a, {field: b}]}, {not_null: {fields: [a]}}]}",
    "quality: {row_rules: [{range: {column: a, min: 1}}, {sql: a > 1}]}",
    "quality: {dataset_rules: [{unique: a}, {unique: [a, b]}, {unique: {columns: [a]}, name: n}]}",
    "quality: {dataset_rules: [{null_ratio: {field: a, threshold: 0.1}}]}",
    "service_levels: {freshness: 6h, availability: 99.5}",
    "materialization: {scd2: {start_date_field: a, hash_columns: [b]}, fact: {type: periodic_snapshot}}",
    "schema_policy: {evolution: all}",
    "quarantine: {mode: append, notifications: [{channel: x, on_events: [failed]}]}",
    "extensions: {com.acme.retention: [1], com.lakelogic.timeout: 30m, com.lakelogic.upstream_freshness: {a: 1d}}",
]
BAD = [
    "modell: {}",
    "model: {fields: [{name: a, typ: int}]}",
    "model: {fields: [{type: int}]}",
    "transformations: [{select: [a], drop: [b]}]",
    "transformations: [{filter: [a, b]}]",
    "transformations: [{phase: late, drop: [a]}]",
    "quality: {row_rules: [{name: nothing}]}",
    "quality: {row_rules: [{regex_match: {field: a}}]}",
    "materialization: {strategy: merg}",
    "quality: {enforce_required: maybe}",
    "service_levels: {row_count: {min_rows: -1}}",
]


@pytest.mark.parametrize("text", GOOD)
def test_every_form_that_loads_fits_the_schema(text: str) -> None:
    data = read_text(text).data
    assert (
        validated(Contract, {key: value for key, value in data.items() if not key.startswith("x-")}, lambda _: None)[1]
        == []
    )  # type: ignore[arg-type, return-value]
    assert faults("contract", data) == []


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_load_does_not_fit_the_schema(text: str) -> None:
    document = read_text(text)
    contract, problems = validated(Contract, document.data, document.locate)
    assert contract is None
    assert {problem.code for problem in problems} <= CODES.keys()
    assert faults("contract", document.data) != []


@pytest.mark.parametrize("setting", ["automation: maybe", "sample: many", "upstream_freshness: 1d", "timeout: 30"])
def test_editors_check_the_settings_of_this_project(setting: str) -> None:
    assert faults("contract", read_text(f"extensions:\n  com.lakelogic.{setting}\n").data) != []


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_say_which_draft_they_are(kind: str) -> None:
    assert json_schema(kind)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json_schema(kind)["additionalProperties"] is False
