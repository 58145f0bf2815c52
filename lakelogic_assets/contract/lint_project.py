"""What is wrong between contracts: it only shows when they stand side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import references
from lakelogic_assets.contract.policy_packs import layers_of, no_such_pack, pack_files, read_pack
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, listed, nearest, shown, slip
from lakelogic_assets.contract.source import plain_table
from lakelogic_assets.project import Project

if TYPE_CHECKING:
    from lakelogic_assets.contract.registry import Registry
    from lakelogic_assets.contract.resolving import Resolved
    from lakelogic_assets.contract.resources import PartitionSet


def lint_project(
    registry: Registry,
    duplicates: Sequence[tuple[Resolved, Contract]],
    project: Project,
    unjudged: Collection[str] = (),
    partitions: Mapping[str, PartitionSet] | None = None,
) -> list[Problem]:
    """Everything that only shows when contracts stand side by side; `unjudged` are names of contracts with errors."""
    problems = list(_duplicates(duplicates))
    problems += _unknown_upstreams(registry, unjudged)
    problems += _cycles(registry)
    problems += _policy_packs(registry, project)
    problems += _partition_sets(registry, project, partitions or {})
    problems += lint_patience(registry, unjudged)
    return problems


def _duplicates(found: Iterable[tuple[Resolved, Contract]]) -> Iterator[Problem]:
    for resolved, first in found:
        path: YamlPath = ("info", "table_name")
        where = f" too ({first.place.path})" if first.place.path else ""
        message = f"The table `{'/'.join(first.key)}` is made by `{first.table}`{where}."
        yield Problem("LL403", message, resolved.merged.locate(path), path, first.table)


def _unknown_upstreams(registry: Registry, unjudged: Collection[str]) -> Iterator[Problem]:
    for missing in registry.graph.unresolved:
        contract, reference = missing.contract, missing.reference
        known = plain_table(reference.name).split(".")[-1].lower() in unjudged
        if missing.external or known or not _is_judged(contract):
            continue
        where = registry.merged[missing.key].locate(reference.path)
        message = f"`{contract.table}` waits for `{reference.name}` ({reference.via}), which no contract makes."
        if missing.candidates:
            choice = " or ".join("/".join(key) for key in missing.candidates)
            message = f"`{contract.table}` waits for `{reference.name}` ({reference.via}), which may be {choice}."
        yield Problem("LL401", message, where, reference.path, reference.name, suggestion=missing.suggestion)


def _is_judged(contract: Contract) -> bool:
    """A contract that no registry names may be one of many that are not here."""
    return contract.place.registered and contract.place.enabled


def _cycles(registry: Registry) -> Iterator[Problem]:
    edges = {(edge.downstream, edge.upstream): edge for edge in registry.graph.edges} if registry.graph.cycles else {}
    for circle in registry.graph.cycles:
        chain = " → ".join("/".join(key) for key in (*circle, circle[0]))
        path = edges[circle[0], circle[1 % len(circle)]].path
        where = registry.merged[circle[0]].locate(path)
        yield Problem("LL402", f"Each of these waits for the next: {chain}.", where, path, chain)


def _policy_packs(registry: Registry, project: Project) -> Iterator[Problem]:
    """Packs are checked whether or not anybody takes them; those that were asked for must suit somebody."""
    packs = pack_files(project)
    for path in packs.values():
        yield from read_pack(path)[1]
    taken = {name for contract in registry for name in contract.place.policy_packs}
    for name in project.policy_packs:
        where = Location(option=f"--policy-pack {name}")
        if name not in packs:
            yield no_such_pack(name, project, where)
        elif name not in taken and len(registry) and layers_of(read_pack(packs[name])[0]):
            yield Problem("LL429", f"The policy pack `{name}` is for no layer that is here.", where, (), name)


def _partition_sets(registry: Registry, project: Project, partitions: Mapping[str, PartitionSet]) -> Iterator[Problem]:
    known = {path.stem for path in project.partition_files}
    at: YamlPath = ("extensions", names.PARTITIONS_EXTENSION)
    for key, contract in registry.contracts.items():
        wanted = contract.extensions.get(names.PARTITIONS_EXTENSION)
        if not isinstance(wanted, str) or not known:
            continue
        where = registry.merged[key].locate(at)
        if wanted not in known:
            message = f"There is no partition set {shown(wanted)}; there are {listed(sorted(known))}."
            yield Problem("LL503", message, where, at, wanted, tuple(known), nearest(wanted, known))
        static = partitions[wanted].static if wanted in partitions else None
        if static and not _may_have(contract, static.column):
            message = f"The partition set `{wanted}` is cut by `{static.column}`, which is no column of the contract."
            yield Problem("LL426", message, where, at, static.column)


def _may_have(contract: Contract, column: str) -> bool:
    """A table may have columns that its contract does not declare, where the contract lets it."""
    if not contract.model.fields or contract.policy.unknown_fields == "allow":
        return True
    return column in contract.model.by_name or column in contract.lineage.columns.values()


def lint_patience(registry: Registry, unjudged: Collection[str] = ()) -> Iterator[Problem]:
    """Patience with a table that a contract does not read would never be asked for."""
    for key, contract in registry.contracts.items():
        patience = contract.extensions.get(names.UPSTREAM_FRESHNESS_EXTENSION)
        if not isinstance(patience, dict) or not _is_judged(contract):
            continue
        read = {plain_table(reference.name).lower() for reference in references(contract)} | set(unjudged)
        upstream = registry.graph.upstream[key]
        for name in patience:
            if name == names.ANY_UPSTREAM:
                continue
            if plain_table(name).lower() in read or not set(upstream).isdisjoint(registry.candidates(name, key)):
                continue
            at: YamlPath = ("extensions", names.UPSTREAM_FRESHNESS_EXTENSION, name)
            message = f"`{contract.table}` does not read `{name}`, so how old it may be says nothing."
            near = slip(name, (each[-1] for each in upstream))
            yield Problem("LL401", message, registry.merged[key].locate(at), at, name, suggestion=near)
