"""Data + model → a section, or the problems that a person can act on."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from lakelogic_assets.contract.codes import CODES
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, dotted, listed, nearest, shown

S = TypeVar("S", bound=BaseModel)
Locate = Callable[[YamlPath], Location]

_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "mapping": "a mapping",
}
_QUOTED = re.compile(r"'([^']*)'")
_RANGE_ERRORS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"}
_EMPTY_ERRORS = {"too_short", "string_too_short"}


def validated(model: type[S], data: Mapping[str, Any], locate: Locate) -> tuple[S | None, list[Problem]]:
    """The section, or every problem that keeps it from being one."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, _problems(model, data, error, locate)


def _problems(model: type[BaseModel], data: Any, error: ValidationError, locate: Locate) -> list[Problem]:
    found: dict[YamlPath, list[Any]] = {}
    for detail in error.errors(include_url=False, include_context=True, include_input=True):
        path = yaml_path(data, detail["loc"], keep_last=detail["type"] == "missing")
        found.setdefault(path, []).append(detail)
    # Of the members of a union, the one that was meant looked further into the value.
    inner = {path[:length] for path in found for length in range(len(path))}
    kept = {path: details for path, details in found.items() if path not in inner or len(found) == 1}
    problems = [_problem(model, data, path, details, locate) for path, details in kept.items()]
    misspelt = {
        _field_at(model, (*each.path[:-1], each.suggestion))
        for each in problems
        if each.suggestion and each.code == "LL101"
    }
    return [each for each in problems if each.code != "LL102" or _field_at(model, each.path) not in misspelt]


def _field_at(model: type[BaseModel], path: YamlPath) -> YamlPath:
    """The path with its last key in the canonical spelling: a misspelt key is not missing as well."""
    section = section_at(model, path[:-1])
    fields = section.model_fields.items() if section else ()
    return (*path[:-1], *(name for name, info in fields if path[-1] in spellings(info, name))) if path else path


def yaml_path(data: Any, loc: Iterable[Any], *, keep_last: bool = False) -> YamlPath:
    """Pydantic's location without its own words, such as the members of a union."""
    path: list[str | int] = []
    parts = list(loc)
    for index, part in enumerate(parts):
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, dict) and part in data):
            data = data[part]
        elif not (keep_last and index == len(parts) - 1):
            continue
        path.append(part)
    return tuple(path)


def _problem(model: type[BaseModel], data: Any, path: YamlPath, details: list[Any], locate: Locate) -> Problem:
    # A union reports one error for each of its members: the most telling one stands for all.
    detail = max(details, key=_telling)
    kind, context, value = detail["type"], detail.get("ctx") or {}, _as_written(data, path, detail["input"])
    where = locate(path)
    if kind in CODES:
        allowed = tuple(str(item) for item in context.get("allowed", ()))
        return Problem(kind, detail["msg"], where, path, _scalar(value), allowed, nearest(value, allowed))
    if kind == "extra_forbidden":
        return unknown_key(model, path, where)
    if kind == "missing":
        if misspelt := _misspelt(model, data, path):
            return unknown_key(model, misspelt, locate(misspelt))
        return Problem("LL102", f"`{dotted(path)}` is missing.", where, path)
    if kind == "literal_error":
        allowed = tuple(_QUOTED.findall(context["expected"]))
        message = f"`{dotted(path)}` is {shown(value)}; allowed are {listed(allowed)}."
        return Problem("LL104", message, where, path, _scalar(value), allowed, nearest(value, allowed))
    if kind in _RANGE_ERRORS:
        return Problem(
            "LL105", f"`{dotted(path)}` is {shown(value)}: {_lower(detail['msg'])}.", where, path, _scalar(value)
        )
    if kind in _EMPTY_ERRORS:
        return Problem("LL102", f"`{dotted(path)}` is empty.", where, path, _scalar(value))
    if kind.endswith("pattern_mismatch"):
        return Problem(
            "LL104", f"`{dotted(path)}` is {shown(value)}, which does not have the expected form.", where, path, value
        )
    return _wrong_type(path, [each["type"] for each in details], value, where)


