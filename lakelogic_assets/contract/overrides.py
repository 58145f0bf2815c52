"""`--set KEY=VALUE` — what is said for one run, typed and checked like the contract itself.

An override is the strongest voice: it wins over the contract, its registries and its policy packs. It is laid over a
contract that is loaded already, so a command and a step of Dagster do the same with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, Final

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.inheritance import Merged, Origin
from lakelogic_assets.contract.lint import lint_contract
from lakelogic_assets.contract.lint_project import lint_patience
from lakelogic_assets.contract.overridable import TABLE_FORMATS, is_place, refusal
from lakelogic_assets.contract.placeholders import fill, rewritten, unfilled
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, dotted, listed, nearest, shown
from lakelogic_assets.contract.reading import Document, read_value
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.resolving import gap
from lakelogic_assets.contract.roots import Roots
from lakelogic_assets.contract.source import table_reference
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

OPTION: Final = "--set"
_PLACE: Final = ("source", "path")
_PATTERN: Final = ("source", "pattern")
_PLACEHOLDER_FIRST = re.compile(r"\s*\{[A-Za-z_]\w*\}")
_LONGEST_KEY, _LONGEST_VALUE = 300, 10_000
_PART = re.compile(
    r"""(?:\A|\.)(?:"(?P<quoted>[^"]+)"|(?P<word>[^\W\d][\w-]*))|\[(?:(?P<index>\d{1,4})|(?P<name>[^\[\]"']+))\]"""
)


@dataclass(frozen=True, slots=True)
class Override:
    """One key and its value; a name in the place of an index means the entry of that name."""

    key: str
    path: YamlPath
    value: Any

    @property
    def location(self) -> Location:
        return Location(option=f"{OPTION} {self.key}")

    def problem(self, code: str, message: str, suggestion: str | None = None) -> Problem:
        return Problem(code, message, self.location, self.path, suggestion=suggestion)


def parse_override(text: str) -> Override:
    """`source.path=data/x` → an override that may be applied; raises ContractError with what is wrong with it."""
    key, equals, value = text.partition("=")
    if not equals:
        raise _unreadable(text, "has no `=`")
    if len(value) > _LONGEST_VALUE or not value.replace("\t", " ").isprintable():
        raise _unreadable(text, "has a value that is too long or not on one line")
    try:
        # `{landing_root}/orders` begins like a mapping and is a path.
        return override(key.strip(), value.strip() if _PLACEHOLDER_FIRST.match(value) else read_value(value))
    except ContractError as error:
        if all(problem.location.option for problem in error.problems):
            raise
        raise _unreadable(text, f"has a value that is no YAML: {error.problems[0].message.rstrip('.')}") from None


def override(key: str, value: Any) -> Override:
    """An override whose value has a type already, as in the config of a Dagster run."""
    made = Override(key, _path_of(key), value)
    # Links are a list: a mapping of them would be read as their names.
    for path, each in [(made.path, value)] if made.path == ("links",) else _leaves(made):
        if problem := refusal(key, path, each, made.location):
            raise ContractError([problem])
    return made


def parse_overrides(texts: Iterable[str] | Mapping[str, Any]) -> tuple[Override, ...]:
    """All overrides of one run, typed on a command line or given as a mapping; of two for one key the last counts."""
    made: dict[YamlPath, Override] = {}
    problems: list[Problem] = []
    items = texts.items() if isinstance(texts, Mapping) else ((None, text) for text in texts)
    for key, value in items:
        try:
            each = parse_override(value) if key is None else override(key, value)
            made.pop(each.path, None)
            made[each.path] = each
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    return tuple(made.values())


def overridden(
    registry: Registry, overrides: Sequence[Override], project: Project, keys: Collection[Key] | None = None
) -> Registry:
    """The registry with overrides laid over some of its contracts; without `keys`, over all that run.

    Nothing is read again, so a code location that was loaded long ago may call it. What does not fit is a problem of
    the registry that is given back.
    """
    chosen = [key for key, each in registry.contracts.items() if (each.place.enabled if keys is None else key in keys)]
    changed: dict[Key, _Changed] = {}
    problems: list[Problem] = []
    for each in overrides:
        fitting = _fitting(each, {key: registry.merged[key].data for key in chosen})
        fitting = _picked(each, overrides, [registry.contracts[key] for key in fitting]) or fitting
        misfit = _misfit(each, fitting, [registry.merged[key].data for key in chosen])
        if misfit is not None:
            problems.append(misfit)
            continue
        for key in fitting:
            draft = changed.setdefault(key, _Changed(registry.contracts[key], registry.merged[key], project))
            problems += draft.lay_over(each)
    return _with_changes(registry, changed, problems)


def overridden_contract(registry: Registry, key: Key, overrides: Sequence[Override], project: Project) -> Contract:
    """One contract with overrides laid over it; raises ContractError with everything that does not fit."""
    made = overridden(registry, overrides, project, [key])
    wrong = [problem for problem in made.errors if problem not in registry.problems]
    if wrong:
        raise ContractError(wrong)
    return made.contracts[key]


