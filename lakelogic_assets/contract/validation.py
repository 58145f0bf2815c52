"""Data + model → a section, or the problems that a person can act on."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
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
    return [_problem(model, path, details, locate) for path, details in found.items()]


def yaml_path(data: Any, loc: Iterable[Any], *, keep_last: bool = False) -> YamlPath:
    """Pydantic's location without its own words, such as the members of a union."""
    path: list[str | int] = []
    parts = list(loc)
    for index, part in enumerate(parts):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        elif not (keep_last and index == len(parts) - 1):
            continue
        path.append(part)
    return tuple(path)


def _problem(model: type[BaseModel], path: YamlPath, details: list[Any], locate: Locate) -> Problem:
    # A union reports one error for each of its members: the most telling one stands for all.
    detail = max(details, key=_telling)
    kind, context, value = detail["type"], detail.get("ctx") or {}, detail["input"]
    where = locate(path)
    if kind in CODES:
        allowed = tuple(str(item) for item in context.get("allowed", ()))
        return Problem(kind, detail["msg"], where, path, _scalar(value), allowed, nearest(value, allowed))
    if kind == "extra_forbidden":
        return _unknown_key(model, path, where)
    if kind == "missing":
        return Problem("LL102", f"`{dotted(path)}` is missing.", where, path)
    if kind == "literal_error":
        allowed = tuple(_QUOTED.findall(context["expected"]))
        message = f"`{dotted(path)}` is {shown(value)}; allowed are {listed(allowed)}."
        return Problem("LL104", message, where, path, _scalar(value), allowed, nearest(value, allowed))
    if kind in _RANGE_ERRORS:
        return Problem("LL105", f"`{dotted(path)}` is {shown(value)}: {_lower(detail['msg'])}.", where, path, _scalar(value))
    if kind in _EMPTY_ERRORS:
        return Problem("LL102", f"`{dotted(path)}` is empty.", where, path, _scalar(value))
    if kind.endswith("pattern_mismatch"):
        return Problem("LL104", f"`{dotted(path)}` is {shown(value)}, which does not have the expected form.", where, path, value)
    return _wrong_type(path, [each["type"] for each in details], value, where)


def _telling(detail: Any) -> int:
    kind = detail["type"]
    return 3 if kind in CODES else 2 if kind in ("literal_error", "extra_forbidden", "missing") else 1


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


def _unknown_key(model: type[BaseModel], path: YamlPath, where: Location) -> Problem:
    key = str(path[-1])
    section = section_at(model, path[:-1])
    allowed = keys_of(section) if section else ()
    place = f"`{dotted(path[:-1])}`" if path[:-1] else "a contract" if model.__name__ == "Contract" else "this file"
    suggestion = nearest(key, allowed)
    known = "" if suggestion else f"; known are {listed(allowed)}"
    return Problem("LL101", f"`{key}` is not a key of {place}{known}.", where, path, key, allowed, suggestion)


@lru_cache(maxsize=None)
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
    return next(iter(_models_in(annotation)), None)


def _step(annotation: Any, part: str | int) -> Any:
    if isinstance(part, int):
        return annotation  # a list of sections holds the section itself; see _models_in
    for section in _models_in(annotation):
        for name, info in section.model_fields.items():
            if part in spellings(info, name):
                return info.annotation
    return annotation if typing.get_origin(annotation) is dict else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in typing.get_args(annotation) for model in _models_in(argument)]


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