def _misspelt(model: type[BaseModel], data: Any, path: YamlPath) -> YamlPath | None:
    """The key that was meant to be the missing one, where a section lets any key stand."""
    section, there = section_at(model, path[:-1]), _as_written(data, path[:-1], None)
    if section is None or section.model_config.get("extra") != "allow" or not isinstance(there, dict):
        return None
    known = keys_of(section)
    meant = nearest(path[-1], [str(key) for key in there if key not in known])
    return (*path[:-1], meant) if meant else None


def _as_written(data: Any, path: YamlPath, otherwise: Any) -> Any:
    """The value in the file, before a shorter form of it was spelled out."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return otherwise
    return data


def _telling(detail: Any) -> int:
    """A number out of range was a number, which tells more than that it is not one of some words."""
    kind = detail["type"]
    if kind in CODES:
        return 4
    return 3 if kind in _RANGE_ERRORS else 2 if kind in ("literal_error", "extra_forbidden", "missing") else 1


def _wrong_type(path: YamlPath, kinds: list[str], value: Any, where: Location) -> Problem:
    expected = dict.fromkeys(_EXPECTED.get(kind.split("_", 1)[0], "another kind of value") for kind in kinds)
    name = dotted(path) or "the contract"
    message = f"`{name}` is {_described(value)}; {' or '.join(expected)} is expected."
    return Problem("LL103", message, where, path, _scalar(value), tuple(expected))


def _described(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return shown(value)


def unknown_key(model: type[BaseModel], path: YamlPath, where: Location) -> Problem:
    """The last part of a path is not a key of the section before it."""
    key = str(path[-1])
    section = section_at(model, path[:-1])
    allowed = keys_of(section) if section else ()
    place = f"`{dotted(path[:-1])}`" if path[:-1] else "a contract" if model.__name__ == "Contract" else "this file"
    if key in allowed:
        return Problem("LL109", f"`{key}` says again what another key of {place} says.", where, path, key)
    suggestion = nearest(key, allowed)
    known = "" if suggestion else f"; known are {listed(allowed)}" if allowed else ""
    return Problem("LL101", f"`{key}` is not a key of {place}{known}.", where, path, key, allowed, suggestion)


@cache
def keys_of(section: type[BaseModel]) -> tuple[str, ...]:
    """Every spelling of every key of a section, the canonical one first."""
    keys: dict[str, None] = {}
    for name, info in section.model_fields.items():
        keys.update(dict.fromkeys(spellings(info, name)))
    return tuple(keys)


def spellings(info: FieldInfo, name: str) -> list[str]:
    """How a field is written in YAML, the canonical spelling first."""
    alias = info.validation_alias or info.alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [str(alias or name)]


def section_at(model: type[BaseModel], path: YamlPath) -> type[BaseModel] | None:
    """The section that stands at a path of the language."""
    annotation: Any = model
    for part in path:
        annotation = _step(annotation, part)
    return next(iter(_sections_of(annotation)), None)


def _step(annotation: Any, part: str | int) -> Any:
    if isinstance(part, int):
        return next(
            (typing.get_args(each)[0] for each in _parts_of(annotation) if typing.get_origin(each) is tuple), None
        )
    for section in _sections_of(annotation):
        for name, info in section.model_fields.items():
            if part in spellings(info, name):
                return info.annotation
    return next((typing.get_args(each)[1] for each in _parts_of(annotation) if typing.get_origin(each) is dict), None)


def _parts_of(annotation: Any) -> list[Any]:
    """An annotation with all that it is made of."""
    return [annotation, *(part for argument in typing.get_args(annotation) for part in _parts_of(argument))]


def _sections_of(annotation: Any) -> list[type[BaseModel]]:
    """The sections a value may be; those inside a list only where a short form of the list is allowed."""
    return _models_in(annotation, skipped=(tuple, dict)) or _models_in(annotation)


def _models_in(annotation: Any, skipped: tuple[type, ...] = ()) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    if typing.get_origin(annotation) in skipped:
        return []
    return [model for argument in typing.get_args(annotation) for model in _models_in(argument, skipped)]


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
