"""A system's registry, resolved for one environment: what its contracts inherit and what fills their placeholders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lakelogic_assets import names
from lakelogic_assets.contract.filled_in import is_engine_secret, is_secret, is_withheld
from lakelogic_assets.contract.fitting import NO_ENTRY, read_domain, read_system
from lakelogic_assets.contract.inheritance import INHERITED_KEYS, Merged, under_system
from lakelogic_assets.contract.lineage import STAMPS, Lineage
from lakelogic_assets.contract.placeholders import expand, fill, is_path, is_sql, rewritten
from lakelogic_assets.contract.problems import NOWHERE, Location, Problem, YamlPath, dotted, listed
from lakelogic_assets.contract.reading import Document
from lakelogic_assets.contract.registry_files import IndexEntry, SystemFile
from lakelogic_assets.contract.resources import DEFAULT_LAKE
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.project import Project

_PASSES = 3
DEFAULT_VALUES = {"catalog": "lakehouse", "storage_root": DEFAULT_LAKE}
_LAYER_KEYS = ("bronze_layer", "silver_layer", "gold_layer")
_EXPANDED_BLOCKS = (
    "metadata",
    "lineage",
    "quarantine",
    "compliance",
    "notifications",
    "ownership",
    "materialization",
    "server",
)


@dataclass(frozen=True, slots=True)
class SystemContext:
    """Everything a contract gets from the registries above it."""

    project: Project
    environ: Mapping[str, str]
    merged: Merged | None = None
    file: SystemFile | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    environment_known: bool = True
    problems: tuple[Problem, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    """Domain and system, where the registry is no `_system.yaml`."""

    @property
    def folder(self) -> Path | None:
        document = self.merged.document if self.merged else None
        return document.path.parent if document and document.path else None

    def locate(self, path: YamlPath) -> Location:
        """Where the registry says something; nowhere, when there is none."""
        return self.merged.locate(path) if self.merged else NOWHERE

    @property
    def entries(self) -> Iterator[tuple[int, IndexEntry]]:
        """The index, each entry with its number in the file."""
        written = self.merged.data.get("contracts") if self.merged and self.file else ()
        for number, entry in enumerate(self.file.contracts if self.file else ()):
            if written and written[number] is not NO_ENTRY:
                yield number, entry

    @property
    def identity(self) -> dict[str, str]:
        data = self.merged.data if self.merged else {}
        found = {key: data[key] for key in ("domain", "system") if isinstance(data.get(key), str)}
        aliases = {key: str(data.get(key) or key.removesuffix("_layer")) for key in _LAYER_KEYS}
        return {**self.own, **found, **aliases}

    @property
    def index_values(self) -> dict[str, str]:
        """What placeholders of the index stand for; `{bronze_layer}` is a folder's name there, and means bronze."""
        return self.identity | {key: key.removesuffix("_layer") for key in _LAYER_KEYS}

    def named(self, domain: str | None, system: str | None) -> SystemContext:
        """The same context for a registry that says its own domain and system."""
        said = {key: value for key, value in (("domain", domain), ("system", system)) if value}
        return replace(self, own={**self.own, **said})

    def values_for(self, domain: str | None, system: str | None) -> dict[str, str]:
        """What placeholders stand for; the environment beats the registry's storage templates."""
        known = {**self.identity}
        known |= {key: value for key, value in (("domain", domain), ("system", system)) if value and key not in known}
        environment = {key: fill(value, known) for key, value in self.values.items()}
        environment = {key: fill(value, environment | known) for key, value in environment.items()}
        storage = _default_storage(known) | self._storage()
        for _ in range(_PASSES):  # a root may stand on another root
            storage = {key: fill(value, {**storage, **environment, **known}) for key, value in storage.items()}
        return storage | known | self._lineage_names() | environment

    def _storage(self) -> dict[str, str]:
        block = self.merged.data.get("storage") if self.merged else None
        return {key: value for key, value in block.items() if isinstance(value, str)} if isinstance(block, dict) else {}

    def _lineage_names(self) -> dict[str, str]:
        block = self.merged.data.get("lineage") if self.merged else None
        lineage = Lineage.model_construct(**block) if isinstance(block, dict) else Lineage()
        return {f"{stamp.removesuffix('_path')}_column_name": lineage.column_of(stamp) for stamp in STAMPS}


