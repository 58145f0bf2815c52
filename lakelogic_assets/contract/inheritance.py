"""Which file a value comes from: domain under system under contract, the nearer one wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import Location, YamlPath
from lakelogic_assets.contract.reading import Document
from lakelogic_assets.contract.registry_files import SystemFile
from lakelogic_assets.contract.validation import section_at, spellings


@dataclass(frozen=True, slots=True)
class Origin:
    """The place in a file that a value was written at."""

    document: Document
    path: YamlPath

    @property
    def location(self) -> Location:
        return self.document.locate(self.path)


class Merged:
    """A mapping put together from several files, which remembers who said what."""

    __slots__ = ("data", "document", "language", "origins", "values")

    def __init__(
        self, document: Document, data: dict[str, Any] | None = None, language: type[BaseModel] = Contract
    ) -> None:
        self.language = language
        """What kind of file it is, by which keys are told that are spelled in several ways."""
        self.values: Mapping[str, str] = {}
        """What placeholders stand for here."""
        self.document = document
        self.data: dict[str, Any] = dict(document.data if data is None else data)
        self.origins: dict[YamlPath, Origin] = {}

    def origin(self, path: YamlPath) -> Origin:
        """Where the value at `path` was written; a part of an inherited block is looked up inside it."""
        for length in range(len(path), 0, -1):
            known = self.origins.get(path[:length])
            if known is not None:
                return Origin(known.document, known.path + path[length:])
        return Origin(self.document, path)

    def locate(self, path: YamlPath) -> Location:
        return self.origin(path).location

    def inherited(self) -> Iterator[tuple[YamlPath, Origin]]:
        """The values that another file supplied."""
        supplied = ((path, origin) for path, origin in self.origins.items() if origin.document is not self.document)
        return ((path, origin) for path, origin in supplied if path[0] in self.data)

    def put(self, path: YamlPath, value: Any, origin: Origin) -> None:
        """Set a value that another file supplied; mappings on the way are copied, never changed in place."""
        parent: dict[Any, Any] = self.data
        for part in path[:-1]:
            child = parent.get(part)
            parent[part] = dict(child) if isinstance(child, dict) else {}
            parent = parent[part]
        parent[path[-1]] = value
        self.origins[path] = origin

    def fill(
        self, path: YamlPath, values: dict[str, Any], origin: Merged | Document, at: YamlPath, *, deep: bool = False
    ) -> None:
        """Supply what the mapping at `path` does not say itself."""
        here = self.value(path)
        if here is not None and not isinstance(here, dict):
            return
        for key, value in values.items():
            said = here is not None and any(each in here for each in _spelled(self.language, path, key))
            if not said:
                self.put((*path, key), value, _origin_of(origin, (*at, key)))
                if isinstance(origin, Merged) and isinstance(value, dict | list):
                    self._adopt((*path, key), origin, (*at, key))
            elif deep and isinstance(value, dict) and isinstance(here and here.get(key), dict):
                self.fill((*path, key), value, origin, (*at, key), deep=True)

    def _adopt(self, path: YamlPath, source: Merged, at: YamlPath) -> None:
        """Inside a block that was itself put together, every part keeps its own origin."""
        length = len(at)
        for each, origin in source.origins.items():
            if len(each) > length and each[:length] == at:
                self.origins[*path, *each[length:]] = origin

    def value(self, path: YamlPath) -> Any:
        value: Any = self.data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value


@lru_cache(maxsize=10_000)
def _spelled(language: type[BaseModel], path: YamlPath, key: str) -> tuple[str, ...]:
    """Every way to write a key: what is said in one of them is not inherited in another."""
    if language is SystemFile and path[:1] in (("materialization",), ("server",)):
        if len(path) == 1:
            return (key,)  # a layer
        language, path = Contract, (path[0], *path[2:])
    section = section_at(language, path)
    ways = (spellings(info, name) for name, info in section.model_fields.items()) if section else ()
    return next((tuple(each) for each in ways if key in each), (key,))


def _origin_of(source: Merged | Document, path: YamlPath) -> Origin:
    return source.origin(path) if isinstance(source, Merged) else Origin(source, path)


INHERITED_KEYS = (
    "slo", "ownership", "notifications", "quarantine", "compliance", "lineage", "materialization", "server", "cost",
    "observatory", "retention", "policy_packs",
)  # fmt: skip
LOCKED_KEYS = ("domain", "bronze_layer", "silver_layer", "gold_layer", "notifications_enabled")
"""Identity: where domain and system disagree, the domain is right."""


def under_system(system: Document, domain: Document | None) -> tuple[Merged, list[YamlPath]]:
    """The system's file with the domain's laid under it, and the locked keys on which they disagree."""
    merged = Merged(system, language=SystemFile)
    if domain is None:
        return merged, []
    for key in INHERITED_KEYS:
        _inherit(merged, domain, key)
    said = {key: (system.data.get(key), domain.data.get(key)) for key in LOCKED_KEYS}
    disagreed: list[YamlPath] = [
        (key,) for key, (ours, theirs) in said.items() if None not in (ours, theirs) and ours != theirs
    ]
    for key in LOCKED_KEYS:
        if key in domain.data and domain.data[key] is not None:
            merged.put((key,), domain.data[key], Origin(domain, (key,)))
    currency = domain.data.get("cost", {}).get("currency") if isinstance(domain.data.get("cost"), dict) else None
    if currency is not None and isinstance(merged.value(("cost",)), dict):
        merged.put(("cost", "currency"), currency, Origin(domain, ("cost", "currency")))
    return merged, disagreed


def _inherit(merged: Merged, domain: Document, key: str) -> None:
    theirs, ours = domain.data.get(key), merged.data.get(key)
    if theirs is None:
        return
    if ours is None:
        merged.put((key,), theirs, Origin(domain, (key,)))
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        merged.fill((key,), theirs, domain, (key,), deep=True)
    elif isinstance(ours, list) and isinstance(theirs, list):
        merged.data[key] = [*ours, *theirs]
        for index in range(len(theirs)):
            merged.origins[(key, len(ours) + index)] = Origin(domain, (key, index))
