"""Proof from Delta's history that every source row is in the table, in quarantine, or dropped by a declared step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakelogic_assets.spark import delta_log, parquet_table
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.publishing import KEYED_STRATEGIES


@dataclass(frozen=True, slots=True)
class AuditedRun:
    """One committed run and what does not add up in it; nothing, where it holds."""

    run_id: str
    window: str
    generation: int
    version: int
    source: int
    good: int
    quarantined: int
    dropped: int
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.faults


def audit(destination: Destination) -> list[AuditedRun]:
    """Every run in the table's history, oldest first."""
    quarantined = {
        (commit["metadata"]["app"], commit["metadata"]["generation"]): commit
        for commit in delta_log.commits(destination.quarantine)
        if commit["metadata"]
    }
    if parquet_table.is_table(destination.target):
        return [_audited(_as_commit(proof), quarantined) for proof in parquet_table.proofs(destination.target)]
    runs = [commit for commit in delta_log.commits(destination.target) if commit["metadata"]]
    return [_audited(commit, quarantined) for commit in reversed(runs)]


def _as_commit(proof: dict[str, Any]) -> dict[str, Any]:
    """A window of plain files in the words of a commit: its rows are counted in the files that are there now."""
    named = {**proof, "window": proof["window"]["key"]}
    return {"version": proof["generation"], "metadata": named, "operationMetrics": {"numOutputRows": proof["rows"]}}


def audit_run(destination: Destination, versions: Mapping[str, int]) -> AuditedRun | None:
    """The run that wrote these versions of `target` and `quarantine`; None when it committed nothing to the target."""
    commit = _commit_at(destination.target, versions.get("target"))
    if commit is None:
        return None
    aside = _commit_at(destination.quarantine, versions.get("quarantine"))
    by_generation = {(aside["metadata"]["app"], aside["metadata"]["generation"]): aside} if aside else {}
    return _audited(commit, by_generation)


def _commit_at(path: str, version: int | None) -> dict[str, Any] | None:
    """One commit of ours, found from the newest on: a run is audited right after it wrote."""
    newest = delta_log.version(path)
    if version is None or newest is None:
        return None
    found = delta_log.commits(path, limit=newest - version + 1)
    return next((commit for commit in found if commit["version"] == version and commit["metadata"]), None)


def _audited(commit: dict[str, Any], quarantined: dict[tuple[str, int], dict[str, Any]]) -> AuditedRun:
    metadata = commit["metadata"]
    counts = metadata["counts"]
    aside = quarantined.get((metadata["app"], metadata["generation"]))
    faults = [*_balance(counts), *_written(commit, counts), *_set_aside(counts, aside)]
    return AuditedRun(
        run_id=metadata["run_id"],
        window=metadata["window"],
        generation=metadata["generation"],
        version=commit["version"],
        source=counts["source"],
        good=counts["good"],
        quarantined=counts["quarantined"],
        dropped=counts["dropped"],
        faults=tuple(faults),
    )


def _balance(counts: dict[str, int]) -> list[str]:
    there = counts["good"] + counts["quarantined"] + counts["dropped"]
    return [] if there == counts["source"] else [f"{counts['source']} rows were read and {there} are accounted for"]


def _written(commit: dict[str, Any], counts: dict[str, int]) -> list[str]:
    """What Delta itself counted while it wrote."""
    if commit["metadata"]["strategy"] in KEYED_STRATEGIES:
        return []  # rows are merged by key: what is written are changes, not the rows that were given
    metrics = commit.get("operationMetrics") or {}
    written = int(metrics.get("numOutputRows", counts["good"])) - int(metrics.get("numCopiedRows", 0))
    return [] if written == counts["good"] else [f"{counts['good']} rows are good and Delta wrote {written}"]


def _set_aside(counts: dict[str, int], commit: dict[str, Any] | None) -> list[str]:
    if commit is None:
        return (
            [f"{counts['quarantined']} rows are quarantined and no commit holds them"] if counts["quarantined"] else []
        )
    metrics = commit.get("operationMetrics") or {}
    written = int(metrics.get("numOutputRows", counts["quarantined"])) - int(metrics.get("numCopiedRows", 0))
    if written != counts["quarantined"]:
        return [f"{counts['quarantined']} rows are quarantined and their commit holds {written}"]
    return []
