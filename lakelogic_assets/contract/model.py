"""`model:` — the shape of the table: fields, types, what they may hold and how they are protected.

A value that is not of its field's type sends its row to quarantine (`Type Mismatch`). That is so for a fraction from
the source in a field of whole numbers as well: cutting it off would lose what somebody measured. A column that the
contract's own `sql`, `derive`, `rollup` or `pivot` works out, a `cast` step makes a number of, or external logic
returns, is cut off as `try_cast` does, since its author says there that it is whole: `SUM(minutes) / COUNT(*)` in an
`int` needs no `FLOOR`, and `cast: {columns: {amount: int}}` makes 1 of 1.5.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from lakelogic_assets.contract.base import Bag, Name, Names, Section, problem
from lakelogic_assets.contract.datatypes import TYPE_NAMES, spark_type
from lakelogic_assets.contract.quality import SqlRule

Masking = Literal["partial", "hash", "redact", "tokenize", "null", "nullify", "encrypt"]


def _check_type(value: str) -> str:
    if spark_type(value) is None:
        raise problem("LL106", f"{value!r} is not a type of the language.", allowed=list(TYPE_NAMES))
    return value


TypeName = Annotated[str, AfterValidator(_check_type)]


class ForeignKey(Section):
    """A hint for documentation and generated data; it is never enforced."""

    contract: Name
    column: Name
    severity: str = "error"


class FieldDefinition(Section):
    name: Name
    type: TypeName = "string"
    required: bool = False
    nullable: bool | None = None
    description: str | None = None
    classification: str | None = None
    pii: bool = False
    phi: bool = False
    sensitive: bool = False
    masking: Masking | None = None
    masking_format: str | None = None
    pii_vault: str | None = None
    security_groups: Names = ()
    rules: tuple[SqlRule, ...] = ()
    accepted_values: tuple[Any, ...] | None = None
    min: float | None = None
    max: float | None = None
    max_length: int | None = Field(default=None, ge=0)
    range: tuple[float, float] | None = None
    foreign_key: ForeignKey | None = None
    milestone: bool = False
    generated: bool = False
    extraction_task: str | None = None
    extraction_examples: tuple[str, ...] = ()
    tags: Bag | tuple[str, ...] | None = None

    @property
    def spark_type(self) -> str:
        return spark_type(self.type) or "STRING"

    @property
    def is_personal(self) -> bool:
        return self.pii or self.phi

    @model_validator(mode="after")
    def _bounds_in_order(self) -> FieldDefinition:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise problem("LL105", f"`min` {self.min:g} is above `max` {self.max:g}.")
        return self


class Model(Section):
    fields: tuple[FieldDefinition, ...] = ()
    grain: str | None = None
    grain_key: Names = ()

    @cached_property
    def by_name(self) -> dict[str, FieldDefinition]:
        return {field.name: field for field in self.fields}

    def field(self, name: str) -> FieldDefinition | None:
        """The field of that name, in whatever case a source writes it."""
        return self.by_name.get(name) or self._by_folded_name.get(name.casefold())

    @cached_property
    def _by_folded_name(self) -> dict[str, FieldDefinition]:
        return {field.name.casefold(): field for field in self.fields}
