"""Where a project's declarations are, and which environment it runs in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lakelogic_assets import names
from lakelogic_assets.errors import NotFoundError, ProjectError

PROJECT_VARIABLE = "LAKELOGIC_PROJECT_DIR"
ENVIRONMENT_VARIABLE = "LAKELOGIC_ENV"
RESOURCES_VARIABLE = "LAKELOGIC_RESOURCES_DIR"
DEFAULT_ENVIRONMENT = "local"
_PARTS = (names.SYSTEM_FILE, names.DOMAIN_FILE)


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with contracts; `values` are laid over the registries' environment values.

    `resources` is a folder of resources elsewhere: a deployment's own, for a project that is not to be touched.
    """

    root: Path
    environment: str = DEFAULT_ENVIRONMENT
    values: Mapping[str, str] = field(default_factory=dict)
    resources: Path | None = None
    policy_packs: tuple[str, ...] = ()
    """Packs that were asked for beside those that contracts and registries name."""
    policy_packs_folder: Path | None = None
    """A folder that packs are looked for in before the project's own."""
    gates: Mapping[str, str] = field(default_factory=dict)
    """What holds a run back here, as the resources of the environment say."""

    @property
    def contracts(self) -> Path:
        """`contracts/` where there is one; otherwise, or where that is a part of a system, the folder itself."""
        return self.root / "contracts" if self.names_its_contracts else self.root

    @property
    def names_its_contracts(self) -> bool:
        """Whether a folder `contracts/` holds them all; beside a registry it only holds what the registry speaks of."""
        return (self.root / "contracts").is_dir() and not any((self.root / name).is_file() for name in _PARTS)

    @property
    def resource_files(self) -> tuple[Path, ...]:
        """The project's own, then those from elsewhere, which win where both declare one name."""
        elsewhere = _yaml_files(self.resources) if self.resources else ()
        return (*_yaml_files(self.root / "resources"), *elsewhere)

    @property
    def partition_files(self) -> tuple[Path, ...]:
        return tuple(_yaml_files(self.root / "partitions"))

    @property
    def stands_alone(self) -> bool:
        """Whether it is no more than a folder that somebody keeps a contract in, and runs it as one runs a script."""
        parts = [self.root / name for name in ("contracts", *_PARTS)]
        return not (self.resource_files or self.partition_files or any(part.exists() for part in parts))

    def with_packs(self, packs: Iterable[str] | None, folder: str | None) -> Project:
        """The project with policy packs that were asked for once, and the folder to look for them first."""
        if folder is not None and not Path(folder).is_dir():
            raise NotFoundError(f"There is no folder {folder!r} with policy packs.")
        where = Path(folder).resolve() if folder is not None else self.policy_packs_folder
        return replace(self, policy_packs=(*self.policy_packs, *(packs or ())), policy_packs_folder=where)


def find_project(folder: Path | None = None, environment: str | None = None) -> Project:
    """The project that was asked for, by argument, by environment variable, or by standing in it."""
    asked = folder or _from_variable()
    root = (asked or _around(Path.cwd()) or shipped_example()).resolve()
    if not root.is_dir():
        raise ProjectError(f"{root} is not a folder; give a project with --project or {PROJECT_VARIABLE}.")
    environment = environment or os.environ.get(ENVIRONMENT_VARIABLE) or DEFAULT_ENVIRONMENT
    return Project(root, environment, resources=_resources_elsewhere())


def shipped_example() -> Path:
    """The checkout this package runs from."""
    return Path(__file__).resolve().parent.parent


def _from_variable() -> Path | None:
    value = os.environ.get(PROJECT_VARIABLE)
    return Path(value) if value else None


def _resources_elsewhere() -> Path | None:
    value = os.environ.get(RESOURCES_VARIABLE)
    if not value:
        return None
    folder = Path(value).resolve()
    if not folder.is_dir():
        raise ProjectError(f"{RESOURCES_VARIABLE} names {folder}, which is not a folder.")
    return folder


def _around(folder: Path) -> Path | None:
    """The nearest folder from here upward that looks like a project; a system with contracts is only part of one."""
    above = (each for each in (folder, *folder.parents) if (each / "contracts").is_dir())
    return next((each for each in above if not any((each / name).is_file() for name in _PARTS)), None)


def _yaml_files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
