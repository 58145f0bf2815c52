"""The service levels that count for a contract: its own, and the registry's where it is silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from lakelogic_assets import names
from lakelogic_assets.contract.columns import created_in
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.registry_files import Slo, SloFreshness, SloRowCount
from lakelogic_assets.contract.service_levels import COUNTERS, Anomaly, Counter, RowCount

L = TypeVar("L", SloFreshness, SloRowCount)


@dataclass(frozen=True, slots=True)
class FreshnessObjective:
    """How old the newest row may be; `column` tells its age, None where no column does."""

    seconds: float
    column: str | None
    said_at: str
    """The key that says so, such as `service_levels.freshness` or `slo.freshness.bronze`."""


@dataclass(frozen=True, slots=True)
class VolumeObjective:
    """How many rows a run should bring, counted by `counter`."""

    min_rows: int | None
    max_rows: int | None
    warn_only: bool
    counter: Counter
    anomaly: Anomaly | None
    skip_reprocess_days: int
    """A run that reprocesses more days than this has a volume of its own and is not judged by it."""


def freshness_objective(contract: Contract) -> FreshnessObjective | None:
    """The threshold and the column may come from different files: a domain often knows the column alone."""
    slo = _slo(contract)
    said, key = _of_layer(slo.freshness, contract, "freshness") if slo else (None, "")
    inherited = said or SloFreshness()
    levels = contract.service_levels
    seconds = levels.freshness_seconds
    if seconds is not None:
        key = "service_levels.freshness" if levels.freshness_hours is None else "service_levels.freshness_hours"
    elif inherited.max_delay_minutes and not _is_one_of(contract, inherited.exclude_tables):
        seconds = inherited.max_delay_minutes * 60
    if seconds is None or not 0 < seconds < inf:
        return None
    own = levels.freshness.field if levels.freshness else None
    return FreshnessObjective(seconds, _age_column(contract, own, inherited), key)


def volume_objective(contract: Contract) -> VolumeObjective | None:
    own = contract.service_levels.row_count or RowCount()
    slo = _slo(contract)
    said, _ = _of_layer(slo.row_count, contract, "row_count") if slo else (None, "")
    inherited = said or SloRowCount()
    written = own.model_fields_set
    min_rows = own.min_rows if "min_rows" in written else inherited.min_rows
    max_rows = own.max_rows if "max_rows" in written else inherited.max_rows
    if min_rows is not None and max_rows is not None and min_rows > max_rows:
        # The domain did not know this table: its bound gives way to the one that the contract wrote.
        min_rows, max_rows = (min_rows, None) if "min_rows" in written else (None, max_rows)
    anomaly = own.anomaly if "anomaly" in written else inherited.anomaly or _multiplied(inherited.anomaly_multiplier)
    anomaly = anomaly if anomaly and anomaly.enabled else None
    if min_rows is None and max_rows is None and anomaly is None:
        return None
    field = own.check_field if "check_field" in written else inherited.check_field or own.check_field
    warn_only = own.warn_only if "warn_only" in written else bool(inherited.warn_only)
    days = inherited.skip_reprocess_days
    if "skip_reprocess_days" in written or days is None:
        days = own.skip_reprocess_days
    return VolumeObjective(min_rows, max_rows, warn_only, COUNTERS.get(field, "good"), anomaly, days)


def _slo(contract: Contract) -> Slo | None:
    """Checked when the registry was read, so what stands here fits."""
    block = contract.place.registry.get("slo")
    return Slo.model_validate(block) if isinstance(block, dict) else None


def _of_layer(said: L | Mapping[str, L | None] | None, contract: Contract, what: str) -> tuple[L | None, str]:
    """What a registry says for the contract's layer, by any name of that layer, and under which key."""
    if said is None or not isinstance(said, Mapping):
        return said, f"slo.{what}"
    for key in _layer_keys(contract, said):
        if (found := said.get(key)) is not None:
            return found, f"slo.{what}.{key}"
    return None, ""


def _layer_keys(contract: Contract, keys: Iterable[str]) -> Iterator[str]:
    layer = contract.layer or ""
    yield layer
    meant = names.LAYER_SYNONYMS.get(layer.lower(), layer)
    yield from (key for key in keys if names.LAYER_SYNONYMS.get(key.lower()) == meant)
    yield "_all"


def _is_one_of(contract: Contract, tables: Iterable[str]) -> bool:
    known = {contract.table, ".".join(contract.key), contract.dataset_name, contract.place.entity}
    return not {name.lower() for name in known if name}.isdisjoint(table.lower() for table in tables)


def _age_column(contract: Contract, own: str | None, inherited: SloFreshness) -> str | None:
    """The contract's own column; the first of the registry's that the table has; when its rows were written."""
    stamps = contract.lineage.columns
    if own and (not own.startswith(names.ENGINE_PREFIX) or own in stamps.values()):
        return own
    wanted = [column for column in (inherited.check_column, *inherited.check_columns) if column]
    known = {*contract.model.by_name, *created_in(contract, "pre"), *created_in(contract, "post"), *stamps.values()}
    is_open = not contract.model.fields
    present = (name for name in wanted if name in known or (is_open and not name.startswith(names.ENGINE_PREFIX)))
    return next(present, None) or stamps.get("timestamp")


def _multiplied(multiplier: float | None) -> Anomaly | None:
    """The older way to say an anomaly: so many times the usual, or so many times less."""
    if multiplier is None or multiplier < 1:
        return None
    return Anomaly(min_ratio=1 / multiplier, max_ratio=multiplier)
