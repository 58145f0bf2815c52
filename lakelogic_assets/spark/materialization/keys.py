"""Keys of merged rows: when two are equal, where a table can hold them, and the ids that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any, Final, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import column, find_column, quoted, text_literal
from lakelogic_assets.spark.schema import HIDDEN_PREFIX

MANY_VALUES: Final = 64
LONG_TEXT: Final = 200
_TIMES: Final = f"{HIDDEN_PREFIX}times"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER_SUFFIX: Final[dict[type[T.DataType], str]] = {
    T.ByteType: "Y",
    T.ShortType: "S",
    T.IntegerType: "",
    T.LongType: "L",
}


def column_of(side: str, name: str) -> Column:
    """A column of one side of a join, whatever letters it is made of."""
    return F.col(f"{side}.{quoted(name)}")


def key_columns(frame: DataFrame, named: Sequence[str], section: str) -> list[str]:
    """The frame's own spelling of the key; a key that is not there, or of no columns, is refused."""
    if not named:
        raise EngineError(f"`strategy: {section}` needs a key: the contract declares no `primary_key`.")
    found = [find_column(frame, name) for name in named]
    missing = [name for name, there in zip(named, found, strict=True) if there is None]
    if missing:
        raise EngineError(f"The key column {', '.join(missing)} is not among the rows' columns.")
    return [name for name in found if name]


def same_key(names: Sequence[str], *, complete: bool = False) -> Column:
    """Whether rows `t` and `s` have the same key; NULL is a value like any other.

    Where one side is known to be `complete`, nothing of its keys being NULL, a join has half as much to compare.
    """
    sides = [(column_of("t", name), column_of("s", name)) for name in names]
    return reduce(Column.__and__, [here == there if complete else here.eqNullSafe(there) for here, there in sides])


def types_by_name(frame: DataFrame) -> dict[str, T.DataType]:
    # A table takes NULL inside of arrays and structs; a type that forbids it cannot be cast to.
    return {field.name: field.dataType._as_nullable() for field in frame.schema.fields}


def comparable(value: Column, kind: T.DataType) -> Column:
    """The value as something that can be compared and sorted: Spark can do neither with a map."""
    return F.to_json(F.struct(value.alias("v"))) if _holds_map(kind) else value


def moment(value: Column, kind: T.DataType) -> Column:
    """A point in time as something to sort by: text counts as the moment it names, where it names one."""
    if not isinstance(kind, T.StringType):
        return value
    known = F.unix_micros(value.try_cast("timestamp"))
    return F.when(value.isNotNull(), F.struct(known.alias("at"), F.when(known.isNull(), value).alias("text")))


def _holds_map(kind: T.DataType) -> bool:
    match kind:
        case T.MapType() | T.VariantType():
            return True
        case T.ArrayType():
            return _holds_map(kind.elementType)
        case T.StructType():
            return any(_holds_map(field.dataType) for field in kind.fields)
        case _:
            return False


def surrogate(parts: Sequence[Column], strategy: Literal["hash", "uuid"], name: str, kind: T.DataType) -> Column:
    """An id that is made of other values alone, so that every run makes the same one.

    Text gets 16 hexadecimal digits of SHA-256 over the parts joined by `|` (or a UUID made of it), whole numbers a
    hash that is never negative.
    """
    texts = [_escaped(part.cast("string")) for part in parts]
    joined = F.concat_ws("|", *texts)
    digits = F.sha2(joined, 256)
    if isinstance(kind, T.LongType) or (isinstance(kind, T.DecimalType) and kind.precision - kind.scale >= 19):
        return F.xxhash64(joined).bitwiseAND(F.lit(2**63 - 1)).cast(kind)
    if not isinstance(kind, T.StringType):
        raise EngineError(f"The surrogate key `{name}` is declared {kind.simpleString()}; declare it string or long.")
    return _uuid(digits) if strategy == "uuid" else F.substring(digits, 1, 16)


def _escaped(text: Column) -> Column:
    """So that no two lists of parts read the same once they are joined."""
    plain = F.replace(F.replace(text, F.lit("\\"), F.lit("\\\\")), F.lit("|"), F.lit("\\|"))
    return F.coalesce(plain, F.lit("\\N"))


def _uuid(digits: Column) -> Column:
    """A UUID of version 8, the one whose bits mean what their maker says."""
    groups = ((1, 8, ""), (9, 4, ""), (13, 3, "8"), (16, 3, "8"), (19, 12, ""))
    return F.concat_ws("-", *(F.concat(F.lit(mark), F.substring(digits, at, size)) for at, size, mark in groups))


@dataclass(frozen=True)
class KeyFacts:
    """What one look at the keys of a batch tells."""

    rows: int
    keys: int
    """How many different ones there are."""
    duplicates: int
    """How many keys occur more than once."""
    complete: bool
    """Whether no part of a key is NULL."""
    span: Column | None
    """Where in the table `t` those keys can be, in literals, so that whole files are left out; None: anywhere."""


