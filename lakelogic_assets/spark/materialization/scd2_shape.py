"""What a contract says about the history of its rows, held against the columns of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.materialization import Scd2, UnknownMember
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import find_column
from lakelogic_assets.spark.lineage import stamp_columns
from lakelogic_assets.spark.materialization.keys import key_columns, moment, types_by_name
from lakelogic_assets.spark.schema import HIDDEN_PREFIX, declared_type


@dataclass(frozen=True)
class Scd2Shape:
    """The columns of a dimension by the part they play."""

    settings: Scd2
    keys: tuple[str, ...]
    tracked: tuple[str, ...]
    data: tuple[str, ...]
    """What the rows themselves say, key included."""
    written: tuple[str, ...]
    types: Mapping[str, T.DataType]
    stamps: frozenset[str]
    run_stamps: tuple[str, ...]
    """The stamps that move whenever a run touches a row."""
    timestamp: str | None
    unknown: UnknownMember | None

    @classmethod
    def of(cls, batch: DataFrame, contract: Contract) -> Scd2Shape:
        settings = contract.scd2 or Scd2()
        keys = key_columns(batch, contract.business_key, "scd2")
        known = {name.casefold() for name in stamp_columns(contract)}
        injected = {name.casefold() for name in settings.injected_columns}
        stamps = [name for name in batch.columns if name.casefold() in known]
        others = [n for n in batch.columns if n not in stamps and not n.startswith(HIDDEN_PREFIX)]
        data = [name for name in others if name.casefold() not in injected]
        timestamp = _timestamp(batch, settings)
        types = types_by_name(batch)
        made = _made_types(contract, settings, types[timestamp] if timestamp else None)
        lineage = contract.lineage
        moving = {lineage.column_of("timestamp"), lineage.column_of("run_id")}
        member = settings.unknown_member or contract.materialization.unknown_member
        return cls(
            settings=settings,
            keys=tuple(keys),
            tracked=_tracked(batch, settings, data, keys),
            data=tuple(data),
            written=(*_in_order(contract, [*data, *settings.injected_columns]), *stamps),
            types={**types, **made},
            stamps=frozenset(stamps),
            run_stamps=tuple(name for name in stamps if name in moving),
            timestamp=timestamp,
            unknown=member if member and member.enabled else None,
        )

    @property
    def effective_type(self) -> T.DataType:
        return self.types[self.settings.effective_from_field]

    @property
    def origin(self) -> Column:
        return self._sentinel(self.settings.effective_from_default)

    @property
    def open_end(self) -> Column:
        return self._sentinel(self.settings.effective_to_default)

    def _sentinel(self, text: str) -> Column:
        if isinstance(self.effective_type, T.StringType | T.DateType | T.TimestampType | T.TimestampNTZType):
            return F.lit(text).try_cast(self.effective_type)
        name, kind = self.settings.effective_from_field, self.effective_type.simpleString()
        raise EngineError(f"`{name}` is declared {kind}; the start of a version is a string, a date or a timestamp.")

    def effective(self, timestamp: Column) -> Column:
        """A time of change in the type of the effective columns."""
        return timestamp.try_cast(self.effective_type)

    def moment(self, timestamp: Column) -> Column:
        """A time of change as something to sort by."""
        return moment(timestamp, self.timestamp_type)

    @property
    def timestamp_type(self) -> T.DataType:
        return self.types[self.timestamp] if self.timestamp else self.effective_type


def _timestamp(batch: DataFrame, settings: Scd2) -> str | None:
    if not settings.timestamp_field:
        return None
    found = find_column(batch, settings.timestamp_field)
    if found is None:
        said = f"`scd2.timestamp_field: {settings.timestamp_field}`"
        raise EngineError(f"{said} is not among the rows' columns: declare it, or keep it in all steps.")
    return found


def _tracked(batch: DataFrame, settings: Scd2, data: list[str], keys: list[str]) -> tuple[str, ...]:
    """The columns whose change makes a version: those named, else all that are neither key nor stamp."""
    if not settings.track_columns:
        return tuple(name for name in data if name not in keys)
    found = {name: find_column(batch, name) for name in settings.track_columns}
    missing = [name for name, there in found.items() if there is None]
    if missing:
        raise EngineError(f"`scd2.track_columns` names {', '.join(missing)}, which the rows do not have.")
    return tuple(there for there in found.values() if there)


def _made_types(contract: Contract, settings: Scd2, timestamp: T.DataType | None) -> dict[str, T.DataType]:
    """The types of the columns that the engine adds: the declared ones, the same on every load."""
    by_default = (
        timestamp if isinstance(timestamp, T.StringType | T.DateType | T.TimestampNTZType) else T.TimestampType()
    )
    start = declared_type(contract, settings.effective_from_field) or by_default
    defaults: dict[str | None, T.DataType] = {
        settings.effective_from_field: start,
        settings.effective_to_field: start,
        settings.current_flag_field: T.BooleanType(),
        settings.version_column: T.LongType(),
        settings.change_reason_column: T.StringType(),
        settings.surrogate_key: T.StringType(),
    }
    return {name: declared_type(contract, name) or kind for name, kind in defaults.items() if name}


def _in_order(contract: Contract, names: list[str]) -> list[str]:
    """Declared columns in the model's order, then the others as they come."""
    places = {field.name.casefold(): place for place, field in enumerate(contract.model.fields)}
    return sorted(names, key=lambda name: places.get(name.casefold(), len(places)))
