"""Tables by name without a metastore: a name is a folder under the lakehouse root, in every process the same one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from deltalake import DeltaTable

from lakelogic_assets.contract.roots import OBJECT_STORES, is_inside
from lakelogic_assets.contract.source import plain_table
from lakelogic_assets.errors import NotFoundError, ProjectError
from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.driver import driver_of
from lakelogic_assets.spark.identifiers import quoted, text_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_SCHEMA: Final = "default"
_NAME_PARTS: Final = 3
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"[*?\[{]")
# What would leave the folder, name another one on some file system, or is a placeholder that nothing filled.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|{}\[\]$]|\A\.+\Z|\A\s|[\s.]\Z")
# Spark's own catalogue refuses other names.
_CATALOG_NAME = re.compile(r"\w+\Z", re.ASCII)


@dataclass(frozen=True)
class Lakehouse:
    """Where tables and files are for one contract of one project."""

    root: Path
    project_root: Path | None = field(default=None, kw_only=True)
    contract_folder: Path | None = field(default=None, kw_only=True)
    elsewhere: tuple[Path, ...] = field(default=(), kw_only=True)
    """Folders outside of project and lake that the deployment, never a contract, declares."""
    reads_anywhere: bool = field(default=False, kw_only=True)
    """For a contract without a project, which reads what its user may read; it writes beside itself all the same."""

    @cached_property
    def _root(self) -> Path:
        return self.root.absolute()

    @property
    def base(self) -> Path:
        """What a relative path is relative to, unless it is found beside the contract."""
        return (self.project_root or self.contract_folder or Path()).absolute()

    def table_path(self, reference: str) -> str:
        """The folder of a table: of a name under the warehouse, or the path itself where a path is given."""
        name = reference.removeprefix("table:").strip()
        if is_path(name):
            return self._placed(name, self.base)
        parts = table_parts(name)
        return str(self._root.joinpath("warehouse", *parts))

    def source_path(self, path: str) -> str:
        """Where files are that a contract reads."""
        if self.reads_anywhere and Path(path).is_absolute() and "\0" not in path:
            return self._spelled(path, self.base)
        return self.file_path(path)

    def file_path(self, path: str) -> str:
        """Where files are that a contract names: beside the contract if they are there, else in the project."""
        folder = self.contract_folder
        if folder is not None and not is_uri(path) and (folder / fixed_prefix(path)).exists():
            return self._placed(path, folder.absolute())
        return self._placed(path, self.base)

    def holds(self, path: str | Path) -> bool:
        """Whether a place of this disk, with every link followed, lies in the project, the lake or a declared root."""
        return any(is_inside(path, root) for root in (self.base, self._root, *self.elsewhere))

    def may_read(self, path: str | Path) -> bool:
        return self.reads_anywhere or self.holds(path)

    def _placed(self, path: str, base: Path) -> str:
        """Where a contract's own words lead, which is never out of the roots."""
        placed = self._spelled(path, base)
        if is_uri(placed):
            scheme = placed.partition(":")[0].lower()
            if scheme not in OBJECT_STORES:
                raise ProjectError(f"{path!r} is on `{scheme}:`; a contract reads folders and object stores.")
        elif "\0" in placed or not self.holds(fixed_prefix(placed)):
            raise ProjectError(
                f"{path!r} is outside of the project's roots: keep it inside, or declare its folder under `roots` "
                "of the active file in resources/."
            )
        return placed

    def _spelled(self, path: str, base: Path) -> str:
        if is_uri(path):
            return unquote(urlsplit(path).path) if path.startswith("file:") else path
        # By its letters alone, so that one table has one path whether or not it exists yet.
        placed = Path(os.path.normpath(base / path))
        parts = placed.parts
        if parts[:2] == ("/", "Volumes") and len(parts) > 2 and not Path(*parts[:3]).exists():
            return str(self._root.joinpath("volumes", *parts[2:]))
        return str(placed)

    def exists(self, path: str) -> bool:
        """Whether a Delta table is there."""
        return delta_log.is_table(path)

    def version(self, path: str) -> int | None:
        """The table's newest version, read from its log without a Spark job; None when there is no table."""
        return DeltaTable(path).version() if self.exists(path) else None

    def read(self, spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
        """The rows of a table, of one version where one is given."""
        if parquet_table.is_table(path):
            return spark.read.parquet(path)
        if not self.exists(path):
            raise NotFoundError(f"There is no Delta table at {path}: has the contract that writes it been run?")
        reader = spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(path)

    def show_to_sql(self, spark: SparkSession, reference: str) -> str | None:
        """Lets ad-hoc SQL of this process read the table as `schema.table`; the name it got, or None.

        None means that there is no table yet, that it has a path and no name, a name Spark's catalogue refuses, or that
        the catalogue is somebody else's.
        Nothing outlives the process, and the table's own files are not touched.
        """
        name = reference.removeprefix("table:").strip()
        path = self.table_path(reference)
        driver = driver_of(spark)
        if is_path(name) or not self.exists(path) or not driver.has_catalog:
            return None
        _, schema, table = table_parts(name)
        if not (_CATALOG_NAME.match(schema) and _CATALOG_NAME.match(table)):
            return None
        shown = f"{quoted(schema)}.{quoted(table)}"
        known = driver.location_of(spark, schema, table)
        if known is None or known.rstrip("/") != path:
            spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(schema)}")
            # Two catalogues may hold a schema and a table of the same names: the one shown last is seen.
            spark.sql(f"DROP TABLE IF EXISTS {shown}")
            spark.sql(f"CREATE TABLE IF NOT EXISTS {shown} USING delta LOCATION {text_literal(path)}")
        return f"{schema}.{table}"


def is_uri(path: str) -> bool:
    return _URI.match(path) is not None


def is_path(reference: str) -> bool:
    """Whether a reference is a place rather than a table's name."""
    return "/" in reference or reference in (".", "..")


def table_parts(reference: str) -> tuple[str, str, str]:
    """Catalogue, schema and table, in lower case as Spark compares them; what a name leaves out is `default`."""
    parts = [part.strip() for part in plain_table(reference).split(".")]
    if len(parts) > _NAME_PARTS:
        raise ProjectError(f"The table name {reference!r} has {len(parts)} parts; write catalog.schema.table.")
    for part in parts:
        if not part or _UNSAFE.search(part):
            raise ProjectError(
                f"{part!r} in the table name {reference!r} cannot be the name of a folder; "
                "write catalog.schema.table with letters, digits, `_` and `-`."
            )
    catalog, schema, table = [DEFAULT_SCHEMA] * (_NAME_PARTS - len(parts)) + [part.lower() for part in parts]
    return catalog, schema, table


def fixed_prefix(path: str) -> str:
    """The leading folders of a path in which no glob character stands."""
    if not _GLOB.search(path):
        return path
    parts = path.split("/")
    fixed = next(index for index, part in enumerate(parts) if _GLOB.search(part))
    return "/".join(parts[:fixed]) or ("/" if path.startswith("/") else ".")