def key_facts(frame: DataFrame, keys: Sequence[str], contract: Contract) -> KeyFacts:
    """Count keys and find their bounds, in one job."""
    bounds = _Bounds.of(frame, keys, contract)
    counted = [
        F.sum(_TIMES).alias("rows"),
        F.count(F.lit(1)).alias("keys"),
        F.count_if(column(_TIMES) > 1).alias("duplicates"),
    ]
    distinct = frame.groupBy(*map(column, keys)).agg(F.count(F.lit(1)).alias(_TIMES))
    found = distinct.agg(*counted, _incomplete(keys), *bounds.wanted(contract)).collect()[0].asDict()
    return KeyFacts(found["rows"] or 0, found["keys"], found["duplicates"], not found["incomplete"], bounds.span(found))


def key_span(frame: DataFrame, keys: Sequence[str], contract: Contract) -> tuple[Column | None, bool]:
    """Where in the table `t` the keys of a batch can be, and whether none of them is NULL in part.

    No job is run where the first could not be told; then the second is not known, and said to be no.
    """
    bounds = _Bounds.of(frame, keys, contract)
    if not bounds.types:
        return None, False
    counted = F.count(F.lit(1)).alias("rows")
    found = frame.agg(counted, _incomplete(keys), *bounds.wanted(contract)).collect()[0].asDict()
    return bounds.span(found), not found["incomplete"]


def _incomplete(keys: Sequence[str]) -> Column:
    return F.bool_or(reduce(Column.__or__, [column(name).isNull() for name in keys])).alias("incomplete")


@dataclass(frozen=True)
class _Bounds:
    """The columns of a key whose bounds can be told, with their types."""

    types: dict[str, T.DataType]

    @classmethod
    def of(cls, frame: DataFrame, keys: Sequence[str], contract: Contract) -> _Bounds:
        types = types_by_name(frame)
        return cls({name: types[name] for name in keys if _is_bounded(name, types[name], contract)})

    def wanted(self, contract: Contract) -> list[Column]:
        """What an aggregation must bring for `span`, beside the number of `rows`."""
        wanted = []
        for index, (name, kind) in enumerate(self.types.items()):
            plain = _plain(column(name), kind)
            wanted += [F.min(plain).alias(f"min_{index}"), F.max(plain).alias(f"max_{index}")]
            wanted.append(F.bool_or(column(name).isNull()).alias(f"null_{index}"))
            if name in contract.materialization.partition_by:
                wanted.append(F.slice(F.sort_array(F.collect_set(plain)), 1, MANY_VALUES + 1).alias(f"all_{index}"))
        return wanted

    def span(self, found: dict[str, Any]) -> Column | None:
        if not found["rows"]:
            return None
        spans = [_span(name, kind, index, found) for index, (name, kind) in enumerate(self.types.items())]
        known = [span for span in spans if span is not None]
        return reduce(Column.__and__, known) if known else None


def _is_bounded(name: str, kind: T.DataType, contract: Contract) -> bool:
    """Whether bounds of the column may stand in the table's history and help to leave files out."""
    declared = contract.model.by_name.get(name)
    # The condition of a MERGE is kept in the log, where nothing erases it with the person's rows.
    if declared and (declared.is_personal or declared.sensitive or declared.masking):
        return False
    layout = (*contract.materialization.partition_by, *contract.materialization.cluster_by)
    return type(kind) in _INTEGER_SUFFIX or isinstance(kind, T.DateType | T.TimestampType) or (
        isinstance(kind, T.StringType) and name in layout
    )  # fmt: skip


def _plain(value: Column, kind: T.DataType) -> Column:
    """The value as a number or text that Python gets unchanged, whatever its time zone."""
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(value)
    return F.unix_date(value) if isinstance(kind, T.DateType) else value


def _literal(value: Any, kind: T.DataType) -> str | None:
    """A literal of SQL: an expression that Spark would first have to evaluate leaves out no file."""
    try:
        if isinstance(kind, T.TimestampType):
            # Not `%Y`, which gives the year 1 a single digit.
            return f"TIMESTAMP'{(_EPOCH + timedelta(microseconds=value)).isoformat(sep=' ')}'"
        if isinstance(kind, T.DateType):
            return f"DATE'{date(1970, 1, 1) + timedelta(days=value)}'"
    except OverflowError:
        return None
    if isinstance(kind, T.StringType):
        return text_literal(value) if len(value) <= LONG_TEXT else None
    return f"{value}{_INTEGER_SUFFIX[type(kind)]}"


def _span(name: str, kind: T.DataType, index: int, found: dict[str, Any]) -> Column | None:
    place = f"t.{quoted(name)}"
    values = found.get(f"all_{index}") or []
    low, high = found[f"min_{index}"], found[f"max_{index}"]
    if low is None:
        return F.expr(f"{place} IS NULL")
    if values and len(values) <= MANY_VALUES:
        texts = [_literal(value, kind) for value in values]
        within = None if None in texts else f"{place} IN ({', '.join(text for text in texts if text)})"
    else:
        bounds = (_literal(low, kind), _literal(high, kind))
        within = None if None in bounds else f"{place} >= {bounds[0]} AND {place} <= {bounds[1]}"
    if within is None:
        return None
    return F.expr(f"({within}) OR {place} IS NULL" if found[f"null_{index}"] else within)
