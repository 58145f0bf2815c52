"""`policy_packs/<name>.yaml` — rules, steps and defaults that several contracts share.

A pack is the weakest voice: a contract and the registries above it win over its defaults. Its rules are added to the
contract's own, and its steps are placed before, after or instead of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from lakelogic_assets import names
from lakelogic_assets.contract.base import Bag, Section
from lakelogic_assets.contract.inheritance import Merged, Origin
from lakelogic_assets.contract.lineage import Lineage
from lakelogic_assets.contract.placeholders import rewritten
from lakelogic_assets.contract.problems import Problem, YamlPath
from lakelogic_assets.contract.quality import Quality
from lakelogic_assets.contract.quarantine import Quarantine
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.service_levels import ServiceLevels
from lakelogic_assets.contract.transformations import Transformation
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

Mode = Literal["prepend", "append", "replace"]
Steps = tuple[Transformation, ...]

_PACK_NAME = re.compile(r"[A-Za-z0-9][\w.-]*\Z")
_STEP_KEYS = ("transformations", "transformations_mode")


class PolicyPack(Section):
    """One file of `policy_packs/`; keys that begin with a layer count for that layer only."""

    name: str | None = None
    description: str | None = None
    defaults: Bag = Field(default_factory=dict)
    quality: Quality | None = None
    service_levels: ServiceLevels | None = None
    lineage: Lineage | None = None
    quarantine: Quarantine | None = None
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


def pack_file(project: Project, name: str) -> Path | None:
    """The file of a pack, if the project has it; a name is a name, never a path."""
    if not _PACK_NAME.match(name):
        return None
    files = (project.contracts / names.POLICY_PACKS_FOLDER / f"{name}{suffix}" for suffix in (".yaml", ".yml"))
    return next((path for path in files if path.is_file()), None)


def pack_files(project: Project) -> tuple[Path, ...]:
    folder = project.contracts / names.POLICY_PACKS_FOLDER
    return tuple(sorted(path for path in folder.glob("*.y*ml") if path.is_file()))


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
        message = f"The file declares `{pack.name}`."
        problems = [Problem("LL504", message, document.locate(at), at, pack.name, suggestion=path.stem)]
    return (None if problems else document), tuple(problems)


def apply_policy_pack(
    merged: Merged, project: Project, layer: str | None, fill: Callable[[str, YamlPath], str]
) -> tuple[Problem, ...]:
    """Lay the pack that `metadata.policy_pack` names under a contract; `fill` puts values for placeholders."""
    metadata = merged.value(("metadata",))
    name = metadata.get("policy_pack") if isinstance(metadata, dict) else None
    path = pack_file(project, name) if isinstance(name, str) else None
    if path is None:
        return ()
    pack, problems = read_pack(path)
    if pack is not None:
        lay_pack_under(merged, pack, rewritten(pack.data, fill), names.LAYER_SYNONYMS.get((layer or "").lower(), layer))
    return problems


def lay_pack_under(merged: Merged, pack: Document, data: Mapping[str, Any], layer: str | None) -> None:
    """Add a pack's rules and steps, and supply what the contract leaves open; `data` are the pack's values."""
    for key in (f"{layer}_defaults", "defaults"):  # what is filled first wins
        defaults = {name: value for name, value in (data.get(key) or {}).items() if name not in _STEP_KEYS}
        merged.fill((), defaults, pack, (key,), deep=True)
    for section in ("service_levels", "lineage", "quarantine"):
        merged.fill((section,), data.get(section) or {}, pack, (section,), deep=True)
    quality = data.get("quality") or {}
    merged.fill(
        ("quality",), {key: value for key, value in quality.items() if not isinstance(value, list)}, pack, ("quality",)
    )
    for key in ("row_rules", "dataset_rules"):
        _insert(merged, ("quality", key), quality.get(key), pack, ("quality", key), "append")
    mode = data.get("transformations_mode") or "prepend"
    for prefix in ("", f"{layer}_"):
        key = f"{prefix}transformations"
        _insert(merged, ("transformations",), data.get(key), pack, (key,), data.get(f"{key}_mode") or mode)


def _insert(merged: Merged, path: YamlPath, items: Any, pack: Document, at: YamlPath, mode: str) -> None:
    """Put a pack's list beside the contract's own, keeping the place of every entry."""
    own = merged.value(path)
    if not items or not (own is None or isinstance(own, list)):
        return
    added = [(item, Origin(pack, (*at, index))) for index, item in enumerate(items)]
    kept = [(item, merged.origin((*path, index))) for index, item in enumerate(own or ())]
    entries = added if mode == "replace" else kept + added if mode == "append" else added + kept
    was = merged.origin(path)
    merged.origins = {known: origin for known, origin in merged.origins.items() if known[: len(path)] != path}
    merged.put(path, [item for item, _ in entries], was if own is not None else Origin(pack, at))
    merged.origins |= {(*path, index): origin for index, (_, origin) in enumerate(entries)}
