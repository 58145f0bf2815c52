"""Column names as they are, whatever letters they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def quoted(name: str) -> str:
    """The name as one identifier of Spark SQL: dots, blanks and backticks in it mean themselves."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """The column of that very name; a dot in it does not reach into a struct."""
    return F.col(quoted(name))


def find_column(frame: DataFrame, name: str) -> str | None:
    """The frame's own spelling of a column, exact spelling first; None when it has no such column."""
    return find_name(frame.columns, name)


def find_name(names: Iterable[str], name: str) -> str | None:
    """Like `find_column`, over plain names."""
    folded, near = name.lower(), None
    for each in names:
        if each == name:
            return each
        if near is None and each.lower() == folded:
            near = each
    return near


def text_literal(text: str) -> str:
    """The text as a literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
