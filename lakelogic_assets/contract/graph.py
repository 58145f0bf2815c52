"""Which contract waits for which: the union of everything a contract says it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.problems import YamlPath, nearest
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


@dataclass(frozen=True, slots=True)
class Unresolved:
    contract: Contract
    reference: Reference
    suggestion: str | None
    external: bool
    """Outside of the project by its name, so nothing is missing."""


def references(contract: Contract) -> Iterator[Reference]:
    """Everything that a contract reads, by each of the five ways it can say so."""
    source = contract.source
    if source is not None and source.table:
        yield Reference(source.table, "source", ("source", "path"), is_table=True)
    for index, link in enumerate(contract.links):
        if link.table_name:
            yield Reference(link.table_name, "links", ("links", index, "table" if link.table else "path"), is_table=True)
    for index, name in enumerate(contract.upstream_names):
        at: YamlPath = ("upstream", index) if contract.upstream else ("info", "upstream", index)
        yield Reference(name, "upstream", at)
    for index, upstream in enumerate(contract.upstream_contracts):
        yield Reference(upstream.contract, "upstream_contracts", ("upstream_contracts", index, "contract"))
    for name in contract.place.depends_on:
        yield Reference(name, "depends_on", ())


class Names:
    """Finds a contract by any of the names people use for it."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        self.exact: dict[str, Key] = {}
        self.loose: dict[str, set[Key]] = {}
        self.domains: set[str] = set()
        for contract in contracts:
            self._add(contract)

    def _add(self, contract: Contract) -> None:
        domain, system, table = contract.domain or "", contract.system or "", contract.table
        target = contract.materialization.target_path
        for name in (f"{domain}.{table}", f"{domain}/{table}", f"{domain}.{system}.{table}"):
            self.exact.setdefault(name.lower(), contract.key)
        if target and "/" not in target:
            self.exact.setdefault(plain_table(target).lower(), contract.key)
        path = contract.place.path
        for name in (table, contract.dataset_name, contract.place.entity, path and path.stem, contract.contract_file_name):
            if name:
                self.loose.setdefault(name.lower(), set()).add(contract.key)
        if domain:
            self.domains.add(domain.lower())

    def find(self, name: str, near: Contract | None = None) -> Key | None:
        """The contract meant by `name`; of several, the one in the same system or domain."""
        folded = plain_table(name).lower()
        if folded in self.exact:
            return self.exact[folded]
        found = self.loose.get(folded) or self._by_last_part(folded)
        if not found:
            return None
        if len(found) > 1 and near is not None:
            found = {key for key in found if key[0] == near.domain and key != near.key} or found
        return next(iter(found)) if len(found) == 1 else None

    def _by_last_part(self, name: str) -> set[Key] | None:
        """`catalog.domain.table`, whatever the catalog is called here."""
        parts = name.split(".")
        key = self.exact.get(".".join(parts[-2:])) if len(parts) > 2 else None
        return {key} if key else None

    def nearest(self, name: str) -> str | None:
        return nearest(plain_table(name).split(".")[-1], self.loose)

    def is_external(self, reference: Reference) -> bool:
        """A table in a schema that none of the project's domains has is somebody else's."""
        parts = reference.name.lower().split(".")
        return reference.is_table and (len(parts) < 2 or parts[-2] not in self.domains)


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
    def levels(self) -> tuple[tuple[Key, ...], ...]:
        """Contracts in the order they can run; those of one level do not wait for each other."""
        left = {node: set(ups) for node, ups in self.upstream.items()}
        levels: list[tuple[Key, ...]] = []
        while ready := tuple(sorted(node for node, ups in left.items() if not ups)):
            levels.append(ready)
            for node in ready:
                del left[node]
            for ups in left.values():
                ups.difference_update(ready)
        return tuple(levels)

    @property
    def cycle(self) -> tuple[Key, ...]:
        """One circle of contracts that wait for each other, or nothing."""
        ordered = {node for level in self.levels for node in level}
        start = next((node for node in self.nodes if node not in ordered), None)
        if start is None:
            return ()
        trail: list[Key] = []
        node = start
        while node not in trail:
            trail.append(node)
            node = next(up for up in self.upstream[node] if up not in ordered)
        return tuple(reversed(trail[trail.index(node) :]))

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
    known = Names(contracts.values())
    edges: dict[tuple[Key, Key], Edge] = {}
    external: list[Edge] = []
    unresolved: list[Unresolved] = []
    for contract in contracts.values():
        for reference in references(contract):
            key = known.find(reference.name, near=contract)
            if key is None:
                outside = known.is_external(reference)
                unresolved.append(Unresolved(contract, reference, known.nearest(reference.name), outside))
                if outside:
                    external.append(Edge((reference.name,), contract.key, reference.via))
            elif key != contract.key:
                edges.setdefault((key, contract.key), Edge(key, contract.key, reference.via))
    return Graph(tuple(contracts), tuple(edges.values()), tuple(external), tuple(unresolved))
