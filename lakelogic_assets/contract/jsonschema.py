"""The language as JSON Schema (Draft 2020-12), generated from the models, for editors and other tools.

The models read shorthands by small functions that run before validation. Each of them is listed here with the form it
adds, and one that is not listed is an error: the schema cannot become narrower than the language unnoticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from lakelogic_assets.contract import (
    base,
    document,
    materialization,
    model,
    notifications,
    quality,
    server,
    service_levels,
    transformations,
)
from lakelogic_assets.contract.datatypes import TYPE_NAMES
from lakelogic_assets.contract.policy_packs import PolicyPack
from lakelogic_assets.contract.registry_files import DomainFile, DriverRegistry, SystemFile
from lakelogic_assets.contract.resources import PartitionSet, Resource
from lakelogic_assets.contract.validation import spellings

DIALECT = "https://json-schema.org/draft/2020-12/schema"

KINDS: dict[str, tuple[type[BaseModel], str]] = {
    "contract": (document.Contract, "A data contract"),
    "system": (SystemFile, "A system's registry, _system.yaml"),
    "domain": (DomainFile, "A domain's registry, _domain.yaml"),
    "registry": (DriverRegistry, "A driver's registry, _registry.yaml"),
    "policy-pack": (PolicyPack, "A policy pack, policy_packs/*.yaml"),
    "resource": (Resource, "A place to run, resources/*.yaml"),
    "partitions": (PartitionSet, "A set of time windows, partitions/*.yaml"),
}
_HOLDS_ANCHORS = frozenset({"contract", "system", "domain", "registry"})

_TEXT: JsonSchemaValue = {"type": "string"}
_NUMBER: JsonSchemaValue = {"type": "number"}
_TEXTS: JsonSchemaValue = {"type": "array", "items": {"type": "string"}}

Form = Callable[[JsonSchemaValue], list[JsonSchemaValue]]


def json_schema(kind: str = "contract") -> dict[str, Any]:
    """The schema of one kind of file."""
    section, title = KINDS[kind]
    schema = section_schema(section)
    result = {"$schema": DIALECT, "title": title, **{key: value for key, value in schema.items() if key != "title"}}
    if kind in _HOLDS_ANCHORS:
        result["patternProperties"] = {"^x-": {"description": "A home for YAML anchors; nothing reads it."}}
    return result


def section_schema(section: type[BaseModel]) -> dict[str, Any]:
    """The schema of any part of the language."""
    schema = section.model_json_schema(by_alias=True, schema_generator=_EditorSchema)
    # A section that may hold itself is only a reference to its own definition.
    return (
        schema["$defs"][schema["$ref"].rsplit("/", 1)[1]] | {"$defs": schema["$defs"]} if "$ref" in schema else schema
    )


class _EditorSchema(GenerateJsonSchema):
    """Pydantic's generator, with every spelling of a key and every shorthand of a value."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        return _any_of(_forms_read_by(schema["function"]["function"])(inner))

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        if schema["function"]["function"] is model._check_type:
            # Completion for the plain names; `decimal(18,2)` and nested types are told apart by the loader.
            return {"anyOf": [{"enum": [name for name in TYPE_NAMES if name.isidentifier()]}, inner]}
        return inner

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        section: type[BaseModel] = schema["cls"]
        result = super().model_schema(schema)
        result.pop("title", None)
        _spell_out(section, result)
        if section is document.Contract:
            # Keys of other vendors are free; ours are completed and checked.
            result["properties"]["extensions"]["properties"] = section_schema(document.OwnExtensions)["properties"]
        exactly_one = _EXACTLY_ONE.get(section)
        if exactly_one:
            result["oneOf"] = [{"required": [name]} for name in exactly_one]
        return result

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """A title that repeats the key says nothing."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Only single values are worth telling: an absent section has the defaults of its own keys."""
        result = super().default_schema(schema)
        if not isinstance(result.get("default"), str | int | float):
            result.pop("default", None)
        return result


def _spell_out(section: type[BaseModel], schema: JsonSchemaValue) -> None:
    """Give every spelling of a key the same meaning; a required key may be there in any of them."""
    required: list[str] = schema.get("required", [])
    for info in section.model_fields.values():
        if not isinstance(info.validation_alias, AliasChoices):
            continue
        first, *others = spellings(info, "")
        for other in others:
            schema["properties"][other] = schema["properties"][first]
        if first in required and others:
            required.remove(first)
            schema.setdefault("allOf", []).append({"anyOf": [{"required": [name]} for name in (first, *others)]})
    if not required:
        schema.pop("required", None)


_EXACTLY_ONE: dict[type[BaseModel], tuple[str, ...]] = {
    transformations.Transformation: transformations.OPERATIONS,
    quality.RowRule: ("sql", *quality.ROW_SHORTHANDS),
    quality.DatasetRule: ("sql", "unique", "null_ratio", "row_count_between"),
}


def _or(*others: JsonSchemaValue) -> Form:
    return lambda inner: [*others, inner]


def _or_words(words: Iterable[str]) -> Form:
    return _or({"enum": sorted(words)})


def _one_or_more(inner: JsonSchemaValue) -> list[JsonSchemaValue]:
    """`not_null` takes a column, a payload, or a list of both."""
    items = next(each["items"] for each in inner["anyOf"] if "items" in each)
    return [_TEXT, items, {"type": "array", "items": {"anyOf": [_TEXT, items]}}, {"type": "null"}]


_FORMS: dict[Callable[..., Any], Form] = {
    base._as_list: _or(_TEXT),
    document._version_text: _or(_NUMBER),
    materialization._short_fact: _or_words(("periodic_snapshot", "accumulating_snapshot")),
    notifications._usual_name: _or_words(notifications._EVENT_ALIASES),
    quality._payload_of_not_null: _one_or_more,
    quality._payload_of_unique: _or(_TEXT, _TEXTS),
    quality._values_by_column: _or({"type": "object", "additionalProperties": {"type": "array"}}),
    server._all_is_allow: _or_words(("all",)),
    service_levels._freshness: _or(_TEXT, _NUMBER),
    service_levels._objective: _or(_TEXT, _NUMBER),
    transformations._lists_are_a_mapping: _or(
        {"type": "object", "properties": {"from": _TEXTS, "to": _TEXTS}, "required": ["from", "to"]}
    ),
    transformations._plural: _or_words("second minute hour day week month quarter year".split()),
}


def _forms_read_by(function: Callable[..., Any]) -> Form:
    if function in _FORMS:
        return _FORMS[function]
    if function.__qualname__.startswith("_named."):  # a step that may be written as its one text or list
        return _or(_TEXT) if inspect.getclosurevars(function).nonlocals["key"] == "sql" else _or(_TEXT, _TEXTS)
    if function.__qualname__ == "ReferentialIntegrity._column_of_the_other_contract":
        return _or()  # `column` is one of the spellings of `field` already
    raise NotImplementedError(f"say in {__name__} which form {function.__qualname__} adds to the language")


def _any_of(choices: list[JsonSchemaValue]) -> JsonSchemaValue:
    """A choice of choices is one choice."""
    flat = [each for choice in choices for each in (choice["anyOf"] if set(choice) == {"anyOf"} else [choice])]
    unique = [each for index, each in enumerate(flat) if each not in flat[:index]]
    return unique[0] if len(unique) == 1 else {"anyOf": unique}
