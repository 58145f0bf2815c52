"""`policy_packs/<name>.yaml` — rules, steps and defaults that several contracts share.

A pack is the weakest voice: a contract and the registries above it win over its defaults. Its rules are added to the
contract's own, and its steps are placed before, after or instead of them (`transformations_mode`). Whole sections of a
contract at the root of a pack, such as `materialization:` or `service_levels:`, are defaults too; rules under
`defaults:` are added like any others.

A pack is chosen in three places; of two packs that say the same thing, the one chosen further up in this list wins:

1. on the command line: `--policy-pack NAME`, as often as needed; `--policy-pack-dir DIR` is searched first
2. in a contract: `metadata: {policy_pack: NAME}`, or a list of names
3. for a layer, in `_system.yaml` or the `_domain.yaml` above it: `policy_packs: {silver: NAME, _all: [NAME, NAME]}`

With `layers:` a pack says which layers it is for. One that was chosen for all contracts passes by those of other
layers; a contract that names a pack of another layer is a problem (LL429). A rule of a pack that has the name of a
contract's rule is left out, because the contract has it already; if it checks something else, that is a contradiction
and a problem (LL428). `lakelogic show` follows every value of a pack with the pack's file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Field

from lakelogic_assets import names
from lakelogic_assets.contract.base import Bag, Names, Section, problem
from lakelogic_assets.contract.inheritance import Merged, Origin
from lakelogic_assets.contract.lineage import Lineage
from lakelogic_assets.contract.materialization import Materialization
from lakelogic_assets.contract.placeholders import rewritten
from lakelogic_assets.contract.problems import Location, Problem, YamlPath, listed, nearest, shown
from lakelogic_assets.contract.quality import Quality
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.server import SchemaPolicy, Server
from lakelogic_assets.contract.service_levels import ServiceLevels
from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

Mode = Literal["prepend", "append", "replace"]
Steps = tuple[Transformation, ...]

_PACK_NAME = re.compile(r"[A-Za-z0-9][\w.-]*\Z")
_SUFFIXES = (".yaml", ".yml")
_STEP_KEYS = ("transformations", "transformations_mode")
_SECTIONS = (
    "service_levels", "lineage", "quarantine", "materialization", "schema_policy", "server", "metadata", "compliance",
)  # fmt: skip
_RULES = ("row_rules", "dataset_rules")
_SAID_ABOUT_A_RULE = frozenset({"name", "description", "severity", "category"})


def _check_layers(layers: tuple[str, ...]) -> tuple[str, ...]:
    for layer in layers:
        if layer.lower() not in names.LAYER_SYNONYMS:
            raise problem("LL104", f"{shown(layer)} is not a layer.", allowed=list(names.LAYER_SYNONYMS))
    return layers


Layers = Annotated[Names, AfterValidator(_check_layers)]


class PolicyPack(Section):
    """One file of `policy_packs/`; keys that begin with a layer count for that layer only."""

    name: str | None = None
    version: str | float | None = None
    description: str | None = None
    layers: Layers = Field(default=(), validation_alias=AliasChoices("layers", "layer"))
    defaults: Bag = Field(default_factory=dict)
    quality: Quality | None = None
    service_levels: ServiceLevels | None = None
    lineage: Lineage | None = None
    quarantine: Quarantine | None = None
    materialization: Materialization | None = None
    schema_policy: SchemaPolicy | None = None
    server: Server | None = None
    metadata: Bag = Field(default_factory=dict)
    compliance: Bag = Field(default_factory=dict)
    transformations: Steps = ()
    transformations_mode: Mode = "prepend"
    reference_defaults: Bag = Field(default_factory=dict)
    reference_transformations: Steps = ()
    reference_transformations_mode: Mode | None = None
    bronze_defaults: Bag = Field(default_factory=dict)
    bronze_transformations: Steps = ()
    bronze_transformations_mode: Mode | None = None
    silver_defaults: Bag = Field(default_factory=dict)
    silver_transformations: Steps = ()
    silver_transformations_mode: Mode | None = None
    gold_defaults: Bag = Field(default_factory=dict)
    gold_transformations: Steps = ()
    gold_transformations_mode: Mode | None = None


def pack_folders(project: Project) -> tuple[Path, ...]:
    """Where packs are looked for, in this order."""
    own = project.contracts / names.POLICY_PACKS_FOLDER
    return (project.policy_packs_folder, own) if project.policy_packs_folder else (own,)


def pack_file(project: Project, name: str) -> Path | None:
    """The file of a pack, if there is one; a name is a name, never a path."""
    if not _PACK_NAME.match(name):
        return None
    files = (folder / f"{name}{suffix}" for folder in pack_folders(project) for suffix in _SUFFIXES)
    return next((path for path in files if path.is_file()), None)


def pack_files(project: Project) -> dict[str, Path]:
    """Every pack by its name."""
    found: dict[str, Path] = {}
    for folder in pack_folders(project):
        for path in sorted(folder.glob("*.y*ml")):
            if path.suffix in _SUFFIXES and path.is_file():
                found.setdefault(path.stem, path)
    return found


def read_pack(path: Path) -> tuple[Document | None, tuple[Problem, ...]]:
    """A pack that may be applied, and what is wrong with its file; a pack with errors is not applied."""
    try:
        state = path.stat()
    except OSError:
        return _read_pack(path, (0, 0))
    return _read_pack(path, (state.st_mtime_ns, state.st_size))


# Every contract of a layer may name the same pack: it is read once for as long as the file does not change.
@lru_cache(maxsize=64)
def _read_pack(path: Path, _state: tuple[int, int]) -> tuple[Document | None, tuple[Problem, ...]]:
    try:
        document = read_document(path)
    except ContractError as error:
        return None, error.problems
    pack, problems = validated(PolicyPack, document.data, document.locate)
    if pack is not None and pack.name not in (None, path.stem):
        at: YamlPath = ("name",)
        message = f"The policy pack calls itself `{pack.name}`; it is chosen as `{path.stem}`."
        problems = [Problem("LL430", message, document.locate(at), at, pack.name, suggestion=path.stem)]
    return (None if pack is None else document), tuple(problems)


@dataclass(frozen=True, slots=True)
class ChosenPack:
    """A pack under one contract, and the place that names it; without a document there is a problem instead."""

    name: str
    document: Document | None
    problems: tuple[Problem, ...] = ()


def chosen_packs(merged: Merged, registry: Merged | None, project: Project, layer: str | None) -> list[ChosenPack]:
    """The packs of a contract, the strongest first: asked for, named by the contract, named for its layer."""
    layer = _plain_layer(layer)
    found = {}
    for name, path, origin in _named(merged, registry, project, layer):
        if name not in found:
            found[name] = _chosen(name, path, origin, project, layer)
    return [pack for pack in found.values() if pack is not None]


def _named(
    merged: Merged, registry: Merged | None, project: Project, layer: str | None
) -> Iterator[tuple[str, YamlPath, Merged | None]]:
    """Every name of a pack, with where it stands; no place means that it was asked for."""
    for name in project.policy_packs:
        yield name, (), None
    metadata = merged.value(("metadata",))
    at: YamlPath = ("metadata", "policy_pack")
    said: Any = metadata.get("policy_pack") if isinstance(metadata, dict) else None
    yield from ((each, at, merged) for each in (said if isinstance(said, list) else [said]) if isinstance(each, str))
    by_layer = registry.data.get("policy_packs") if registry else None
    for key, listed_names in by_layer.items() if isinstance(by_layer, dict) else ():
        if key == names.EVERY_LAYER or _plain_layer(key) == layer:
            for name in [listed_names] if isinstance(listed_names, str) else listed_names:
                yield name, ("policy_packs", key), registry


def _chosen(name: str, path: YamlPath, origin: Merged | None, project: Project, layer: str | None) -> ChosenPack | None:
    """A pack that was chosen; None where it is for other layers and nobody chose it for this one alone."""
    file = pack_file(project, name)
    if file is None:
        return ChosenPack(name, None, (no_such_pack(name, project, origin.locate(path), path),) if origin else ())
    document, problems = read_pack(file)
    wanted = layers_of(document)
    if not wanted or layer in wanted:
        return ChosenPack(name, document, problems)
    if origin is None or path[-1] == names.EVERY_LAYER:
        return None
    message = f"The policy pack `{name}` is for {listed(sorted(wanted))}, not for {layer or 'no layer'}."
    return ChosenPack(name, None, (Problem("LL429", message, origin.locate(path), path, name),))


def no_such_pack(name: str, project: Project, where: Location, path: YamlPath = ()) -> Problem:
    known = tuple(pack_files(project))
    message = f"There is no policy pack {shown(name)}; there are {listed(known) or 'none'}."
    return Problem("LL425", message, where, path, name, known, nearest(name, known))


def layers_of(pack: Document | None) -> frozenset[str]:
    """The layers that a pack is for; none means all."""
    said = pack.data.get("layers", pack.data.get("layer")) if pack else None
    return frozenset(str(_plain_layer(each)) for each in ([said] if isinstance(said, str) else said or ()))


def _plain_layer(layer: str | None) -> str | None:
    return names.LAYER_SYNONYMS.get(layer.lower(), layer) if layer else None


def lay_packs_under(
    merged: Merged, packs: Sequence[ChosenPack], layer: str | None, fill: Callable[[str, YamlPath], str]
) -> list[Problem]:
    """Lay packs under a contract; `fill` puts values for placeholders.

    What a pack says by itself counts less than what a stronger pack, a registry or the contract says. Its rules and
    steps join theirs.
    """
    problems = [problem for pack in packs for problem in pack.problems]
    read = [(pack.document, rewritten(pack.document.data, fill)) for pack in packs if pack.document]
    layer = _plain_layer(layer)
    for document, data in read:
        _supply(merged, document, data, layer)
    for document, data in read:
        for at in (("quality",), ("defaults", "quality"), (f"{layer}_defaults", "quality")):
            for key in _RULES:
                problems += _add_rules(merged, document, data, (*at, key))
    for document, data in reversed(read):  # the steps of a stronger pack go around those of a weaker one
        _add_steps(merged, document, data, layer)
    return problems


def _supply(merged: Merged, pack: Document, data: Mapping[str, Any], layer: str | None) -> None:
    """What the contract leaves open; what is filled first wins."""
    for key in (f"{layer}_defaults", "defaults"):
        defaults = {name: value for name, value in (data.get(key) or {}).items() if name not in _STEP_KEYS}
        if isinstance(quality := defaults.get("quality"), dict):
            defaults["quality"] = {name: value for name, value in quality.items() if name not in _RULES}
        merged.fill((), defaults, pack, (key,), deep=True)
    for section in _SECTIONS:
        merged.fill((section,), data.get(section) or {}, pack, (section,), deep=True)
    quality = data.get("quality") or {}
    single = {key: value for key, value in quality.items() if not isinstance(value, list)}
    merged.fill(("quality",), single, pack, ("quality",))


def _add_steps(merged: Merged, pack: Document, data: Mapping[str, Any], layer: str | None) -> None:
    mode = data.get("transformations_mode") or "prepend"
    for prefix in ("", f"{layer}_"):
        key = f"{prefix}transformations"
        _insert(merged, ("transformations",), data.get(key), pack, (key,), data.get(f"{key}_mode") or mode)


def _add_rules(merged: Merged, pack: Document, data: Mapping[str, Any], at: YamlPath) -> Iterator[Problem]:
    """Rules the contract does not have yet; one of the same name that checks something else is a contradiction."""
    path: YamlPath = at[-2:]
    own = merged.value(path)
    known = {_rule_name(rule): (index, rule) for index, rule in enumerate(own if isinstance(own, list) else ())}
    rules: Any = data
    for part in at:
        rules = rules.get(part) if isinstance(rules, dict) else None
    rules = rules if isinstance(rules, list) else []
    taken: list[int] = []
    for number, rule in enumerate(rules):
        name = _rule_name(rule)
        if name is None or name not in known:
            continue
        taken.append(number)
        index, other = known[name]
        if _check_of(rule) != _check_of(other):
            where = pack.locate((*at, number))
            message = (
                f"The rule `{name}` is another one in the policy pack ({where.file and where.file.name}:{where.line})."
            )
            yield Problem("LL428", message, merged.locate((*path, index)), (*path, index), name)
    _insert(merged, path, rules, pack, at, "append", without=taken)


def _rule_name(rule: Any) -> str | None:
    name = rule.get("name") if isinstance(rule, dict) else None
    return name if isinstance(name, str) else None


def _check_of(rule: dict[str, Any]) -> dict[str, Any]:
    """What a rule tests; how much it counts and how it is explained is the contract's to say."""
    tested = {key: value for key, value in rule.items() if key not in _SAID_ABOUT_A_RULE and value is not None}
    return {key: " ".join(value.split()) if isinstance(value, str) else value for key, value in tested.items()}


def _insert(
    merged: Merged, path: YamlPath, items: Any, pack: Document, at: YamlPath, mode: str, without: Collection[int] = ()
) -> None:
    """Put a pack's list beside the contract's own, keeping the place of every entry."""
    own = merged.value(path)
    if not items or len(without) == len(items) or not (own is None or isinstance(own, list)):
        return
    added = [(item, Origin(pack, (*at, index))) for index, item in enumerate(items) if index not in without]
    kept = [(item, merged.origin((*path, index))) for index, item in enumerate(own or ())]
    entries = added if mode == "replace" else kept + added if mode == "append" else added + kept
    was = merged.origin(path)
    merged.origins = {known: origin for known, origin in merged.origins.items() if known[: len(path)] != path}
    merged.put(path, [item for item, _ in entries], was if own is not None else Origin(pack, at))
    merged.origins |= {(*path, index): origin for index, (_, origin) in enumerate(entries)}
