"""Where the results of a contract go: its table, its quarantine, its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.tables import Lakehouse, is_path


@dataclass(frozen=True)
class Destination:
    """Paths only; nothing needs to exist yet."""

    target: str
    quarantine: str
    run_log: str
    run_files: Path | None
    intents: Path
    holds: Path
    """What gates hold back, of every contract of the lakehouse."""
    approvals: Path
    """What people have signed, of every contract of the lakehouse."""
    known_files: Path
    """Which files the contract has read, summed up."""
    reference: str | None = None
    """The target's name for ad-hoc SQL, where it has one."""


def destination(contract: Contract, lakehouse: Lakehouse, target: Path | None = None) -> Destination:
    """The places of a contract's results, or of an explicit folder for its table."""
    state = lakehouse.root / "_lakelogic"
    if target is not None:
        folder = target.absolute()
        aside = folder.parent / f"_{folder.name}"
        return Destination(
            target=str(folder),
            quarantine=f"{aside}_quarantine",
            run_log=f"{aside}_run_log",
            run_files=None,
            intents=Path(f"{aside}_intents"),
            holds=Path(f"{aside}_holds"),
            approvals=Path(f"{aside}_approvals"),
            known_files=Path(f"{aside}_known_files.json"),
        )
    materialization = contract.materialization
    if materialization.format in ("iceberg", "ducklake"):
        raise EngineError(
            f"`materialization.format: {materialization.format}` is not supported yet; use delta or parquet."
        )
    reference = materialization.target_path or materialization.location or default_reference(contract)
    path = lakehouse.table_path(reference)
    named = None if is_path(reference.removeprefix("table:")) else reference
    log = contract.metadata.get("run_log_table")
    return Destination(
        target=path,
        quarantine=_quarantine(contract, lakehouse, path),
        run_log=lakehouse.table_path(log) if isinstance(log, str) else str(Path(path).parent / "_pipeline_run_log"),
        run_files=lakehouse.root / "_logs" / "/".join(contract.key),
        intents=state / "intents",
        holds=state / "holds",
        approvals=state / "approvals",
        known_files=state / "known_files" / f"{'/'.join(contract.key)}.json",
        reference=named,
    )


def default_reference(contract: Contract) -> str:
    """A contract without a registry that says nothing about its table."""
    return f"lakehouse.{contract.domain or 'default'}.{contract.table}"


def _quarantine(contract: Contract, lakehouse: Lakehouse, target: str) -> str:
    block = contract.quarantine
    reference = block.target or block.table or block.location
    if reference:
        return lakehouse.table_path(reference)
    owner = contract.domain or "default"
    return str(Path(target).parent.parent / "quarantine" / f"{owner}_{contract.table}")


def unsupported(contract: Contract) -> Iterator[str]:
    """What a contract wants written and will not find."""
    if contract.materialization.secondary_targets:
        yield "`secondary_targets` are not written; let a contract of its own read this table for each."
    if contract.materialization.deletion:
        yield "`materialization.deletion` is not acted upon yet: rows whose keys the source has no more stay."
    written = contract.materialization.format
    if written not in (None, "delta", "native", "parquet"):
        yield f"`materialization.format: {written}` is not supported yet; the table is written as Delta."
