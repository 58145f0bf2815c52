"""What aggregate functions are given, taken out of an expression so that it can be guarded row by row."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from lakelogic_assets.contract.sql import expression_tree

_BARE = (exp.Column, exp.Star, exp.Literal, exp.Boolean, exp.Null)


def guarded_arguments(text: str, prefix: str) -> tuple[str, dict[str, str]]:
    """`sum(a / b) / count(*)` → `sum(p0) / count(*)` and `{p0: a / b}`; plain columns stay where they are.

    A guard around an aggregate sees what comes out of it, not what fails on the way in.
    """
    tree = expression_tree(text)
    if tree is None or tree.find(exp.Window, exp.Lambda, exp.Query):
        return text, {}
    tree, arguments = tree.copy(), dict[str, str]()
    for call in list(tree.find_all(exp.AggFunc)):
        value = call.this
        inner = value.expressions[0] if isinstance(value, exp.Distinct) and len(value.expressions) == 1 else value
        if not isinstance(inner, exp.Expression) or isinstance(inner, (*_BARE, exp.Distinct, exp.AggFunc, exp.Order)):
            continue
        name = f"{prefix}{len(arguments)}"
        arguments[name] = inner.sql(dialect="spark")
        inner.replace(sqlglot.exp.column(name))
    return (tree.sql(dialect="spark"), arguments) if arguments else (text, {})
