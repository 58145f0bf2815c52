"""All contracts of a project, found by name and put into order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.graph import Graph, Key, Names, build_graph
from lakelogic_assets.contract.inheritance import Merged
from lakelogic_assets.contract.problems import Problem, listed
from lakelogic_assets.contract.resources import UNREGISTERED_VARIABLE
from lakelogic_assets.errors import NotFoundError, RequestError


@dataclass(frozen=True)
class Registry:
    """The valid contracts of a project, where their values came from, and the problems of all its files."""

    contracts: Mapping[Key, Contract]
    merged: Mapping[Key, Merged]
    problems: tuple[Problem, ...] = ()
    files: int = 0
    claimed: frozenset[Path] = frozenset()
    """Every file that an index names, whether it is there or not."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.is_error)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.is_error)

    @cached_property
    def graph(self) -> Graph:
        return build_graph(self.contracts)

    @cached_property
    def _names(self) -> Names:
        return Names(self.contracts)

    def __iter__(self) -> Iterator[Contract]:
        return iter(self.contracts.values())

    def __len__(self) -> int:
        return len(self.contracts)

    def find(self, name: str) -> Contract:
        """A contract by its table, `domain/table`, entity or file name."""
        return self.contracts[self._key(name)]

    def candidates(self, name: str, near: Key | None = None) -> tuple[Key, ...]:
        """The contracts that a name may mean, seen from the contract `near`."""
        return self._names.candidates(name, near)

    def _key(self, name: str) -> Key:
        found = self.candidates(name.removesuffix(".yaml").removesuffix(".yml"))
        if len(found) > 1:
            raise NotFoundError(f"{name!r} may be several contracts: {', '.join('/'.join(key) for key in found)}.")
        if not found:
            near = self._names.nearest(name)
            raise NotFoundError(f"There is no contract called {name!r}.", [near] if near else [])
        return found[0]

    def select(self, words: Iterable[str]) -> frozenset[Key]:
        """Contracts by name, glob, `layer:silver`, `domain:retail` or `system:crm`; `+name`, `name+` add neighbours."""
        chosen: frozenset[Key] = frozenset()
        for word in words:
            name = word.strip("+")
            keys = self._matching(name)
            chosen |= self.graph.around(keys, up=word.startswith("+"), down=word.endswith("+"))
        return chosen

    def running(self, keys: Iterable[Key]) -> list[Key]:
        """Those of some contracts that are run; to ask for none but others cannot be meant, and the reason is told."""
        asked = [*keys]
        running = [key for key in asked if self.contracts[key].place.enabled]
        if asked and not running:
            told = [_why_not_run(self.contracts[key]) for key in asked]
            raise RequestError(f"{listed(told, 3)}.")
        return running

    def _where(self, chosen: Callable[[Contract], bool]) -> frozenset[Key]:
        return frozenset(key for key, contract in self.contracts.items() if chosen(contract))

    def _matching(self, word: str) -> frozenset[Key]:
        attribute, _, value = word.partition(":")
        if value and attribute in ("layer", "domain", "system"):
            found = self._where(lambda contract: fnmatchcase(str(getattr(contract, attribute) or ""), value))
        elif any(letter in word for letter in "*?["):
            found = self._where(lambda each: fnmatchcase(each.table, word) or fnmatchcase("/".join(each.key), word))
        else:
            found = frozenset({self._key(word)})
        if not found:
            raise NotFoundError(f"Nothing is selected by {word!r}.")
        return found


def _why_not_run(contract: Contract) -> str:
    name = "/".join(contract.key)
    if contract.place.registered:
        return f"`{name}` is switched off by `enabled: false` in its index"
    return (
        f"`{name}` is in no index of its system and not run: add it to `contracts:` of {names.SYSTEM_FILE}, or say "
        f"`include_unregistered: true` in resources/ or {UNREGISTERED_VARIABLE}=1"
    )
