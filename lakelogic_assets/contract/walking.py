"""Which YAML files of a folder may belong to a project, and of which kind they are by their names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from lakelogic_assets import names

_SKIPPED_FOLDERS = frozenset({names.POLICY_PACKS_FOLDER, "node_modules", "__pycache__"})
REGISTRY_FILES = (names.SYSTEM_FILE, names.REGISTRY_FILE, names.DOMAIN_FILE)


@dataclass(frozen=True)
class Found:
    """What a walk through a folder turns up."""

    systems: list[Path] = field(default_factory=list)
    drivers: list[Path] = field(default_factory=list)
    domains: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)


def has_registry(folder: Path) -> bool:
    return any((folder / name).is_file() for name in REGISTRY_FILES)


def files_below(folder: Path, *, domains_only: bool = False) -> Found:
    """The YAML below a folder; `domains_only` passes over its folders that are no domain."""
    found = Found()
    for directory, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        if domains_only and directory == str(folder) and not has_registry(folder):
            folders[:] = [name for name in folders if (folder / name / names.DOMAIN_FILE).is_file()]
            files = []
        for name in sorted(files):
            if name.endswith((".yaml", ".yml")):
                _sort_in(found, Path(directory, name))
    return found


def _sort_in(found: Found, path: Path) -> None:
    kinds = {names.SYSTEM_FILE: found.systems, names.REGISTRY_FILE: found.drivers, names.DOMAIN_FILE: found.domains}
    if path.name in kinds:
        kinds[path.name].append(path)
    elif not path.name.startswith(("_", ".")):
        found.others.append(path)
