"""What the columns of a query are made of, told from its tree alone.

A query is followed as Spark would resolve it. Where it reads columns that nobody declares, a name that only one of its
relations can have is that relation's; a name that may be of several is not told at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from lakelogic_assets.contract.origins import OPAQUE, Frame, Origins, side_by_side, stacked, together
from lakelogic_assets.contract.sql import SqlFault, current_frame
from lakelogic_assets.contract.sql_tree import parse

Relations = Mapping[str, Frame]
_ROUNDS = 10
"""A recursive query has told all it can long before."""


def query_origins(text: str, relations: Relations) -> Frame:
    """The result of a query over relations, by their names in lower case."""
    parsed = parse(current_frame(text), "query")
    return OPAQUE if isinstance(parsed, SqlFault) else _query(parsed.tree, relations, None)


def with_select_list(text: str, frame: Frame, relations: Relations) -> Frame:
    """The frame with the columns that a list of expressions makes of it."""
    parsed = parse(current_frame(text), "select_list")
    if isinstance(parsed, SqlFault) or not isinstance(parsed.tree, exp.Select):
        return OPAQUE
    scope = _Scope(relations, {"source": frame})
    made: dict[str, Origins] = {}
    for item in parsed.tree.expressions:
        if not isinstance(item, exp.Star):
            made |= {name: origins for name, origins in _item(item, scope) if name}
    return frame.written(made)


def expression_origins(text: str, frame: Frame, relations: Relations) -> Origins:
    """One expression over the rows of a frame."""
    parsed = parse(current_frame(text), "expression")
    return None if isinstance(parsed, SqlFault) else _expression(parsed.tree, _Scope(relations, {"source": frame}))


@dataclass
class _Scope:
    """What names mean inside one SELECT."""

    relations: Relations
    """What its FROM may name: CTEs, links, the rows at hand."""
    frames: dict[str, Frame] = field(default_factory=dict)
    """What its FROM does name, by alias."""
    outer: _Scope | None = None
    shared: dict[str, Origins] = field(default_factory=dict)
    """Columns that a join with USING made one of."""
    unseen: set[str] = field(default_factory=set)
    """Relations that only choose rows, as in a semi join."""
    aliases: dict[str, Origins] = field(default_factory=dict)
    """Outputs so far, which later expressions may use."""

    @property
    def visible(self) -> list[Frame]:
        return [frame for alias, frame in self.frames.items() if alias not in self.unseen]

    def column(self, parts: list[str]) -> Origins:
        """`email`, `s.email`, and of `s.address.city` or `address.city` the column address."""
        here: _Scope | None = self if len(parts) > 1 else None
        while here is not None:
            if parts[0].lower() in here.frames:
                return here.frames[parts[0].lower()].read(parts[1])
            here = here.outer
        found = self._unqualified(parts[0])
        return found[0] if len(found) == 1 else None

    def _unqualified(self, name: str) -> list[Origins]:
        if name.lower() in self.shared:
            return [self.shared[name.lower()]]
        certain = [origins for frame in self.visible for origins in frame.certain(name)]
        if certain:
            return certain
        possible = [origins for frame in self.visible for origins in frame.possible(name)]
        alias = [self.aliases[name.lower()]] if name.lower() in self.aliases else []
        further = alias or (self.outer._unqualified(name) if self.outer else [])
        # A table that may have the column, and an outer query that may, too: nobody can tell.
        return [*possible, *further]


def _query(tree: Any, relations: Relations, outer: _Scope | None) -> Frame:
    clause = tree.args.get("with_")
    if clause:
        relations = _with_ctes(clause, relations, outer)
    match tree:
        case exp.Select():
            return _select(tree, relations, outer)
        case exp.SetOperation():
            return _set_operation(tree, relations, outer)
        case exp.Subquery():
            _, frame = _relation(tree, _Scope(relations, outer=outer))
            return frame
        case _:
            return OPAQUE


def _with_ctes(clause: Any, relations: Relations, outer: _Scope | None) -> Relations:
    known = dict(relations)
    for cte in clause.expressions:
        name, columns = cte.alias.lower(), _alias_columns(cte)
        is_recursive = clause.args.get("recursive") and isinstance(cte.this, exp.SetOperation)
        found = _query(cte.this.this if is_recursive else cte.this, known, outer).called(columns)
        for _ in range(_ROUNDS if is_recursive else 0):
            before, found = found, _query(cte.this, {**known, name: found}, outer).called(columns)
            if before == found:
                break
        known[name] = found
    return known


def _set_operation(tree: Any, relations: Relations, outer: _Scope | None) -> Frame:
    upper = _query(tree.this, relations, outer)
    if not isinstance(tree, exp.Union):
        return upper  # EXCEPT and INTERSECT only choose among its rows
    return stacked(upper, _query(tree.expression, relations, outer), by_name=bool(tree.args.get("by_name")))


def _select(tree: Any, relations: Relations, outer: _Scope | None) -> Frame:
    if tree.args.get("pivots") or tree.args.get("kind"):
        return OPAQUE
    scope = _Scope(relations, outer=outer)
    base = tree.args.get("from_")
    if base is not None:
        _add(base.this, scope)
    for lateral in tree.args.get("laterals") or ():
        _add(lateral, scope)
    for join in tree.args.get("joins") or ():
        _join(join, scope)
    frame = side_by_side(_projected(item, scope) for item in tree.expressions)
    return frame.without(column.name for column in tree.args.get("exclude") or ())


def _projected(item: Any, scope: _Scope) -> Frame:
    star = item if isinstance(item, exp.Star) else item.this if isinstance(item, exp.Column) else None
    if isinstance(star, exp.Star):
        return _star(star, item.table.lower() if isinstance(item, exp.Column) else None, scope)
    columns = tuple(_item(item, scope))
    scope.aliases |= {name.lower(): origins for name, origins in columns if name}
    return Frame(columns)


def _item(item: Any, scope: _Scope) -> Iterator[tuple[str, Origins]]:
    """The output of an expression, or several where it makes several; one without a name is called nothing."""
    origins = _expression(item, scope)
    names = [each.name for each in item.expressions] if isinstance(item, exp.Aliases) else [item.alias_or_name]
    return ((name, origins) for name in names)


def _star(star: Any, alias: str | None, scope: _Scope) -> Frame:
    if alias is None:
        shared = Frame(tuple(scope.shared.items()))
        frame = side_by_side([shared, *(each.without(scope.shared) for each in scope.visible)])
    else:
        frame = scope.frames.get(alias, OPAQUE)
    if star.args.get("ilike"):
        return OPAQUE
    frame = frame.without(column.name for column in star.args.get("except_") or ())
    frame = frame.renamed({each.this.name: each.alias for each in star.args.get("rename") or ()})
    return frame.written({each.alias: _expression(each.this, scope) for each in star.args.get("replace") or ()})


def _add(node: Any, scope: _Scope) -> str:
    alias, frame = _relation(node, scope)
    # Without an alias of its own, two relations may share a name; then neither can be told by it.
    scope.frames[alias] = OPAQUE if alias in scope.frames else frame
    for join in node.args.get("joins") or ():
        _join(join, scope)
    return alias


def _join(join: Any, scope: _Scope) -> None:
    before = scope.visible
    alias = _add(join.this, scope)
    added = scope.frames[alias]
    if join.kind in ("SEMI", "ANTI"):
        scope.unseen.add(alias)
        return
    if join.method == "NATURAL":
        scope.frames[alias] = OPAQUE
    for each in join.args.get("using") or ():
        left = scope.shared.get(each.name.lower(), side_by_side(before).read(each.name))
        right = added.read(each.name)
        sides = {"RIGHT": (right,), "FULL": (left, right)}.get(join.side, (left,))
        scope.shared[each.name.lower()] = together(sides)


def _relation(node: Any, scope: _Scope) -> tuple[str, Frame]:
    """Something that stands in a FROM: its alias and its columns."""
    alias = node.alias_or_name.lower()
    if node.args.get("pivots"):
        return alias, OPAQUE
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            frame = scope.relations.get(".".join(part.name for part in node.parts).lower(), OPAQUE)
        case exp.Subquery() if isinstance(node.this, exp.Query):
            frame = _query(node.this, scope.relations, scope.outer)
        case exp.Lateral() if isinstance(node.this, exp.Subquery):
            frame = _query(node.this.this, scope.relations, scope)
        case exp.Lateral() | exp.Values() | exp.Unnest():
            return alias, _generated(node, scope)
        case _:
            frame = OPAQUE
    return alias, frame.called(_alias_columns(node))


def _generated(node: Any, scope: _Scope) -> Frame:
    """Rows that an expression makes; each of their columns is made of all that it reads."""
    columns = _alias_columns(node)
    origins = _expression(node, scope)
    return Frame(tuple((name, origins) for name in columns)) if columns else OPAQUE


def _alias_columns(node: Any) -> list[str]:
    alias = node.args.get("alias")
    return [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _expression(node: Any, scope: _Scope) -> Origins:
    return together(_read(node, scope))


def _read(node: Any, scope: _Scope) -> Iterator[Origins]:
    """What every part of an expression reads; a sum of a thousand terms is a thousand levels deep."""
    queue = [node]
    while queue:
        match part := queue.pop():
            case exp.Exists():
                continue
            case exp.Count() if isinstance(part.this, exp.Star):
                continue
            case exp.Star():
                yield None
            case exp.Column():
                is_star = isinstance(part.this, exp.Star)
                yield None if is_star else scope.column([each.name for each in part.parts])
            case exp.Query():
                frame = _query(part, scope.relations, scope)
                yield together(origins for _, origins in frame.columns) if frame.is_closed else None
            case _:
                queue += part.iter_expressions()
