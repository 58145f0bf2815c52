"""`lineage:` — the stamps that good and bad rows alike carry."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.lineage import STAMPS, Lineage
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.scope import Scope

CREATED_BY_VARIABLES = ("LAKELOGIC_CREATED_BY", "DAGSTER_JOB_NAME", "USER", "LOGNAME", "USERNAME")

_ROW_SOURCE = "__ll_row_source"


def stamp(frame: DataFrame, scope: Scope, row_source: Column | None, source_name: str) -> DataFrame:
    """The frame with its stamps as the last columns.

    Stamps that came from upstream are replaced, unless `preserve_upstream` keeps them under another name first; one
    that this contract does not write is dropped, unless its model declares that column as data of its own.
    """
    lineage = scope.contract.lineage
    if row_source is not None:
        # Taken before anything is renamed or dropped: the column may read one of the old stamps.
        frame = frame.withColumn(_ROW_SOURCE, row_source.cast("string"))
    frame = _with_upstream_kept(frame, lineage)
    source = column(_ROW_SOURCE) if row_source is not None else F.lit(source_name)
    stamps = {name: _stamp(each, scope, source) for each, name in lineage.columns.items()}
    replaced = {name.casefold() for name in (*stamps, *_foreign_stamps(scope.contract), _ROW_SOURCE)}
    kept = [column(name) for name in frame.columns if name.casefold() not in replaced]
    return frame.select(*kept, *(value.alias(name) for name, value in stamps.items()))


def stamp_columns(contract: Contract) -> frozenset[str]:
    """Every column that says where a row came from rather than what it says: stamps and kept stamps of upstream."""
    lineage = contract.lineage
    own = {lineage.column_of(each) for each in STAMPS} | {Lineage().column_of(each) for each in STAMPS}
    return frozenset(own | {upstream_name(lineage, name) for name in own})


def upstream_name(lineage: Lineage, name: str) -> str:
    """`_lakelogic_run_id` → `_upstream_lakelogic_run_id`, `batch` → `_upstream_batch`."""
    return f"{lineage.upstream_prefix}{'' if name.startswith('_') else '_'}{name}"


def _with_upstream_kept(frame: DataFrame, lineage: Lineage) -> DataFrame:
    if not lineage.enabled:
        return frame
    for wanted in lineage.preserve_upstream:
        found = find_column(frame, wanted)
        if found is None:
            continue
        kept = upstream_name(lineage, wanted)
        others = [column(name) for name in frame.columns if name not in (found, kept)]
        frame = frame.select(*others, column(found).alias(kept))
    return frame


def _foreign_stamps(contract: Contract) -> set[str]:
    """Stamps that would be another contract's, since this one does not write them."""
    return {Lineage().column_of(each) for each in STAMPS} - set(contract.model.by_name)


def _stamp(name: str, scope: Scope, source: Column) -> Column:
    contract, lineage = scope.contract, scope.contract.lineage
    match name:
        case "source_path":
            return source
        case "timestamp" | "created_at":
            return _moment(scope.started_at)
        case "run_id":
            return F.lit(scope.pipeline_run_id if lineage.run_id_source == "pipeline_run_id" else scope.run_id)
        case "contract_name":
            return F.lit(contract.table)
        case "domain":
            return F.lit(contract.domain).cast("string")
        case "system":
            return F.lit(contract.system).cast("string")
        case "created_by":
            return F.lit(lineage.created_by_override or created_by(os.environ))
        case _:
            raise AssertionError(name)


def _moment(moment: datetime) -> Column:
    # A moment without a zone would be read as one of this machine's.
    if moment.tzinfo is None:
        raise ValueError("a run starts at a moment with a time zone")
    return F.lit(moment).cast("timestamp")


def created_by(environ: Mapping[str, str]) -> str:
    """Who runs this: what the environment says, else the user of the process."""
    said = next((environ[name] for name in CREATED_BY_VARIABLES if environ.get(name)), None)
    if said:
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return f"uid {os.getuid()}"