def _unreadable(text: str, what: str) -> ContractError:
    return ContractError([Problem("LL601", f"{shown(text)} {what}.", Location(option=OPTION))])


def _path_of(key: str) -> YamlPath:
    parts: list[str | int] = []
    position = 0
    while position < len(key) <= _LONGEST_KEY and key.isprintable():
        match = _PART.match(key, position)
        if match is None:
            break
        index, text = match["index"], match["quoted"] or match["word"] or match["name"]
        parts.append(int(index) if index is not None else text)
        position = match.end()
    if position != len(key) or not parts or isinstance(parts[0], int):
        raise _unreadable(key, "is not a key such as source.path or links[rates].path")
    # The names of extensions have dots of their own.
    if parts[0] == "extensions" and ".".join(map(str, parts[1:3])) + "." == names.EXTENSION_PREFIX:
        parts[1:4] = [".".join(map(str, parts[1:4]))]
    return tuple(parts)


def _leaves(override: Override) -> Iterator[tuple[YamlPath, Any]]:
    """Every single value that an override sets: a mapping is as good as its keys one by one."""

    def walk(path: YamlPath, value: Any) -> Iterator[tuple[YamlPath, Any]]:
        if isinstance(value, dict) and value and len(path) <= len(override.path) + 5:
            for key, item in value.items():
                yield from walk((*path, key), item)
        else:
            yield path, value

    return walk(override.path, override.value)


def _place_in(data: Mapping[str, Any], override: Override) -> YamlPath | None:
    """The path of an override in one contract; None where the contract has no such place."""
    first, *rest = override.path
    if first == "source":
        return override.path if isinstance(data.get("source"), dict) else None
    if first != "links":
        return override.path
    links = data.get("links")
    said = links if isinstance(links, list) else []
    known = {index: link.get("name") for index, link in enumerate(said) if isinstance(link, dict)}
    found = next((index for index, name in known.items() if rest[:1] in ([index], [name])), None)
    return ("links", found, *rest[1:]) if found is not None else None


def _fitting(override: Override, contracts: Mapping[Key, Mapping[str, Any]]) -> list[Key]:
    """The contracts an override makes sense for; of several, a path is meant for those that read files."""
    places = {key: path for key, data in contracts.items() if (path := _place_in(data, override)) is not None}
    if len(places) < 2 or not any(is_place(path) for path, _ in _leaves(override)):
        return list(places)
    section = 1 if override.path[0] == "source" else 2
    files = [key for key, path in places.items() if not _reads_table(_value(contracts[key], path[:section]))]
    return files or list(places)


def _picked(override: Override, overrides: Sequence[Override], contracts: Sequence[Contract]) -> list[Key]:
    """Of several contracts those whose files a place and a pattern name together; none where that tells nothing."""
    said = {each.path: each.value for each in overrides}
    pattern = said.get(_PATTERN)
    if len(contracts) < 2 or override.path not in (_PLACE, _PATTERN) or _PLACE not in said or not pattern:
        return []
    name = PurePosixPath(str(pattern)).stem
    fitting = [each.key for each in contracts if any(fnmatchcase(name, own) for own in _own_names(each))]
    return fitting or [each.key for each in contracts if each.place.entity in re.split(r"[^a-z0-9]+", name.lower())]


def _own_names(contract: Contract) -> list[str]:
    """What the files of a contract are called, by its own patterns and without their endings."""
    source = contract.source
    patterns = (source.pattern, source.partition.file_pattern if source.partition else None) if source else ()
    names = (PurePosixPath(each).stem for each in patterns if each)
    return [name for name in names if name.strip("*")]


def _misfit(override: Override, fitting: Sequence[Key], chosen: Sequence[Mapping[str, Any]]) -> Problem | None:
    """Why an override suits none of the chosen contracts, or too many of them."""
    if not fitting:
        links = [link.get("name") for data in chosen for link in data.get("links") or () if isinstance(link, dict)]
        named = override.path[1] if override.path[0] == "links" and len(override.path) > 1 else None
        message = f"No chosen contract has `{override.key}`."
        return override.problem("LL604", message, nearest(named, [name for name in links if isinstance(name, str)]))
    if len(fitting) > 1 and any(is_place(path) for path, _ in _leaves(override)):
        which = listed(("/".join(key) for key in fitting), 4)
        message = f"`{override.key}` would send {len(fitting)} contracts to one place: {which}."
        return override.problem("LL604", message)
    return None


class _Said(Document):
    """An override in the place of a file: whatever is wrong in it was typed there."""

    __slots__ = ("override",)

    def __init__(self, override: Override) -> None:
        super().__init__(None, "", {"value": override.value})
        self.override = override

    def locate(self, path: YamlPath = ()) -> Location:  # noqa: ARG002 - all of it stands in one place
        return self.override.location

    def locate_value(self, path: YamlPath, offset_line: int = 0) -> Location:  # noqa: ARG002
        return self.override.location