def _default_storage(known: Mapping[str, str]) -> dict[str, str]:
    """Where things are if no registry says it; a contract need not have a domain or a system."""
    owners = [f"{{{key}}}" for key in ("domain", "system") if key in known]
    return {
        "domain_catalog": "{catalog}.{domain}" if "domain" in known else "{catalog}.default",
        "quarantine_root": "{catalog}.quarantine",
        "landing_root": "/".join(["{storage_root}/landing", *owners]),
        "log_root": "{storage_root}/_logs",
    }


def standalone(project: Project, environ: Mapping[str, str], domain: Document | None = None) -> SystemContext:
    """The context of a contract that no system names; a `_domain.yaml` above it still counts."""
    values = _expanded_values(DEFAULT_VALUES, project, environ, Collector(None))
    if domain is None:
        return SystemContext(project, environ, values=values)
    return SystemContext(project, environ, Merged(domain), values=values)


def load_system(path: Path, project: Project, environ: Mapping[str, str]) -> SystemContext:
    """Read `_system.yaml` and the `_domain.yaml` above it; raises only when the system cannot be read at all."""
    document, file, problems = read_system(path)
    domain = read_domain(path.parent.parent / names.DOMAIN_FILE)
    merged, disagreed = under_system(document, domain.document)
    problems += domain.missed_by(document)
    collector = Collector(merged)
    for at in disagreed:
        collector.add(
            "LL307",
            f"The system says `{dotted(at)}: {document.data[str(at[0])]}`, its domain {merged.value(at)!r}.",
            at,
            document.locate(at),
        )
    _keep_what_fits(merged, document, collector)
    if merged.value(("slo", "schedule")) is not None:
        collector.add("LL416", "`slo.schedule` is retired; it is kept and not acted upon.", ("slo", "schedule"))
    known = project.environment in file.environments
    if file.environments and not known:
        message = f"`{project.environment}` is not one of the environments {listed(file.environments)}."
        collector.add("LL303", message, ("environments",))
    chosen = file.environments.get(project.environment) or {}
    # An environment that is not there gets no values at all, so that nothing is written to a guessed place.
    defaults = DEFAULT_VALUES if known or not file.environments else {}
    values = _expanded_values(
        {**defaults, **chosen}, project, environ, collector, ("environments", project.environment)
    )
    context = SystemContext(project, environ, merged, file, values, known or not file.environments)
    _expand_blocks(context, merged, collector)
    return SystemContext(
        project,
        environ,
        merged,
        file,
        values,
        context.environment_known,
        (*problems, *domain.problems, *collector.problems),
    )


class Collector:
    """Gathers problems with the place of the file that caused them."""

    def __init__(self, merged: Merged | None) -> None:
        self.merged = merged
        self.problems: list[Problem] = []

    def add(self, code: str, message: str, path: YamlPath, location: Any = None, found: Any = None) -> None:
        where = location or (self.merged.locate(path) if self.merged else None)
        problem = (
            Problem(code, message, where, path, found) if where else Problem(code, message, path=path, found=found)
        )
        self.problems.append(problem)

    def expander(self, environ: Mapping[str, str], under: YamlPath = ()) -> Callable[[str, YamlPath], str]:
        """Expands `${NAME}`, reporting what is not set: an error in a path, a warning elsewhere.

        A secret, or what may be one, is never filled in. In a path it is an error; elsewhere, as the token of a
        webhook, it stays the reference that it is.
        """

        def refused(name: str) -> bool:
            return is_secret(name) or is_withheld(name, environ)

        def change(text: str, path: YamlPath) -> str:
            if "${" not in text or is_sql(path):
                return text
            at = (*under, *path)

            def missing(name: str) -> None:
                if environ.get(name) and not is_secret(name):
                    self.withheld_variable(name, at)
                else:
                    self.missing_variable(name, at)

            def stays(name: str) -> bool:
                if is_withheld(name, environ) and not is_secret(name):
                    self.withheld_variable(name, at)
                return refused(name)

            return expand(text, environ, missing, refused=refused if is_path(at) else is_engine_secret, kept=stays)

        return change

    def withheld_variable(self, name: str, path: YamlPath) -> None:
        message = f"`{dotted(path)}` asks for the environment variable {name}, which may hold a secret: not filled in."
        self.add("LL314" if is_path(path) else "LL315", message, path, found=name)

    def missing_variable(self, name: str, path: YamlPath) -> None:
        if is_secret(name):
            self.add("LL309", f"`{dotted(path)}` asks for the secret {name}.", path, found=name)
        elif is_path(path):
            self.add(
                "LL305", f"`{dotted(path)}` needs the environment variable {name}, which is not set.", path, found=name
            )
        else:
            self.add(
                "LL304", f"`{dotted(path)}` uses the environment variable {name}, which is not set.", path, found=name
            )


