"""`lakelogic validate --strict`: is a file, as it was written, in the canonical contract language (OLC)?

The runtime reads more than the canonical schema allows, because public contracts say more. This looks at a file before
anything is laid under it, and names each place where another reader of the language would stop.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from lakelogic_assets.contract import transformations as ops
from lakelogic_assets.contract.base import LENIENT
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.external_logic import ExternalLogic
from lakelogic_assets.contract.info import Info
from lakelogic_assets.contract.materialization import Compaction, Materialization, Scd1, Scd2, UnknownMember
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.contract.notifications import Notification
from lakelogic_assets.contract.problems import Problem, YamlPath, dotted, listed, shown
from lakelogic_assets.contract.quality import DatasetRule, Quality, RowRule, SqlRule
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.reading import Document
from lakelogic_assets.contract.server import SchemaPolicy, Server
from lakelogic_assets.contract.service_levels import ServiceLevels
from lakelogic_assets.contract.source import Source
from lakelogic_assets.contract.validation import spellings

Finding = tuple[str, YamlPath]

_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\Z")

_REQUIRED: dict[type[BaseModel], tuple[str, ...]] = {
    Contract: ("version", "info", "model"),
    ExternalLogic: ("engine",),
    FieldDefinition: ("type",),
    Info: ("title",),
    Server: ("path",),
    Source: ("type",),
    SqlRule: ("name",),
}
_ADDED: dict[type[BaseModel], frozenset[str]] = {
    Contract: frozenset({"upstream_sources"}),
    DatasetRule: frozenset({"on_null"}),
    FieldDefinition: frozenset({"range", "tags"}),
    Materialization: frozenset(
        {"deletion", "scd1", "secondary_targets", "dlt_destination", "dlt_credentials", "dlt_dataset_name"}
    ),
    Notification: frozenset({"subject", "message", "body", "enabled"}),
    Quality: frozenset({"enforce_field_hints"}),
    Quarantine: frozenset({"mode"}),
    RowRule: frozenset({"on_null"}),
    SchemaPolicy: frozenset({"on_schema_violation"}),
    ServiceLevels: frozenset({"completeness"}),
    SqlRule: frozenset({"on_null"}),
    ops.Transformation: frozenset({"name", "description"}),
}
"""Keys and spellings that this project reads and the canonical schema does not have, beside those marked LENIENT."""

_ONE_OR_MORE = frozenset({"keys", "pivot_col", "value_col"})
_OPEN: tuple[type[BaseModel], ...] = (Scd1, Scd2, UnknownMember, Compaction)
_SHORTHANDS: tuple[type[BaseModel], ...] = (RowRule, DatasetRule)
"""The payload of a rule is free in the canonical schema, so it is not looked into."""


def strict_problems(document: Document) -> list[Problem]:
    """Every place where a contract's file is not canonical."""
    found = [*_version(document.data), *_of_section(Contract, document.data, ())]
    return [Problem("LL120", message, document.locate(path), path) for message, path in found]


def _version(data: dict[str, Any]) -> Iterator[Finding]:
    version = data.get("version")
    if version is not None and not (isinstance(version, str) and _SEMVER.match(version)):
        yield f"`version` is {shown(version)}; a full version such as 1.0.0 is expected.", ("version",)


def _of_section(section: type[BaseModel], data: dict[str, Any], path: YamlPath) -> Iterator[Finding]:
    if section in _OPEN:
        return
    place = f"`{dotted(path)}`" if path else "a contract"
    for key in _REQUIRED.get(section, ()):
        if data.get(key) is None:
            yield f"{place} needs `{key}`.", path
    if section in _SHORTHANDS and data.get("sql") is not None and not data.get("name"):
        yield f"{place} needs `name`: it is a rule in SQL.", path
    fields = {word: info for name, info in section.model_fields.items() for word in spellings(info, name)}
    for key, value in data.items():
        info = fields.get(key)
        at = (*path, key)
        if info is None or is_beyond(section, key):
            yield f"`{key}` is not a key of {place}.", at
        elif section not in _SHORTHANDS and key not in _ONE_OR_MORE:
            yield from _of_value(info.annotation, value, at)


def is_beyond(section: type[BaseModel], key: str) -> bool:
    """Whether the canonical schema lacks a key that this project reads."""
    fields = {word: info for name, info in section.model_fields.items() for word in spellings(info, name)}
    return fields[key].json_schema_extra == LENIENT or key in _ADDED.get(section, ())


def _of_value(annotation: Any, value: Any, path: YamlPath) -> Iterator[Finding]:
    section, is_list = _section_of(annotation), _is_list(annotation)
    if isinstance(value, dict):
        yield from (
            _of_section(section, value, path) if section else _of_entries(_value_section(annotation), value, path)
        )
    elif is_list and isinstance(value, str):
        yield f"`{dotted(path)}` is one name; a list is expected.", path
    elif is_list and isinstance(value, list):
        yield from _of_entries(section, dict(enumerate(value)), path)
    elif section is not None and section.__module__ == ops.__name__ and value is not None:
        keys = listed(f"`{key}`" for key in section.model_fields)
        yield f"`{dotted(path)}` is written short; a mapping with {keys} is expected.", path
    elif value == "all" and path[-1] == "evolution":
        yield f"`{dotted(path)}` is 'all'; the canonical word is 'allow'.", path


def _of_entries(section: type[BaseModel] | None, entries: Mapping[Any, Any], path: YamlPath) -> Iterator[Finding]:
    for key, item in entries.items():
        if section is not None and isinstance(item, dict):
            yield from _of_section(section, item, (*path, key))


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """The section in `X`, `X | None` and `tuple[X, ...]`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    if typing.get_origin(annotation) is dict:
        return None
    return next((found for each in typing.get_args(annotation) if (found := _section_of(each))), None)


def _value_section(annotation: Any) -> type[BaseModel] | None:
    """The section in `dict[str, X]`."""
    if typing.get_origin(annotation) is dict:
        return _section_of(typing.get_args(annotation)[1])
    return next((found for each in typing.get_args(annotation) if (found := _value_section(each))), None)


def _is_list(annotation: Any) -> bool:
    if typing.get_origin(annotation) is tuple:
        return True
    if typing.get_origin(annotation) in (types.UnionType, typing.Union, typing.Annotated):
        members = typing.get_args(annotation)
        return not any(member is str for member in members) and any(map(_is_list, members))
    return False
