"""What a contract says about merging, held against the columns of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.materialization import Materialization, UnknownMember
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.lineage import stamp_columns
from lakelogic_assets.spark.materialization.keys import key_columns, types_by_name
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, declared_type

DELETE_SIGNAL: Final = "cdc_delete_signal"


@dataclass(frozen=True)
class Deletes:
    """Which rows of a change feed delete, and the columns that say so afterwards; without columns the row goes."""

    operation: str
    signals: tuple[str, ...]
    flag: str | None
    at: str | None
    reason: str | None
    value: Any
    at_type: T.DataType

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.flag, self.at, self.reason) if name)

    @property
    def is_delete(self) -> Column:
        """Whether a row of the batch is a deletion; one without an operation is not."""
        return F.coalesce(column(self.operation).cast("string").isin(list(self.signals)), F.lit(False))

    @property
    def active_value(self) -> Column:
        """What the flag says of a row that lives; a flag that is not TRUE or FALSE is then empty."""
        return F.lit(not self.value) if isinstance(self.value, bool) else F.lit(None)


@dataclass(frozen=True)
class MergeShape:
    """The columns of a merge by the part they play."""

    keys: tuple[str, ...]
    written: tuple[str, ...]
    types: Mapping[str, T.DataType]
    stamps: frozenset[str]
    created: frozenset[str]
    version: str | None
    deletes: Deletes | None
    milestones: frozenset[str]
    surrogate_key: str | None
    surrogate_strategy: Literal["hash", "uuid"]
    unknown: UnknownMember | None

    @property
    def engine_columns(self) -> frozenset[str]:
        """Columns that are worked out here, whatever the batch holds under their names."""
        surrogate = (self.surrogate_key,) if self.surrogate_key else ()
        return frozenset((*surrogate, *(self.deletes.columns if self.deletes else ())))

    @property
    def data(self) -> tuple[str, ...]:
        """What the rows themselves say, beside their key."""
        others = self.engine_columns | self.stamps
        return tuple(name for name in self.written if name not in others and name not in self.keys)

    @classmethod
    def of(cls, batch: DataFrame, contract: Contract, transient: Sequence[str] = ()) -> MergeShape:
        said = contract.materialization
        keys = key_columns(batch, contract.merge_key, "merge")
        known = {name.casefold() for name in stamp_columns(contract)}
        stamps = frozenset(name for name in batch.columns if name.casefold() in known)
        version = _version(batch, contract, stamps)
        deletes = _deletes(batch, contract, version)
        scd1 = said.scd1
        surrogate = _spelled(batch, scd1.surrogate_key) if scd1 and scd1.surrogate_key else None
        own = (*((surrogate,) if surrogate else ()), *(deletes.columns if deletes else ()))
        hidden = {name.casefold() for name in transient}
        kept = [n for n in batch.columns if not n.startswith(HIDDEN_PREFIX) and n.casefold() not in hidden]
        rows = [name for name in kept if name not in stamps]
        written = (*rows, *(name for name in own if name not in rows), *(name for name in kept if name in stamps))
        made = {name: declared_type(contract, name) or T.StringType() for name in own}
        if deletes:
            made |= _delete_types(deletes, contract)
        return cls(
            keys=tuple(keys),
            written=tuple(written),
            types={**types_by_name(batch), **made},
            stamps=stamps,
            created=frozenset(contract.lineage.column_of(each) for each in ("created_at", "created_by")),
            version=version,
            deletes=deletes,
            milestones=_milestones(batch, contract),
            surrogate_key=surrogate,
            surrogate_strategy=scd1.surrogate_key_strategy if scd1 else "hash",
            unknown=_unknown(said),
        )

    def is_delete(self) -> Column:
        return self.deletes.is_delete if self.deletes else F.lit(False)

    def deleted_at(self, run_timestamp: datetime | None) -> Column:
        """When a deletion of the batch happened: by its own version, else when it was run."""
        kind = self.deletes.at_type if self.deletes else T.TimestampType()
        now = F.lit(run_timestamp) if run_timestamp else F.current_timestamp()
        said = column(self.version).try_cast(kind) if self.version else F.lit(None).cast(kind)
        return F.coalesce(said, now.try_cast(kind)) if isinstance(kind, T.TimestampType) else said


def _spelled(batch: DataFrame, name: str) -> str:
    return find_column(batch, name) or name


def _version(batch: DataFrame, contract: Contract, stamps: frozenset[str]) -> str | None:
    """The column that tells an older row of a key from a newer one; the engine's own stamps tell nothing."""
    source = contract.source
    if source is None:
        return None
    for name in (source.cdc_timestamp_field, source.watermark_field):
        found = find_column(batch, name) if name else None
        if found and found not in stamps:
            return found
    return None


def _deletes(batch: DataFrame, contract: Contract, version: str | None) -> Deletes | None:
    source, section = contract.source, contract.materialization
    if source is None or not source.cdc_op_field:
        return None
    operation = find_column(batch, source.cdc_op_field)
    if operation is None:
        if source.load_mode != "cdc":
            return None
        said = f"`source.cdc_op_field: {source.cdc_op_field}`"
        raise EngineError(f"{said} is not among the rows' columns: keep it in all steps.")
    flag = at = reason = None
    if section.soft_delete_column != "":
        flag = _spelled(batch, section.soft_delete_column or names.IS_DELETED_COLUMN)
        at = _spelled(batch, section.soft_delete_time_column or names.DELETED_AT_COLUMN)
        reason = _spelled(batch, section.soft_delete_reason_column or names.DELETE_REASON_COLUMN)
    return Deletes(
        operation=operation,
        signals=tuple(_text(value) for value in source.cdc_delete_values),
        flag=flag,
        at=at,
        reason=reason,
        value=section.soft_delete_value,
        at_type=_deleted_type(batch, contract, version, at),
    )


def _text(value: Any) -> str:
    """A value of YAML as Spark casts it to text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _deleted_type(batch: DataFrame, contract: Contract, version: str | None, name: str | None) -> T.DataType:
    """The type of the time of deletion: declared, else a timestamp, unless the feed counts in something else."""
    declared = declared_type(contract, name) if name else None
    if declared is not None:
        return declared
    kind = types_by_name(batch)[version] if version else T.TimestampType()
    return T.TimestampType() if isinstance(kind, T.DateType | T.TimestampNTZType) else kind


def _delete_types(deletes: Deletes, contract: Contract) -> dict[str, T.DataType]:
    by_value: dict[type, T.DataType] = {bool: T.BooleanType(), int: T.IntegerType()}
    made: dict[str, T.DataType] = {}
    if deletes.flag and deletes.at and deletes.reason:
        made[deletes.flag] = declared_type(contract, deletes.flag) or by_value.get(type(deletes.value), T.StringType())
        made[deletes.at] = deletes.at_type
        made[deletes.reason] = declared_type(contract, deletes.reason) or T.StringType()
    return made


def _milestones(batch: DataFrame, contract: Contract) -> frozenset[str]:
    """Columns that keep the first value they ever got."""
    fact = contract.materialization.fact
    named = [field.name for field in contract.model.fields if field.milestone]
    named += list(fact.milestone_dates) if fact and fact.type == "accumulating" else []
    keys = set(contract.merge_key)
    return frozenset(found for name in named if name not in keys and (found := find_column(batch, name)))


def _unknown(said: Materialization) -> UnknownMember | None:
    member = (said.scd1.unknown_member if said.scd1 else None) or said.unknown_member
    return member if member and member.enabled else None
