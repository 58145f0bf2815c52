"""`materialization.format: parquet` — a table of plain files, one folder for each window, replaced as a whole.

A window is written aside and moved into place when it may be published, with its proof beside its files. There is no
log, so there is no history: what a window held before is gone, and rows cannot be merged by key.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.windows import window_id

FORMAT: Final = "parquet"
_PROOF: Final = "_lakelogic.json"
_STAGED: Final = "_staged"
_REPLACED: Final = "_replaced"


def refuse_unfit(contract: Contract) -> None:
    """What a folder of plain files cannot do, said before anything is read."""
    strategy = contract.materialization.strategy
    if contract.materialization.format == FORMAT and strategy in ("merge", "scd2"):
        raise EngineError(
            f"{contract.table}: `strategy: {strategy}` changes rows in place, which files of `format: parquet` do not "
            "allow; write `format: delta`."
        )


def is_table(path: str) -> bool:
    """Whether a window was ever published there."""
    return "://" not in path and any(_windows(Path(path)))


def generation(path: str, app: str) -> int | None:
    """The evaluation of a window that is in the table; None when there is none."""
    return next((proof["generation"] for proof in _proofs(path).values() if proof.get("app") == app), None)


def proofs(path: str) -> list[dict[str, Any]]:
    """What the windows in the table say about themselves, with the rows that their files really hold, oldest first."""
    found = []
    for folder, proof in _proofs(path).items():
        rows = sum(parquet.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))
        found.append({**proof, "rows": rows})
    return sorted(found, key=lambda proof: str(proof.get("at", "")))


def _proofs(path: str) -> dict[Path, dict[str, Any]]:
    return {folder: json.loads((folder / _PROOF).read_text(encoding="utf-8")) for folder in _windows(Path(path))}


@dataclass(frozen=True)
class StagedFiles:
    """Rows that are written beside the table and not yet part of it."""

    path: Path
    folder: Path
    name: str
    window: Window
    appends: bool

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(str(self.folder))

    def publish(self, proof: Mapping[str, Any]) -> None:
        """Move the window into place; windows that it covers go, one that it only touches is in its way."""
        own = self.path / _folder_name(self.name)
        gone = [each for each in _windows(self.path) if each != own and self._replaces(each)]
        (self.folder / _PROOF).write_text(json.dumps({**proof, "window": self.window.as_dict()}), encoding="utf-8")
        # While the staged folder of that name is there, what is aside is not replaced yet: see `heal`.
        aside = self.path / _REPLACED / self.folder.name
        aside.mkdir(parents=True)
        for each in (*gone, *([own] if own.exists() else ())):
            each.rename(aside / each.name)
        self.folder.rename(own)
        shutil.rmtree(self.path / _REPLACED, ignore_errors=True)

    def _replaces(self, folder: Path) -> bool:
        other = Window.from_dict(json.loads((folder / _PROOF).read_text(encoding="utf-8"))["window"])
        if self.appends and (self.window.is_full or other.is_full):
            return False  # batches of an append stand beside each other
        if self.window.covers(other):
            return True
        if self.window.overlaps(other):
            raise EngineError(
                f"The window {self.window.key} shares days with {other.key}, and files of `format: parquet` are "
                "replaced as a whole: run a window that covers both, or write `format: delta`."
            )
        return False

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def stage(rows: DataFrame, path: str, contract: Contract, name: str, window: Window) -> StagedFiles:
    """Write the rows' files aside; the caller holds the table's lock."""
    if "://" in path:
        raise EngineError(
            f"{path}: `format: parquet` moves folders, which object stores cannot; write `format: delta`."
        )
    place = Path(path)
    heal(place)
    folder = place / _STAGED / uuid.uuid4().hex
    rows.drop(names.WINDOW_COLUMN).write.partitionBy(*contract.materialization.partition_by).parquet(str(folder))
    return StagedFiles(place, folder, name, window, contract.materialization.strategy == "append")


def heal(path: Path) -> None:
    """What a run that died left: windows that were moved aside come back, unless their successor is in place."""
    for aside in (path / _REPLACED).glob("*"):
        if (path / _STAGED / aside.name).exists():
            for folder in aside.iterdir():
                folder.rename(path / folder.name)
    for left in (_REPLACED, _STAGED):
        shutil.rmtree(path / left, ignore_errors=True)


def _folder_name(name: str) -> str:
    return f"{names.WINDOW_COLUMN}={window_id(name)}"


def _windows(path: Path) -> Iterator[Path]:
    return (folder for folder in sorted(path.glob(f"{names.WINDOW_COLUMN}=*")) if (folder / _PROOF).is_file())
