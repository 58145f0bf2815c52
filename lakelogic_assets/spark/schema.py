"""The declared shape held against the rows that came: casts that never raise, and what is missing or unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets import names
from lakelogic_assets.contract.columns import computed_in, created_in, engine_columns, replaces_columns
from lakelogic_assets.contract.document import Contract
from lakelogic_assets.spark.identifiers import column

HIDDEN_PREFIX = "__ll_"
"""Columns of the engine's own that never reach a table."""

_UNCAST = f"{HIDDEN_PREFIX}uncast_"

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FRACTIONS = (T.FloatType, T.DoubleType, T.DecimalType)
_COMPLEX = (T.ArrayType, T.MapType, T.StructType, T.VariantType)

# What Spark casts from text without complaint is wider than what people mean: '12:30' is a time of today,
# '2024' a date, '1d' and 'NaN' are numbers. A form is therefore asked for besides the cast.
_NUMBER_FORM = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_INTEGER_FORM = r"^\s*[+-]?[0-9]+\s*$"
_DATE_FORM = r"^\s*[+-]?[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?\s*$"


def uncast_column(name: str, type_name: str) -> str:
    """The hidden column that keeps what a `cast` step could not cast, until its row is judged."""
    return f"{_UNCAST}{type_name}|{name}"


def uncast_columns(frame: DataFrame) -> dict[str, tuple[str, str]]:
    """Hidden column → the column and the type that a `cast` step asked for."""
    found = {}
    for hidden in frame.columns:
        if hidden.startswith(_UNCAST):
            type_name, _, name = hidden.removeprefix(_UNCAST).partition("|")
            found[hidden] = (name, type_name)
    return found


@lru_cache(maxsize=1024)
def data_type(ddl: str) -> T.DataType:
    """The Spark type of a DDL type name."""
    return T._parse_datatype_string(ddl)


def declared_type(contract: Contract, name: str) -> T.DataType | None:
    """The type a column is held to; None for columns that nobody declares."""
    field = contract.model.field(name)
    if contract.server.cast_to_string and not name.startswith(names.ENGINE_PREFIX):
        return T.StringType()
    return data_type(field.spark_type) if field else None


@dataclass(frozen=True)
class ColumnCast:
    """A column that arrives in another type than it is declared in."""

    name: str
    """As the frame spells it."""
    declared_name: str
    wanted: T.DataType
    type_name: str
    can_fail: bool
    truncates: bool = False
    """Whether a fraction may be cut off: the contract worked the value out and says that it is whole."""


def casts_for(frame: DataFrame, contract: Contract, phase: str = "pre") -> tuple[ColumnCast, ...]:
    """The declared columns of a frame that need a cast.

    What arrived was cast at the split, so that what still needs it in phase `post` was worked out by a step.
    """
    computed = {name.casefold() for name in computed_in(contract, "pre")}
    found = []
    for field in frame.schema.fields:
        wanted = declared_type(contract, field.name)
        if wanted is not None and not _same(field.dataType, wanted):
            named = contract.model.field(field.name)
            type_name = named.type if named and not isinstance(wanted, T.StringType) else "string"
            can_fail = not isinstance(wanted, T.StringType)
            truncates = phase == "post" or field.name.casefold() in computed
            told = named.name if named else field.name
            found.append(ColumnCast(field.name, told, wanted, type_name, can_fail, truncates))
    return tuple(found)


def shaped(frame: DataFrame, contract: Contract) -> DataFrame:
    """The frame with its declared columns in their types."""
    casts = casts_for(frame, contract)
    return frame.select(*cast_columns(frame, casts)) if casts else frame


def cast_columns(frame: DataFrame, casts: Sequence[ColumnCast]) -> list[Column]:
    """All columns of the frame in their order, the given ones cast."""
    wanted = {each.name: each for each in casts}
    made = []
    for field in frame.schema.fields:
        value, found = column(field.name), wanted.get(field.name)
        if found is not None:
            value = cast(value, field.dataType, found.wanted, truncating=found.truncates).alias(field.name)
        made.append(value)
    return made


def _same(actual: T.DataType, wanted: T.DataType) -> bool:
    return actual.simpleString() == wanted.simpleString()


def cast(value: Column, actual: T.DataType, wanted: T.DataType, *, truncating: bool = False) -> Column:
    """The value in the wanted type, or NULL where it is not one of that type; never an error."""
    if isinstance(wanted, T.StringType):
        return F.to_json(value) if isinstance(actual, _COMPLEX) else value.cast("string")
    if isinstance(actual, T.StringType):
        return _from_text(value, wanted)
    if isinstance(actual, _FRACTIONS) and isinstance(wanted, _INTEGERS) and not truncating:
        # Spark drops the fraction silently.
        return F.when(value == F.floor(value), value.try_cast(wanted))
    return value.try_cast(wanted)


