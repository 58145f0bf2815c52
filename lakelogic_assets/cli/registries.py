"""What the registries of a driver list: every file that should be a contract, whether or not it can be read as one."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.left_out import LeftOut
from lakelogic_assets.contract.placeholders import fill
from lakelogic_assets.contract.problems import nearest
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.registry_files import DriverRegistry, without_anchors
from lakelogic_assets.contract.systems import load_system
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError, NotFoundError, ProjectError
from lakelogic_assets.project import Project

_REGISTRIES = (names.DOMAIN_FILE, names.SYSTEM_FILE, names.REGISTRY_FILE)


@dataclass(frozen=True, slots=True)
class Listed:
    """A contract's file, and what its registry calls it."""

    file: Path
    layer: str | None = None
    entity: str | None = None
    is_read: bool = False
    """Whether the file is a contract; of one that is not, the layer may not be known."""

    def is_of(self, layers: Collection[str]) -> bool:
        return self.layer in layers or (self.layer is None and not self.is_read)


@dataclass(frozen=True, slots=True)
class Choice:
    """The files that a call means, and what it should be told about its registries."""

    files: frozenset[Path]
    taken_in: tuple[Path, ...] = ()
    """Registries that nobody named and that list a layer that was asked for."""
    empty: tuple[str, ...] = ()
    """Layers that were asked for and that nothing lists."""

    def concerns(self, left_out: LeftOut) -> bool:
        """Whether a file with errors is one of these, or a registry above one of them."""
        file = left_out.file.resolve()
        above = file.name in _REGISTRIES and any(file.parent in each.parents for each in self.files)
        return above or file in self.files


@dataclass(frozen=True)
class Listing:
    """The registries of a call, read together with the project that they stand in."""

    registry: Registry
    project: Project
    given: Mapping[Path, str | None]
    """Each registry's file, with the layer that its contracts count as where the call says it."""

    def chosen(self, layers: Sequence[str], entities: Sequence[str]) -> Choice:
        """What is listed in these layers and of these entities; an empty word of either means all."""
        listed = self._listed(self.given)
        wanted = [_plain(layer) for layer in layers]
        _refuse_unknown("layer", wanted, {*names.LAYER_SYNONYMS, *_layers_of(listed)})
        below = self._below(set(wanted) - _layers_of(listed))
        listed += [each for found in below.values() for each in found]
        _refuse_unknown("entity", entities, {each.entity for each in listed if each.entity})
        kept = [each for each in listed if not wanted or each.is_of(wanted)]
        files = frozenset(each.file for each in kept if not entities or each.entity in entities)
        there = _layers_of(listed)
        return Choice(files, tuple(below), tuple(layer for layer in wanted if layer not in there))

    def _below(self, layers: Collection[str]) -> dict[Path, list[Listed]]:
        """A layer that no given registry lists may be listed by one below them, as gold by that of a warehouse."""
        folders = {path.parent for path in self.given} if layers else ()
        others = {each for folder in folders for each in folder.rglob(names.REGISTRY_FILE)} - {*self.given}
        found = {path: [each for each in self._listed({path: None}) if each.layer in layers] for path in sorted(others)}
        return {path: listed for path, listed in found.items() if listed}

    def _listed(self, registries: Mapping[Path, str | None]) -> list[Listed]:
        known = {each.place.path.resolve(): each for each in self.registry if each.place.path}
        found: dict[Path, Listed] = {}
        for path, layer in registries.items():
            for each in _listed_in(path, self.project):
                found[each.file] = _told(replace(each, layer=layer or each.layer), known.get(each.file))
        return list(found.values())


def _layers_of(listed: Iterable[Listed]) -> set[str]:
    return {each.layer for each in listed if each.layer}


def _told(listed: Listed, contract: Contract | None) -> Listed:
    """What the registry leaves out is told by the contract, or by the file's name where it is none."""
    prefix = file_table(listed.file).split("_", 1)[0].lower()
    guess = contract.layer if contract else prefix if prefix in names.LAYERS else None
    layer = listed.layer or guess
    entity = listed.entity or (contract.place.entity if contract else None)
    return Listed(listed.file, _plain(layer) if layer else None, entity, contract is not None)


def _plain(layer: str) -> str:
    return names.LAYER_SYNONYMS.get(layer.lower(), layer)


def _refuse_unknown(kind: str, words: Iterable[str], known: Collection[str]) -> None:
    for word in words:
        if word not in known:
            near = nearest(word, sorted(known))
            raise NotFoundError(f"The registries have no {kind} {word!r}.", [near] if near else sorted(known))


def _listed_in(path: Path, project: Project) -> Iterator[Listed]:
    """The enabled contracts of a registry: by its entries, or, where it is a system, by its index."""
    if not path.is_file():
        raise NotFoundError(f"There is no registry {path}.")
    document = read_document(path)
    if "entries" in document.data:
        return _of_entries(document)
    if "contracts" in document.data:
        return _of_index(path, project)
    raise ProjectError(f"{path} lists no contracts; a registry has `entries`, a system has `contracts`.")


def _of_entries(document: Document) -> Iterator[Listed]:
    registry, problems = validated(DriverRegistry, without_anchors(document.data), document.locate)
    if registry is None or document.path is None:
        raise ContractError(problems)
    for entry in registry.entries:
        for layer, relative in entry.paths.items() if entry.enabled else ():
            yield Listed((document.path.parent / relative).resolve(), layer, entry.entity)


def _of_index(path: Path, project: Project) -> Iterator[Listed]:
    context = load_system(path, project, os.environ)
    for _, entry in context.entries:
        if entry.enabled:
            file = path.parent / fill(entry.path, context.index_values)
            yield Listed(file.resolve(), entry.layer, entry.entity)
