"""Files → a Registry: find the contracts of a project, resolve each, and judge them together."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract, file_table
from lakelogic_assets.contract.fitting import Domain, read_domain
from lakelogic_assets.contract.graph import Key
from lakelogic_assets.contract.inheritance import Merged, Origin
from lakelogic_assets.contract.lint import lint_contract
from lakelogic_assets.contract.lint_logic import lint_logic
from lakelogic_assets.contract.lint_places import folders_with_gaps, has_gap, lint_places
from lakelogic_assets.contract.lint_project import lint_project
from lakelogic_assets.contract.placeholders import fill
from lakelogic_assets.contract.problems import Location, Problem, shown
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.contract.registry_files import DriverRegistry, without_anchors
from lakelogic_assets.contract.resolving import Resolved, resolve
from lakelogic_assets.contract.resources import Declarations, PartitionSet, includes_unregistered, load_declarations
from lakelogic_assets.contract.roots import declared_folders, is_inside
from lakelogic_assets.contract.systems import SystemContext, load_system, standalone
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.contract.walking import REGISTRY_FILES, files_below, has_registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project, find_project

_CONTRACT_KEYS = frozenset(
    "info model source materialization transformations quality external_logic extraction".split()
)


class _Loader:
    """Collects contracts and problems while files are read; nothing of one file stops another."""

    def __init__(self, project: Project, environ: Mapping[str, str]) -> None:
        self.project = project
        self.environ = environ
        self.resolved: list[Resolved] = []
        self.problems: list[Problem] = []
        self.claimed: set[Path] = set()
        self.contexts: dict[Path, SystemContext] = {}
        self.unreadable: set[Path] = set()
        self.unjudged: set[str] = set()
        """Names of contracts that an index knows, but that are wrong or not there: nobody waits for them in vain."""
        self.named_olc: dict[Path, bool] = {}
        self.boundary = project.root
        self.partitions: Mapping[str, PartitionSet] = {}
        self.elsewhere: tuple[Path, ...] | None = None
        """Folders that contracts may name besides the project; not known for files that stand alone."""
        self.include_unregistered = includes_unregistered(environ)
        self.files = 0

    @classmethod
    def with_declarations(cls, project: Project, environ: Mapping[str, str], declared: Declarations) -> _Loader:
        """What the project's resources say is laid over the registries."""
        gates = declared.active.gates.model_dump() if declared.active else {}
        loader = cls(replace(project, values={**declared.values, **project.values}, gates=gates), environ)
        loader.partitions = declared.partitions
        loader.include_unregistered |= declared.include_unregistered
        loader.elsewhere = declared_folders(loader.project.values, environ, project.root)
        return loader

    def tree(self, folder: Path, *, domains_only: bool = False) -> None:
        """Load all that a folder holds; its indexes may not name files outside of it, or of the project."""
        self.boundary = self.project.root if self.project.root in (folder, *folder.parents) else folder
        found = files_below(folder, domains_only=domains_only)
        for path in found.systems:
            self.system(path)
        for path in found.drivers:
            self.driver(path)
        for path in found.others:
            if path not in self.claimed:
                self.loose(path)
        for path in found.domains:
            self.domain(path)

    def domain(self, path: Path) -> None:
        """A domain's own problems are reported once, whether or not a system reads it."""
        self.files += 1
        domain = read_domain(path)
        is_heard = path in self.contexts or any(path.parent in folder.parents for folder in self.contexts)
        self.problems += domain.problems if is_heard else (*domain.problems, *domain.unfit)

    def alone(self, path: Path) -> None:
        """One file that no registry knows."""
        self.boundary = path.parent
        document = self.read(path)
        if document:
            self.resolved.append(resolve(document, self.standalone_context(path.parent)))

    def system(self, path: Path) -> None:
        self.files += 1
        try:
            context = load_system(path, self.project, self.environ)
        except ContractError as error:
            self.problems += error.problems
            self.unreadable.add(path.parent)
            return
        self.problems += context.problems
        self.contexts[path.parent] = context
        values = context.index_values
        seen: set[tuple[str | None, str]] = set()
        for index, entry in context.entries:
            at = ("contracts", index)
            identity = (entry.layer, entry.entity or entry.path)
            if identity in seen:
                what = f"entity `{entry.entity}`" if entry.entity else f"file `{entry.path}`"
                message = f"The {what} stands twice{f' in layer {entry.layer}' if entry.layer else ''}."
                where = context.locate((*at, "entity" if entry.entity else "path"))
                self.problems.append(Problem("LL302", message, where, at, identity[1]))
                continue
            seen.add(identity)
            file = self.claim(path.parent, fill(entry.path, values), context.locate((*at, "path")))
            document = self.read(file) if file else None
            if document:
                self.resolved.append(resolve(document, context, entry, at))
            if document is None or self.resolved[-1].contract is None:
                self.unjudged |= _names_of(file or Path(entry.path), entry.entity, document)

    def driver(self, path: Path) -> None:
        """A driver's registry: entities with a path for each layer."""
        document = self.read(path)
        if document is None:
            return
        registry, problems = validated(DriverRegistry, without_anchors(document.data), document.locate)
        self.problems += problems
        if registry is None:
            return
        context = self.standalone_context(path.parent).named(registry.domain, registry.system)
        for index, entry in enumerate(registry.entries):
            place: dict[str, Any] = {
                "entity": entry.entity,
                "enabled": entry.enabled,
                "depends_on": entry.depends_on,
                "registered": True,
            }
            for layer, relative in entry.paths.items():
                key = ("contracts", layer) if layer else ("contract_path",)
                file = self.claim(path.parent, relative, document.locate(("entries", index, *key)))
                contract = self.read(file) if file else None
                if contract:
                    resolved = resolve(contract, context, layer=layer, **place)
                    resolved.merged.origins["depends_on",] = Origin(document, ("entries", index, "depends_on"))
                    self.resolved.append(resolved)
                if contract is None or self.resolved[-1].contract is None:
                    self.unjudged |= _names_of(file or Path(relative), entry.entity, contract)

    def loose(self, path: Path) -> None:
        """A contract that no index names: inside a system it is known but not run, unless the project asks for it."""
        document = self.read(path)
        if document is None or not self.is_contract(path, document):
            return
        home = next((folder for folder in path.parents if folder in self.contexts or folder in self.unreadable), None)
        if home is None:
            self.resolved.append(resolve(document, self.standalone_context(path.parent)))
            return
        if home in self.unreadable:
            # What its system says is not known, so nothing that is missing can be held against it.
            alone = replace(self.standalone_context(path.parent), environment_known=False)
            self.resolved.append(resolve(document, alone))
            return
        resolved = resolve(document, self.contexts[home], enabled=self.include_unregistered)
        contract = resolved.contract
        if contract and contract.key in self.indexed:  # such as an older version of what the index names
            resolved.contract = contract.with_place(replace(contract.place, enabled=False))
        if not (resolved.contract and resolved.contract.place.enabled):
            self.problems.append(Problem("LL310", f"`{path.name}` is in no index of its system.", Location(path)))
        self.resolved.append(resolved)

    @cached_property
    def indexed(self) -> frozenset[Key]:
        """The tables that an index speaks for, asked for when all of them are read."""
        found = (each.contract for each in self.resolved if each.contract)
        return frozenset(contract.key for contract in found if contract.place.registered)

    def is_contract(self, path: Path, document: Document) -> bool:
        """`*.olc.yaml` says so itself; beside such a file, or without any key of a contract, YAML is another thing."""
        if ".olc." in path.name:
            return True
        folder = path.parent
        if folder not in self.named_olc:
            self.named_olc[folder] = any(folder.glob("*.olc.y*ml"))
        return bool(_CONTRACT_KEYS & document.data.keys()) and not self.named_olc[folder]

    def standalone_context(self, folder: Path) -> SystemContext:
        """The context of contracts that no system names, with the nearest `_domain.yaml` above them."""
        root = self.boundary
        inside = [each for each in (folder, *folder.parents) if each == root or root in each.parents]
        domain_file = next((each / names.DOMAIN_FILE for each in inside if (each / names.DOMAIN_FILE).is_file()), None)
        key = domain_file or Path()
        if key not in self.contexts:
            domain = read_domain(domain_file) if domain_file else Domain()
            self.problems += (*domain.problems, *domain.unfit)
            self.contexts[key] = standalone(self.project, self.environ, domain.document)
        return self.contexts[key]

    def claim(self, folder: Path, relative: str, where: Location) -> Path | None:
        """The file that an index names, if it exists inside the project."""
        path = Path(os.path.normpath(folder / relative))
        if path in self.claimed:
            return None  # another index has it already
        try:
            inside = "\0" in relative or is_inside(path, self.boundary)
            exists = inside and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            inside, exists = True, False
        if not inside:
            self.problems.append(
                Problem("LL311", f"`{relative}` is outside of {self.boundary}.", where, found=relative)
            )
        elif not exists:
            self.problems.append(Problem("LL301", f"{shown(relative)} does not exist.", where, found=relative))
        self.claimed.add(path)
        return path if exists else None

    def read(self, path: Path) -> Document | None:
        self.files += 1
        try:
            return read_document(path)
        except ContractError as error:
            self.problems += error.problems
            return None

    def registry(self, only: Sequence[Path] | None = None) -> Registry:
        """Judge what was loaded; `only` keeps the problems of these files, wherever a value of theirs is from."""
        contracts: dict[Key, Contract] = {}
        merged: dict[Key, Merged] = {}
        duplicates: list[tuple[Resolved, Contract]] = []
        # Before contracts are judged, there are only the problems of what stands above and beside them.
        own = [*self.above(only)] if only is not None else []
        gaps = folders_with_gaps(self.problems)
        # Of two contracts for one table, the one that runs is the table's.
        for each in sorted(self.resolved, key=lambda each: not (each.contract and each.contract.place.enabled)):
            contract = each.contract
            found = each.problems + (lint_contract(contract, each.merged) if contract else [])
            found += lint_logic(contract, each.merged, self.project.root) if contract else ()
            if contract and self.elsewhere is not None and not has_gap(each.path, each.problems, gaps):
                found += lint_places(contract, each.merged, self.project.root, self.elsewhere)
            self.problems += found
            own += found if only is not None and each.path in only else ()
            if contract is None:
                continue
            first = contracts.get(contract.key)
            if first and contract.place.enabled and _same_scope(contract, first):
                duplicates.append((each, first))
            else:
                key = contract.key if first is None else (*contract.key, str(each.path))
                contracts[key], merged[key] = contract, each.merged
        registry = Registry(contracts, merged, files=self.files, claimed=frozenset(self.claimed))
        self.problems += lint_project(registry, duplicates, self.project, self.unjudged, self.partitions)
        kept = [*own, *_of_files(self.problems, only)] if only is not None else self.problems
        return replace(registry, problems=tuple(sorted(dict.fromkeys(kept), key=_place_of)))

    def above(self, files: Sequence[Path]) -> Iterator[Problem]:
        """What files cannot inherit as it was meant: errors of the registries above them, but not of their index."""
        folders = {folder for path in files for folder in path.parents}
        for problem in self.problems:
            file = problem.location.file
            if file is None or file.parent not in folders or not problem.is_error:
                continue
            of_index = problem.path[:1] in (("contracts",), ("entries",))
            if file.name in REGISTRY_FILES and (not of_index or file.parent in self.unreadable):
                yield problem