class _Changed:
    """A contract while overrides are laid over it."""

    def __init__(self, contract: Contract, merged: Merged, project: Project) -> None:
        self.contract = contract
        self.before = merged
        self.merged = Merged(merged.document, merged.data)
        self.merged.origins = dict(merged.origins)
        self.merged.values = merged.values
        self.said: dict[YamlPath, Override] = {}
        folder = contract.place.path.parent if contract.place.path else None
        self.roots = Roots.of(project.root, folder, merged.values)

    def lay_over(self, override: Override) -> Iterator[Problem]:
        path = _place_in(self.merged.data, override) or override.path
        value = rewritten(override.value, lambda text, _: fill(text, self.merged.values))
        for leaf, text in _leaves(replace(override, path=path, value=value)):
            if is_place(leaf) and (wrong := self._objection(override, leaf, text)):
                yield wrong
                return
        short = next((path[:length] for length in range(1, len(path)) if self._is_short(path[:length])), None)
        if short is not None:
            yield override.problem("LL604", f"`{dotted(short)}` is a single value here: set it as a whole.")
            return
        said = replace(override, value=value)
        document = _Said(said)
        for leaf, each in _leaves(replace(said, path=path)):
            self.merged.data = _replaced(self.merged.data, leaf, each)
            kept = {known: origin for known, origin in self.merged.origins.items() if known[: len(leaf)] != leaf}
            self.merged.origins = kept | {leaf: Origin(document, ("value", *leaf[len(path) :]))}
            self._set_for_the_environment(leaf, each)
        self.said[path] = said

    def _set_for_the_environment(self, path: YamlPath, value: Any) -> None:
        """`environments:` says path and format again; what was set wins there too."""
        place: YamlPath = ("environments", self.contract.place.environment or "")
        if path[0] == "source" and path[1:] in (("path",), ("format",)) and _value(self.merged.data, place):
            self.merged.data = _replaced(self.merged.data, (*place, path[1]), value)
            self.merged.origins[*place, path[1]] = self.merged.origins[path]

    def _is_short(self, path: YamlPath) -> bool:
        return not isinstance(_value(self.merged.data, path), dict | list | None)

    def _objection(self, override: Override, path: YamlPath, text: Any) -> Problem | None:
        if not isinstance(text, str):
            found = "empty" if text is None else shown(text)
            return override.problem("LL103", f"`{dotted(path)}` is {found}; text is expected.")
        if _reads_table(_value(self.before.data, path[:-1])):
            return override.problem("LL602", f"`{dotted(path)}` is a table here, which the graph waits for.")
        for name in [] if "$" in text else unfilled(text):
            return gap(path, name, self.merged.values, override.location)
        why = self.roots.objection(text)
        return override.problem("LL603", f"`{dotted(path)}` is {shown(text)}, which {why}.") if why else None

    def locate(self, path: YamlPath) -> Location:
        """What goes wrong around a value that was set is blamed on it."""
        around = next((each for at, each in self.said.items() if at[: len(path)] == path), None)
        return around.location if around else self.merged.locate(path)

    def validated(self) -> tuple[Contract | None, list[Problem]]:
        contract, problems = validated(Contract, self.merged.data, self.locate)
        if contract is None:
            return None, problems
        said = {each.key: each.value for each in self.said.values()}
        contract = contract.with_place(replace(self.contract.place, overrides=self.contract.place.overrides | said))
        return contract, lint_contract(contract, self.merged)


def _with_changes(registry: Registry, changed: Mapping[Key, _Changed], found: list[Problem]) -> Registry:
    """The registry with new contracts; what was wrong with a value that is set now is no longer held against it."""
    contracts, merged, problems = dict(registry.contracts), dict(registry.merged), list(registry.problems)
    for key, draft in changed.items():
        contract, new = draft.validated()
        found += new
        cured = {*lint_contract(draft.contract, draft.before)} - {*new}
        problems = [each for each in problems if each not in cured and not _is_of(each, draft)]
        if contract is not None:
            contracts[key], merged[key] = contract, draft.merged
    made = replace(registry, contracts=contracts, merged=merged)
    found += [problem for problem in lint_patience(made) if problem.location.option]
    return replace(made, problems=tuple(dict.fromkeys([*problems, *found])))


def _is_of(problem: Problem, draft: _Changed) -> bool:
    was_said = any(problem.path[: len(path)] == path for path in draft.said)
    return was_said and problem.location == draft.before.locate(problem.path)


def _reads_table(section: Mapping[str, Any]) -> bool:
    path, kinds = section.get("path"), {section.get("type"), section.get("format")}
    named = table_reference(path if isinstance(path, str) else None, declared=False)
    return bool(section.get("table")) or named is not None or not TABLE_FORMATS.isdisjoint(kinds)


def _value(data: Any, path: YamlPath) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _replaced(data: Any, path: YamlPath, value: Any) -> Any:
    """The same structure with another value at a path; what is on the way is copied."""
    if not path:
        return value
    first, *rest = path
    copy: Any = list(data) if isinstance(data, list) else dict(data) if isinstance(data, dict) else {}
    copy[first] = _replaced(_value(data, (first,)), tuple(rest), value)
    return copy
