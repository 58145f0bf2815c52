"""Which contract waits for which: the union of everything a contract says it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import YamlPath, nearest, slip
from lakelogic_assets.contract.source import plain_table

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """One mention of another table, and where the contract mentions it."""

    name: str
    via: str
    path: YamlPath
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    upstream: Key
    downstream: Key
    via: str
    path: YamlPath = ()
    """Where the downstream contract says so."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    key: Key
    contract: Contract
    reference: Reference
    suggestion: str | None
    external: bool
    """Outside of the project by its name, so nothing is missing."""
    candidates: tuple[Key, ...] = ()
    """Contracts that the name may mean, where it means more than one."""


def references(contract: Contract) -> Iterator[Reference]:
    """Everything that a contract reads, by each of the five ways it can say so."""
    source = contract.source
    if source is not None and source.table:
        yield Reference(source.table, "source", ("source", "path"), is_table=True)
    for index, link in enumerate(contract.links):
        if link.table_name:
            yield Reference(
                link.table_name, "links", ("links", index, "table" if link.table else "path"), is_table=True
            )
    for index, name in enumerate(contract.upstream_names):
        at: YamlPath = ("upstream", index) if contract.upstream else ("info", "upstream", index)
        yield Reference(name, "upstream", at)
    for index, upstream in enumerate(contract.upstream_contracts):
        yield Reference(upstream.contract, "upstream_contracts", ("upstream_contracts", index, "contract"))
    for index, name in enumerate(contract.place.depends_on):
        yield Reference(name, "depends_on", ("depends_on", index))


class Names:
    """Finds a contract by any of the names people use for it."""

    def __init__(self, contracts: Mapping[Key, Contract]) -> None:
        self.contracts = contracts
        self.exact: dict[str, Key] = {}
        self.loose: dict[str, set[Key]] = {}
        self.domains: set[str] = set()
        self.systems: set[str] = set()
        for key, contract in contracts.items():
            self._add(key, contract)

    def _add(self, key: Key, contract: Contract) -> None:
        domain, system, table = contract.domain, contract.system, contract.table
        target = contract.materialization.target_path
        if system:
            self.systems.add(system.lower())
        if domain:
            self.domains.add(domain.lower())
            for name in (f"{domain}.{table}", f"{domain}/{table}", f"{domain}.{system or ''}.{table}"):
                self.exact.setdefault(name.lower(), key)
        if target and "/" not in target:
            self.exact.setdefault(plain_table(target).lower(), key)
        path = contract.place.path
        stem = path.stem if path else None
        for known in (table, contract.dataset_name, contract.place.entity, stem, contract.contract_file_name):
            if known:
                self.loose.setdefault(known.lower(), set()).add(key)

    def find(self, name: str, near: Key | None = None) -> Key | None:
        """The contract meant by `name`; of several, the one in the same system or domain."""
        found = self.candidates(name, near)
        return found[0] if len(found) == 1 else None

    def candidates(self, name: str, near: Key | None = None) -> tuple[Key, ...]:
        """The contracts that `name` may mean, seen from the contract `near`."""
        folded = plain_table(name).lower()
        if folded in self.exact:
            return (self.exact[folded],)
        found = self.loose.get(folded) or self._by_last_parts(folded)
        if len(found) > 1:
            found = {key for key in found if self.contracts[key].place.enabled} or found
        if len(found) > 1 and near is not None:
            found = self._closest(found, near)
        return tuple(sorted(found))

    def _by_last_parts(self, name: str) -> set[Key]:
        """`catalog.domain.table`, whatever the catalog is called here."""
        parts = name.split(".")
        key = self.exact.get(".".join(parts[-2:])) if len(parts) > 2 else None
        return {key} if key else set()

    def _closest(self, found: set[Key], near: Key) -> set[Key]:
        """A name is used for neighbours first, and a layer is built from the one below it."""
        here = self.contracts[near]
        others = found - {near}
        for belongs in (_same_system, _same_domain, _same_folder):
            neighbours = {key for key in others if belongs(self.contracts[key], here)}
            if neighbours:
                others = neighbours
                break
        below = [(rank, key) for key in others if (rank := _rank(self.contracts[key])) < _rank(here)]
        highest = max((rank for rank, _ in below), default=None)
        return {key for rank, key in below if rank == highest} or others

    def nearest(self, name: str) -> str | None:
        return nearest(plain_table(name).split(".")[-1], self.loose)

    def is_external(self, reference: Reference) -> bool:
        """A table in a schema that none of the project's domains has is somebody else's."""
        parts = reference.name.lower().split(".")
        return reference.is_table and (len(parts) < 2 or parts[-2] not in self.domains)

    def is_of_another_domain(self, reference: Reference) -> bool:
        """`layer_system_entity` of a system that is not here, if nothing here is spelled nearly so."""
        layer, _, rest = reference.name.lower().partition("_")
        if layer not in names.LAYERS or "_" not in rest or slip(reference.name, self.loose):
            return False
        return not any(rest.startswith(f"{system}_") for system in self.systems)