def _expanded_values(
    values: Mapping[str, Any], project: Project, environ: Mapping[str, str], collector: Collector, at: YamlPath = ()
) -> dict[str, str]:
    """The environment's values with the project's laid over them, expanded; nobody reports what is overlaid."""
    said = {key: str(value) for key, value in values.items() if value is not None}
    laid = _laid_over(said, project)
    own = {key: _on_new_root(value, said, laid) for key, value in said.items() if key not in laid}
    if "storage_root" not in project.values:
        own |= _delivered(said, own, project, collector, at)
    expanded: dict[str, str] = rewritten(own, collector.expander(environ, at))
    overlay: dict[str, str] = rewritten(laid, Collector(None).expander(environ))
    return expanded | overlay


def _laid_over(said: Mapping[str, str], project: Project) -> dict[str, str]:
    """The project's values. Where they name no storage root, tables are in the default one: so is all else, then.

    Only a folder gives way to it: an address and what a variable says are meant for the place where the run is.
    """
    own = said.get("storage_root")
    moves = own is not None and "://" not in own and "${" not in own
    return ({"storage_root": DEFAULT_LAKE} if moves else {}) | dict(project.values)


def _on_new_root(value: str, said: Mapping[str, str], laid: Mapping[str, str]) -> str:
    """A root that an environment writes out below its storage root moves with it, as one that names it would."""
    old, new = said.get("storage_root"), laid.get("storage_root")
    inside = old and new and value.startswith(f"{old.rstrip('/')}/")
    return f"{new}{value[len(str(old).rstrip('/')) :]}" if inside else value


def _delivered(
    said: Mapping[str, str], moved: Mapping[str, str], project: Project, collector: Collector, at: YamlPath
) -> dict[str, str]:
    """Landing folders that are there, and so stay, since nobody has asked for the lake that the others move to.

    Others have put files into them. One that is not there moves, as when data is made here, and is told of.
    """
    merged = collector.merged.data if collector.merged else {}
    owners = {key: merged[key] for key in ("domain", "system") if isinstance(merged.get(key), str)}
    stay = {}
    for key, new in moved.items():
        if "landing" not in key or new == said[key]:
            continue
        folder = project.root / fill(said[key], owners)
        if folder.is_dir():
            stay[key] = said[key]
        else:
            message = f"`{key}: {said[key]}` is not there, so landing files are looked for in {new}."
            collector.add("LL316", message, (*at, key), found=str(folder))
    return stay


def _expand_blocks(context: SystemContext, merged: Merged, collector: Collector) -> None:
    known = context.values_for(None, None)
    for key in (*_EXPANDED_BLOCKS, "storage"):
        if key in merged.data:
            expanded = rewritten(merged.data[key], collector.expander(context.environ, (key,)))
            # Layer templates may name the contract's own table, so only known names are filled here.
            merged.data[key] = rewritten(expanded, lambda text, _: fill(text, known)) if key != "storage" else expanded


def _keep_what_fits(merged: Merged, document: Document, collector: Collector) -> None:
    """Where the domain's part makes a block invalid, the system's own block is used alone."""
    for key in INHERITED_KEYS:
        if key not in merged.data or merged.data[key] is document.data.get(key):
            continue
        file, problems = validated(SystemFile, {key: merged.data[key]}, merged.locate)
        if file is None and key in document.data:
            collector.add("LL308", f"The domain's `{key}` does not fit the system's: {problems[0].message}", (key,))
            merged.data[key] = document.data[key]
            merged.origins = {path: origin for path, origin in merged.origins.items() if path[0] != key}