@contextmanager
def _uncollected() -> Iterator[None]:
    """Many small objects come to stay here: looking through them for garbage again and again would find none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_uncollected()
def load_project(project: Project | None = None, environ: Mapping[str, str] | None = None) -> Registry:
    """Every contract of a project, and every problem of its files; problems never raise."""
    project = project or find_project()
    environ = os.environ if environ is None else environ
    declarations = load_declarations(project, environ)
    loader = _Loader.with_declarations(project, environ, declarations)
    loader.problems += declarations.problems
    loader.files += declarations.files
    loader.tree(project.contracts)
    return loader.registry()


@_uncollected()
def load_paths(paths: Sequence[Path], project: Project, environ: Mapping[str, str] | None = None) -> Registry:
    """The contracts of some files and folders.

    What belongs to a registry is loaded together with it, because it inherits from it, but only the problems of
    the files that were asked for are kept; any other file stands alone.
    """
    environ = os.environ if environ is None else environ
    asked = [Path(os.path.normpath(Path.cwd() / path)) for path in paths]
    folder = project.contracts
    if project.names_its_contracts and all(folder in (path, *path.parents) for path in asked):
        loader = _Loader.with_declarations(project, environ, load_declarations(project, environ))
        loader.tree(folder)
        return loader.registry(only=asked)
    loader = _Loader(project, environ)
    for tree in dict.fromkeys(tree_of(path) for path in asked):
        # Beside a domain that was asked for, only other domains count: the folder above may hold anything.
        loader.tree(tree, domains_only=tree not in asked) if tree.is_dir() else loader.alone(tree)
    return loader.registry(only=asked)


def load_contract(
    path: Path | str, project: Project | None = None, environ: Mapping[str, str] | None = None
) -> Contract:
    """One contract, resolved with the registries above it; raises ContractError with everything that is wrong."""
    path = Path(path).resolve()
    registry = load_paths([path], project or Project(_home(path)), environ)
    found = next((contract for contract in registry if contract.place.path == path), None)
    if found is None or registry.errors:
        raise ContractError(registry.errors or [Problem("LL009", "The file is not a contract.", Location(path))])
    return found


def _home(path: Path) -> Path:
    """The project that a contract lies in, told by what stands beside its contracts; otherwise its own folder."""
    declared = ("resources", "partitions")
    folders = [folder.parent for folder in path.parents if folder.name == "contracts"]
    return next((root for root in folders if any((root / name).is_dir() for name in declared)), path.parent)


def tree_of(path: Path) -> Path:
    """The tree of domains that a path belongs to; a file outside of any registry is its own."""
    folder = path if path.is_dir() else path.parent
    tops = [each for each in (folder, *folder.parents) if has_registry(each)]
    return (tops[-1].parent if (tops[-1] / names.DOMAIN_FILE).is_file() else tops[-1]) if tops else path


def _names_of(path: Path, entity: str | None, document: Document | None) -> set[str]:
    """What others may call a contract that cannot be asked for its names."""
    info = document.data.get("info") if document else None
    table = info.get("table_name") if isinstance(info, dict) else None
    return {str(name).lower() for name in (file_table(path), path.stem, entity, table) if name}


def _same_scope(one: Contract, other: Contract) -> bool:
    """Contracts without a domain are namesakes only within one folder."""
    if one.domain:
        return True
    first, second = one.place.path, other.place.path
    return first is None or second is None or first.parent == second.parent


def _of_files(problems: Iterable[Problem], files: Sequence[Path]) -> Iterator[Problem]:
    wanted = frozenset(files)

    def asked(file: Path | None) -> bool:
        return file is None or not wanted.isdisjoint((file, *file.parents))

    return (problem for problem in problems if asked(problem.location.file))


def _place_of(problem: Problem) -> tuple[str, int, int, str]:
    return str(problem.location.file or ""), problem.location.line, problem.location.column, problem.code