def _same_system(one: Contract, other: Contract) -> bool:
    return one.system == other.system and _same_domain(one, other)


def _same_domain(one: Contract, other: Contract) -> bool:
    return one.domain is not None and one.domain == other.domain


def _same_folder(one: Contract, other: Contract) -> bool:
    first, second = one.place.path, other.place.path
    return first is not None and second is not None and first.parent == second.parent


def _rank(contract: Contract) -> int:
    layer = contract.layer
    return names.LAYERS.index(layer) if layer in names.LAYERS else len(names.LAYERS)


@dataclass(frozen=True)
class Graph:
    """Contracts and the edges between them; `external` are tables that no contract makes."""

    nodes: tuple[Key, ...]
    edges: tuple[Edge, ...]
    external: tuple[Edge, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()

    @cached_property
    def upstream(self) -> Mapping[Key, tuple[Key, ...]]:
        found: dict[Key, dict[Key, None]] = {node: {} for node in self.nodes}
        for edge in self.edges:
            found[edge.downstream][edge.upstream] = None
        return {node: tuple(sorted(ups)) for node, ups in found.items()}

    @cached_property
    def downstream(self) -> Mapping[Key, tuple[Key, ...]]:
        found: dict[Key, dict[Key, None]] = {node: {} for node in self.nodes}
        for edge in self.edges:
            found[edge.upstream][edge.downstream] = None
        return {node: tuple(sorted(downs)) for node, downs in found.items()}

    @cached_property
    def outside(self) -> Mapping[Key, frozenset[Key]]:
        """Contract → the tables it reads that no contract makes."""
        found: dict[Key, set[Key]] = {}
        for edge in self.external:
            found.setdefault(edge.downstream, set()).add(edge.upstream)
        return {node: frozenset(ups) for node, ups in found.items()}

    @cached_property
    def levels(self) -> tuple[tuple[Key, ...], ...]:
        """Contracts in the order they can run; those of one level do not wait for each other."""
        waiting = {node: len(ups) for node, ups in self.upstream.items()}
        ready = sorted(node for node, count in waiting.items() if not count)
        levels: list[tuple[Key, ...]] = []
        while ready:
            levels.append(tuple(ready))
            freed: list[Key] = []
            for node in ready:
                for down in self.downstream[node]:
                    waiting[down] -= 1
                    if not waiting[down]:
                        freed.append(down)
            ready = sorted(freed)
        return tuple(levels)

    @cached_property
    def cycles(self) -> tuple[tuple[Key, ...], ...]:
        """Circles of contracts, each of which waits for the next; every contract is in one of them at most."""
        ordered = {node for level in self.levels for node in level}
        circles: list[tuple[Key, ...]] = []
        left = [node for node in self.nodes if node not in ordered]
        while left:
            trail: dict[Key, None] = {}
            node: Key | None = left[0]
            while node is not None and node not in trail:
                trail[node] = None
                node = next((up for up in self.upstream[node] if up not in ordered), None)
            if node is not None:
                steps = list(trail)
                circles.append(tuple(steps[steps.index(node) :]))
            # What hangs on a circle that has been told is not a circle of its own.
            ordered.update(trail)
            left = [each for each in left if each not in ordered]
        return tuple(circles)

    @property
    def cycle(self) -> tuple[Key, ...]:
        """One circle of contracts that wait for each other, or nothing."""
        return self.cycles[0] if self.cycles else ()

    def around(self, chosen: Iterable[Key], *, up: bool = False, down: bool = False) -> frozenset[Key]:
        """The chosen contracts with all that they need, or all that needs them."""
        found = set(chosen)
        for wanted, neighbours in ((up, self.upstream), (down, self.downstream)):
            queue = list(chosen) if wanted else []
            while queue:
                for node in neighbours[queue.pop()]:
                    if node not in found:
                        found.add(node)
                        queue.append(node)
        return frozenset(found)


def build_graph(contracts: Mapping[Key, Contract]) -> Graph:
    known = Names(contracts)
    edges: dict[tuple[Key, Key], Edge] = {}
    external: list[Edge] = []
    unresolved: list[Unresolved] = []
    for key, contract in contracts.items():
        reads = tuple(references(contract))
        # Who reads the tables of domains that are not here may also name their contracts.
        is_part = any("." in each.name and known.is_external(each) for each in reads)
        for reference in reads:
            found = known.candidates(reference.name, near=key)
            if len(found) != 1:
                outside = not found and known.is_external(reference)
                outside = outside or (not found and is_part and known.is_of_another_domain(reference))
                near = None if found else known.nearest(reference.name)
                unresolved.append(Unresolved(key, contract, reference, near, outside, found))
                if outside:
                    external.append(Edge((reference.name,), key, reference.via, reference.path))
            elif found[0] != key:
                edges.setdefault((found[0], key), Edge(found[0], key, reference.via, reference.path))
    return Graph(tuple(contracts), tuple(edges.values()), tuple(external), tuple(unresolved))
