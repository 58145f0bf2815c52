"""A registry's file without the parts that do not fit: one slip silences neither its other parts nor its contracts.

What a registry says about its contracts (promises, owners, costs, whom to tell) is read leniently: a part that does not
fit is left out with a warning. What decides about data is not: there a slip is an error, and only a key that resembles
none of the language is taken for another tool's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import Problem, YamlPath
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.registry_files import DomainFile, SystemFile, without_anchors
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError

F = TypeVar("F", SystemFile, DomainFile)

DECIDING: Final = frozenset(
    "domain system bronze_layer silver_layer gold_layer metadata storage environments contracts"
    " quarantine lineage materialization server policy_packs".split()
)
"""Keys that say which contracts there are, where their data is and what becomes of it."""
_INHERITED_DECIDING: Final = frozenset("quarantine lineage materialization server policy_packs".split())
_MAY_BE_ANOTHER_TOOLS: Final = frozenset(("quarantine", "lineage"))

NO_ENTRY: Final = {"path": "-", "enabled": False}
"""Stands in for an index entry that cannot be read."""


class Domain(NamedTuple):
    """A domain's file, as far as it can be read."""

    document: Document | None = None
    problems: tuple[Problem, ...] = ()
    unfit: tuple[Problem, ...] = ()
    """Why blocks that decide about data are not inherited: an error only where no nearer file says such a block."""

    def missed_by(self, system: Document) -> Iterator[Problem]:
        """What a system would inherit, were it not wrong: an error of its own where it does not say it itself."""
        for each in self.unfit:
            key = each.path[0]
            yield replace(each, code="LL308", message=f"The domain's `{key}` does not fit: {each.message}")
            if key not in system.data:
                message = f"{each.message} It is inherited from {names.DOMAIN_FILE}:{each.location.line}."
                yield replace(each, message=message, location=system.locate())


def read_system(path: Path) -> tuple[Document, SystemFile, list[Problem]]:
    """The system's file; raises only when it cannot be read at all."""
    document, file, problems = _what_holds(SystemFile, read_document(path))
    if file is None:
        raise ContractError(problems)
    return document, file, problems


def read_domain(path: Path) -> Domain:
    """The domain's file, if there is one that can be read."""
    if not path.is_file():
        return Domain()
    try:
        document = read_document(path)
    except ContractError as error:
        return Domain(problems=tuple(error.problems))
    document, file, problems = _what_holds(DomainFile, document)
    unfit = tuple(each for each in problems if each.is_error and each.path[0] in _INHERITED_DECIDING)
    return Domain(document if file else None, tuple(each for each in problems if each not in unfit), unfit)


def left_out(found: Problem) -> Problem:
    """The same finding as a warning: what it is about is not used."""
    return replace(found, code="LL313", message=f"{found.message} It is left out.")


def _what_holds(model: type[F], document: Document) -> tuple[Document, F | None, list[Problem]]:
    """The file without what is wrong in it, and everything that is wrong."""
    data, warnings = _without_harmless(model, document)
    file, problems = validated(model, data, document.locate)
    if problems:
        data = _without_wrong(data, problems)
        file, _ = validated(model, data, document.locate)
    return Document(document.path, document.text, data), file, warnings + problems


def _without_harmless(model: type[BaseModel], document: Document) -> tuple[dict[str, Any], list[Problem]]:
    data = without_anchors(document.data)
    warnings: list[Problem] = []
    harmless = list(_unknown_in_layers(data, document))
    # A section as a whole is only judged when its parts fit, so there may be more when they do.
    while harmless := harmless or [each for each in _problems(model, data, document) if _is_harmless(each)]:
        warnings += [left_out(each) for each in harmless]
        data = _without(data, [each.path for each in harmless])
        harmless = []
    return data, warnings


def _problems(model: type[BaseModel], data: dict[str, Any], document: Document) -> list[Problem]:
    return validated(model, data, document.locate)[1]


def _without_wrong(data: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Without the blocks that are wrong; an entry of the index stays in its place, so that the lines of others do."""
    wrong = {each.path[:2] if each.path[:1] == ("contracts",) else each.path[:1] for each in problems}
    kept = {key: value for key, value in data.items() if (key,) not in wrong}
    if isinstance(entries := kept.get("contracts"), list):
        kept["contracts"] = [NO_ENTRY if ("contracts", i) in wrong else entry for i, entry in enumerate(entries)]
    return kept


def _is_harmless(found: Problem) -> bool:
    """Whether no data depends on what is wrong, nor would on what was meant by it."""
    key = found.path[0]
    is_unknown = found.code == "LL101"
    if len(found.path) == 1 and is_unknown:
        return found.suggestion not in DECIDING
    if key in _MAY_BE_ANOTHER_TOOLS and len(found.path) > 1:
        return found.path[1] == "notifications" or (is_unknown and found.suggestion is None)
    return key not in DECIDING


def _unknown_in_layers(data: dict[str, Any], document: Document) -> Iterator[Problem]:
    """Keys of another tool in what a registry says for the contracts of one layer."""
    for section in ("materialization", "server"):
        layers = data.get(section)
        for layer, said in layers.items() if isinstance(layers, dict) else ():
            _, problems = validated(Contract, {section: said}, document.locate)
            for each in problems:
                if each.code == "LL101" and each.suggestion is None:
                    path: YamlPath = (section, layer, *each.path[1:])
                    yield replace(each, path=path, location=document.locate(path))


def _without(data: dict[str, Any], paths: list[YamlPath]) -> dict[str, Any]:
    """A copy without what stands at the paths; for a part that is missing, without the section that lacks it."""
    targets = {_there(data, path) for path in paths}
    return {key: _cut(value, (key,), targets) for key, value in data.items() if (key,) not in targets}


def _there(data: Any, path: YamlPath) -> YamlPath:
    """The path as far as something stands there."""
    for length, part in enumerate(path):
        known = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if part not in known:
            return path[:length]
        data = data[part]
    return path


def _cut(value: Any, at: YamlPath, targets: set[YamlPath]) -> Any:
    if isinstance(value, dict):
        return {key: _cut(each, (*at, key), targets) for key, each in value.items() if (*at, key) not in targets}
    if isinstance(value, list):
        return [_cut(each, (*at, i), targets) for i, each in enumerate(value) if (*at, i) not in targets]
    return value
