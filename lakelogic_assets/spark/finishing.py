"""The end of a run: what its commits say, what is checked once more, how the table is left behind."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError, SourceChangedError
from lakelogic_assets.report.run import Counts, RunReport
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.failures import SparkFailure, one_line
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.publishing import Attempt, Prepared, cluster
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources import SourceRead
from lakelogic_assets.spark.sources.listing import changed_files

SAMPLE_EXTENSION = "com.lakelogic.sample"
"""How many published rows a contract wants to see in its report."""


def refuse_changes(read: SourceRead, quarantined: int, counts: Counts) -> None:
    """Good rows and bad ones are read one after the other: both must have come from the same source."""
    changed = changed_files(read.snapshot.files)
    if changed:
        raise SourceChangedError(f"{changed[0]} was changed while it was read; run again.", changed[0])
    if quarantined != counts.quarantined:
        found = f"{counts.quarantined} rows are bad at the first look and {quarantined} at the second"
        raise EngineError(f"{found}: the source or a rule does not give the same twice.")


def proof(scope: Scope, attempt: Attempt, draft: RunReport) -> dict[str, Any]:
    """What every commit of the run says about it."""
    return {
        "run_id": scope.run_id,
        "contract": draft.contract,
        "window": attempt.name,
        "bounds": attempt.window.as_dict(),
        "app": attempt.app,
        "generation": attempt.generation,
        "fingerprint": draft.fingerprint,
        "external_code": draft.external_code,
        "strategy": scope.contract.materialization.strategy,
        "counts": draft.as_dict()["counts"],
        "status": draft.status,
        "request": draft.request,
        "approval": draft.approval,
        "at": draft.started_at.isoformat(),
    }


def sample_rows(contract: Contract, prepared: Prepared) -> tuple[dict[str, Any], ...]:
    """Some published rows, masked as they are; only where the contract asks for them."""
    wanted = contract.extensions.get(SAMPLE_EXTENSION)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted <= 0:
        return ()
    rows = prepared.shown(wanted)
    in_the_clear = {each.name.casefold() for each in contract.model.fields if each.is_personal and not each.masking}
    rows = rows.drop(*[name for name in rows.columns if name.casefold() in in_the_clear])
    found = rows.select(F.to_json(F.struct(*map(column, rows.columns)), {"ignoreNullFields": "false"})).collect()
    return tuple(json.loads(row[0]) for row in found)


def arrange(scope: Scope, destination: Destination) -> None:
    """Order the table and let ad-hoc SQL of this process see it; the run is done, so a failure is only a warning."""
    if not delta_log.is_table(destination.target):
        return
    try:
        cluster(scope.contract, scope.spark, destination.target)
    except SparkFailure as error:
        scope.warn(f"The table is not ordered by `cluster_by`: {one_line(error)}")
    try:
        if destination.reference:
            scope.lakehouse.show_to_sql(scope.spark, destination.reference)
    except SparkFailure as error:
        scope.warn(f"The table is not visible to ad-hoc SQL: {one_line(error)}")