def _from_text(text: Column, wanted: T.DataType) -> Column:
    plain = text.try_cast(wanted)
    if isinstance(wanted, _INTEGERS):
        return F.when(text.rlike(_INTEGER_FORM), plain)
    if isinstance(wanted, T.DecimalType):
        return F.when(text.rlike(_NUMBER_FORM), plain)
    if isinstance(wanted, _FRACTIONS):
        return F.when(text.rlike(_NUMBER_FORM) & (F.abs(plain) != F.lit(float("inf"))), plain)
    if isinstance(wanted, T.DateType):
        as_moment = text.try_cast("timestamp_ntz").isNotNull() | text.try_cast("timestamp").isNotNull()
        return F.when(text.rlike(_DATE_FORM) & as_moment, plain)
    if isinstance(wanted, T.TimestampType | T.TimestampNTZType):
        return F.when(text.rlike(_DATE_FORM), plain)
    if isinstance(wanted, T.ArrayType | T.MapType | T.StructType):
        return F.from_json(text, wanted.simpleString(), {"mode": "PERMISSIVE"})
    return plain


def missing_columns(frame: DataFrame, contract: Contract) -> tuple[str, ...]:
    """Declared columns that did not arrive and that no later step makes."""
    if replaces_late(contract) or contract.external_logic is not None:
        return ()
    made_later = created_in(contract, "post") | engine_columns(contract)
    made_later |= {field.name for field in contract.model.fields if field.generated}
    excused = {name.casefold() for name in (*made_later, *frame.columns)}
    return tuple(
        field.name
        for field in contract.model.fields
        if field.name.casefold() not in excused
        and not field.name.startswith(names.ENGINE_PREFIX)
    )  # fmt: skip


def replaces_late(contract: Contract) -> bool:
    """Whether a post step may make columns that cannot be told beforehand."""
    late = contract.model_copy(
        update={"transformations": tuple(s for s in contract.transformations if s.effective_phase == "post")}
    )
    return replaces_columns(late)


def unknown_columns(frame: DataFrame, contract: Contract) -> tuple[str, ...]:
    """Columns that arrived and nobody declares; the engine's own and those of the contract's steps do not count."""
    if not contract.model.fields:
        return ()  # without a model the source's own columns are the shape
    known = {name.casefold() for name in contract.model.by_name} | {n.casefold() for n in created_in(contract, "pre")}
    named = (*contract.lineage.columns.values(), *_kept_columns(contract), *steering_columns(contract))
    known |= {name.casefold() for name in named}
    return tuple(
        name
        for name in frame.columns
        if name.casefold() not in known and not name.startswith((names.ENGINE_PREFIX, HIDDEN_PREFIX, "_upstream"))
    )


def refused_columns(unknown: Sequence[str], contract: Contract) -> frozenset[str]:
    """Of the columns that nobody declares, those that the table must not get: rows with a value there are not good."""
    if contract.policy.unknown_fields != "quarantine":
        return frozenset()
    return frozenset(name.casefold() for name in unknown) - {name.casefold() for name in created_in(contract, "post")}


def conform(frame: DataFrame, contract: Contract, refused: frozenset[str] = frozenset()) -> DataFrame:
    """The final shape: declared columns first and in order, absent ones as typed NULL, extras kept or dropped.

    Casts are done and judged before; here every declared column already has its type or is absent.
    """
    if not contract.model.fields:
        return frame
    injected = set(contract.scd2.injected_columns if contract.scd2 else ())
    lineage = set(contract.lineage.columns.values())
    present = {name.casefold(): name for name in frame.columns}
    declared = []
    for field in contract.model.fields:
        wanted = declared_type(contract, field.name) or T.StringType()
        found = present.pop(field.name.casefold(), None)
        if found is not None:
            declared.append(column(found).alias(field.name))
        elif field.name not in injected and field.name not in lineage:
            declared.append(F.lit(None).cast(wanted).alias(field.name))
    drop_extras = contract.policy.unknown_fields == "drop"
    wanted_extras = {name.casefold() for name in (*steering_columns(contract), *_kept_columns(contract))}
    kept = [
        column(name)
        for name in present.values()
        if not (drop_extras or name.casefold() in refused)
        or name.casefold() in wanted_extras
        or name.startswith((names.ENGINE_PREFIX, HIDDEN_PREFIX, "_upstream"))
    ]
    return frame.select(*declared, *kept)


def _kept_columns(contract: Contract) -> tuple[str, ...]:
    """Stamps of upstream under the names they are kept by: nobody declares them, and everybody who asked wants them."""
    return tuple(contract.lineage.kept_columns.values())


def steering_columns(contract: Contract) -> frozenset[str]:
    """Columns that decide how a row is merged; they are needed until then, also where nobody declares them."""
    source = contract.source
    named = [source.cdc_op_field, source.cdc_timestamp_field] if source and source.load_mode == "cdc" else []
    named.append(contract.scd2.timestamp_field if contract.scd2 else None)
    return frozenset(name for name in named if name)


def transient_columns(contract: Contract) -> tuple[str, ...]:
    """Steering columns that are read and not stored."""
    if contract.policy.unknown_fields == "allow":
        return ()
    return tuple(sorted(name for name in steering_columns(contract) if name not in contract.model.by_name))


def types_of(frame: DataFrame) -> Mapping[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}
