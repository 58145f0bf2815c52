"""`resources/*.yaml` and `partitions/*.yaml` — where it runs and which time windows there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from lakelogic_assets.contract.base import Bag, Count, DateText, Name, Names, Section, problem
from lakelogic_assets.contract.placeholders import expand, rewritten
from lakelogic_assets.contract.problems import Problem, YamlPath, dotted, shown
from lakelogic_assets.contract.reading import Document, read_document
from lakelogic_assets.contract.validation import validated
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

_NOT_IN_PARTS = re.compile(r"[|,\[\]\x00-\x1f]|\.\.\.|^\s|\s\Z")
LAKE_VARIABLE = "LAKELOGIC_VAR_LAKE"
DEFAULT_LAKE = ".lakehouse"
UNREGISTERED_VARIABLE = "LAKELOGIC_INCLUDE_UNREGISTERED"
_STORAGE_ROOT = "storage_root"
SPARK_MASTER, SPARK_REMOTE = "spark.master", "spark.remote"
_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")


def _check_timezone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise problem("LL502", f"{value!r} is not a time zone.") from None
    return value


def _check_variable(value: str) -> str:
    if not _VARIABLE_NAME.match(value):
        raise problem("LL104", f"{value!r} is not the name of an environment variable; secrets never stand in a file.")
    return value


TimeZone = Annotated[str, AfterValidator(_check_timezone)]
VariableName = Annotated[str, AfterValidator(_check_variable)]


class Spark(Section):
    """Where Spark works: `master` with a driver in our process, or `remote`, a Spark Connect server, which wins."""

    master: str | None = None
    remote: str | None = None
    conf: dict[Name, str | int | float | bool] = Field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """Spark's own names for all of it; a text that a variable left empty says nothing."""
        place = {SPARK_REMOTE: self.remote} if self.remote else {SPARK_MASTER: self.master} if self.master else {}
        said = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in self.conf.items()}
        return place | said


class ExternalLogicPolicy(Section):
    """Whether Python beside a contract may run, and from where."""

    allowed: bool = False
    roots: Names = ()


class Connection(Section):
    type: Literal["jdbc", "kafka", "s3", "sftp", "http"]
    url_env: VariableName | None = None
    user_env: VariableName | None = None
    password_env: VariableName | None = None
    options: Bag = Field(default_factory=dict)


class Concurrency(Section):
    max_parallel_contracts: int = Field(default=2, ge=1)


class Gates(Section):
    """What holds a run back here. A registry's service levels are promises, which are only reported by default."""

    quarantine_ratio: Literal["block", "report"] = "report"


class Orchestration(Section):
    """How Dagster runs the contracts here."""

    backfill: Literal["single_run"] | Annotated[int, Field(strict=True, ge=1)] = "single_run"
    file_sensor: bool = True
    retries: Count = 2
    retry_seconds: float = Field(default=5, ge=0)


class Resource(Section):
    """One place to run: Spark, storage roots, connections."""

    name: Name
    description: str | None = None
    environment: str = "local"
    catalog: str | None = None
    roots: dict[Name, str] = Field(default_factory=dict)
    spark: Spark = Spark()
    external_logic: ExternalLogicPolicy = ExternalLogicPolicy()
    connections: dict[Name, Connection] = Field(default_factory=dict)
    concurrency: Concurrency = Concurrency()
    gates: Gates = Gates()
    dagster: Orchestration = Orchestration()
    include_unregistered: bool = False

    @property
    def values(self) -> dict[str, str]:
        """What is laid over the registries' environment."""
        return {**self.roots, **({"catalog": self.catalog} if self.catalog else {})}

    @property
    def variables(self) -> Iterator[tuple[YamlPath, str]]:
        """The environment variables its connections are made of."""
        for name, connection in self.connections.items():
            for key in ("url_env", "user_env", "password_env"):
                variable = getattr(connection, key)
                if variable:
                    yield ("connections", name, key), variable


def _check_part(value: str) -> str:
    """Dagster joins the keys of two dimensions with a bar, and its commands list and range over keys."""
    if _NOT_IN_PARTS.search(value):
        raise problem(
            "LL104", f"{shown(value)} cannot name a part; leave out |, commas, brackets, `...` and outer spaces."
        )
    return value


class StaticParts(Section):
    """Cuts every window by the values of a column, such as regions that arrive and are rerun by themselves."""

    column: Name
    values: tuple[Annotated[Name, AfterValidator(_check_part)], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> StaticParts:
        twice = [value for value, count in Counter(self.values).items() if count > 1]
        if twice:
            raise problem("LL116", f"The value {shown(twice[0])} stands twice.")
        return self


class PartitionSet(Section):
    """A named row of time windows that contracts share; with `static`, one such row for each value."""

    name: Name
    description: str | None = None
    cadence: Literal["hourly", "daily", "weekly", "monthly"]
    start: DateText
    end: DateText | None = None
    timezone: TimeZone = "UTC"
    format: str | None = None
    end_offset: int = 0
    static: StaticParts | None = None

    @model_validator(mode="after")
    def _in_order(self) -> PartitionSet:
        if self.end is not None and self.end <= self.start:
            raise problem("LL105", f"`end` {self.end} is not after `start` {self.start}.")
        return self


@dataclass(frozen=True)
class Declarations:
    """What a project's resources/ and partitions/ say; `active` is the resource of the current environment."""

    resources: Mapping[str, Resource] = field(default_factory=dict)
    partitions: Mapping[str, PartitionSet] = field(default_factory=dict)
    active: Resource | None = None
    problems: tuple[Problem, ...] = ()
    files: int = 0
    lake: str | None = None
    """Where the tables are by the environment variable, for a project whose resources do not say it."""

    @property
    def values(self) -> dict[str, str]:
        """What is laid over the registries' environment values."""
        lake = {_STORAGE_ROOT: self.lake} if self.lake else {}
        return lake | (self.active.values if self.active else {})

    @property
    def include_unregistered(self) -> bool:
        """Whether contracts that no index of their system names are run, too."""
        return self.active is not None and self.active.include_unregistered


D = TypeVar("D", Resource, PartitionSet)


def includes_unregistered(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for contracts that no index names."""
    return environ.get(UNREGISTERED_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def load_declarations(project: Project, environ: Mapping[str, str]) -> Declarations:
    problems: list[Problem] = []
    resources: dict[str, tuple[Resource, Document]] = {}
    for path in project.resource_files:
        _declare(Resource, path, resources, problems)
    partitions: dict[str, tuple[PartitionSet, Document]] = {}
    for path in project.partition_files:
        _declare(PartitionSet, path, partitions, problems)
    active = _active(resources, project.environment)
    if active is not None:
        active = _with_environment(*resources[active.name], environ, problems)
    return Declarations(
        resources={name: resource for name, (resource, _) in resources.items()},
        partitions={name: partition for name, (partition, _) in partitions.items()},
        active=active,
        problems=tuple(problems),
        files=len(project.resource_files) + len(project.partition_files),
        lake=environ.get(LAKE_VARIABLE) or None,
    )


def _declare(model: type[D], path: Path, known: dict[str, tuple[D, Document]], problems: list[Problem]) -> None:
    try:
        document = read_document(path)
    except ContractError as error:
        problems += error.problems
        return
    declared, found = validated(model, document.data, document.locate)
    problems += found
    if declared is None:
        return
    if declared.name != path.stem:
        message = f"The file declares `{declared.name}`."
        problems.append(
            Problem("LL504", message, document.locate(("name",)), ("name",), declared.name, suggestion=path.stem)
        )
    known[declared.name] = (declared, document)


def _active(resources: Mapping[str, tuple[Resource, Document]], environment: str) -> Resource | None:
    if environment in resources:
        return resources[environment][0]
    return next((resource for resource, _ in resources.values() if resource.environment == environment), None)


def _with_environment(
    resource: Resource, document: Document, environ: Mapping[str, str], problems: list[Problem]
) -> Resource:
    """The active resource with its variables expanded; what is not set is an error at its line."""

    def report(name: str, path: YamlPath) -> None:
        message = f"`{dotted(path)}` needs the environment variable {name}, which is not set."
        problems.append(Problem("LL501", message, document.locate(path), path, name))

    def change(text: str, path: YamlPath) -> str:
        return expand(text, environ, lambda name: report(name, path))

    for path, variable in resource.variables:
        if not environ.get(variable):
            report(variable, path)
    before = len(problems)
    data: Any = rewritten(document.data, change)
    expanded, wrong = validated(Resource, data, document.locate)
    problems += wrong if len(problems) == before else ()
    return expanded or resource
