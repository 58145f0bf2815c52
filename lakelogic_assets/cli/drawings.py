"""A graph of contracts as text, Mermaid, Graphviz and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from lakelogic_assets import names
from lakelogic_assets.cli.printing import console, counted, shown_path

Edge = tuple[str, str, str]
"""Upstream, downstream, and how the downstream says so."""

_COLOURS = {"reference": "cyan", "bronze": "dark_orange3", "silver": "grey70", "gold": "gold3"}
_NO_LAYER = "no layer"


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    table: str
    domain: str | None
    layer: str | None
    enabled: bool
    level: int | None
    file: str | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn; `external` are edges from tables that no contract makes."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    external: tuple[Edge, ...] = ()

    def layers(self) -> Iterator[tuple[str, list[Node]]]:
        """The contracts of each layer, the raw layers first."""
        known = {node.layer or _NO_LAYER for node in self.nodes}
        order = [layer for layer in names.LAYERS if layer in known]
        for layer in [*order, *sorted(known - set(order))]:
            yield layer, [node for node in self.nodes if (node.layer or _NO_LAYER) == layer]

    def upstream_of(self, node: Node) -> list[str]:
        """The names that a contract waits for, without the domain where it is the contract's own."""
        own = f"{node.domain}/"
        inside = [up.removeprefix(own) for up, down, _ in self.edges if down == node.key]
        outside = dict.fromkeys(f"({up})" for up, down, _ in self.external if down == node.key)
        return [*inside, *outside]

    def label(self, node: Node) -> str:
        """The table, with its domain only where another domain has one of the same name."""
        return node.table if sum(each.table == node.table for each in self.nodes) == 1 else node.key

    @property
    def summary(self) -> str:
        levels = {node.level for node in self.nodes if node.level is not None}
        found = {"contract": len(self.nodes), "edge": len(self.edges), "level": len(levels)}
        return ", ".join(counted(number, noun) for noun, number in found.items())


def text(drawing: Drawing) -> str:
    """Plain lines; every contract on a line of its own with what it waits for."""
    width = max((len(_name(node)) for node in drawing.nodes), default=0)
    lines: list[str] = []
    for layer, nodes in drawing.layers():
        lines.append(layer)
        for node in nodes:
            waits = ", ".join(drawing.upstream_of(node))
            lines.append(f"  {_name(node):{width}}  <- {waits}" if waits else f"  {_name(node)}")
    return "\n".join([*lines, drawing.summary])


def print_tree(drawing: Drawing) -> None:
    """The same for people, with branches and the colours of the layers."""
    from rich.text import Text

    screen = console()
    width = max((len(_name(node)) for node in drawing.nodes), default=0)
    for layer, nodes in drawing.layers():
        screen.print(Text(layer, f"bold {_COLOURS.get(layer, 'white')}"))
        for index, node in enumerate(nodes):
            branch = "└─ " if index == len(nodes) - 1 else "├─ "
            waits = ", ".join(drawing.upstream_of(node))
            style = _COLOURS.get(layer, "white") if node.enabled else "dim"
            name = _name(node)
            line = Text.assemble((branch, "dim"), (f"{name:{width}}" if waits else name, style))
            screen.print(line + Text(f"  ← {waits}" if waits else "", "dim"), soft_wrap=True)
    screen.print(Text(drawing.summary, "bold"))


def _name(node: Node) -> str:
    return node.key if node.enabled else f"{node.key} (not run)"


def mermaid(drawing: Drawing) -> str:
    """A flowchart that GitHub and most wikis draw by themselves."""
    lines = ["flowchart LR"]
    for layer, nodes in drawing.layers():
        lines.append(f"  subgraph {_id(layer)}[{_text(layer)}]")
        lines += [f"    {_id(node.key)}[{_text(drawing.label(node))}]" for node in nodes]
        lines.append("  end")
    outside = dict.fromkeys(up for up, _, _ in drawing.external)
    lines += [f"  {_id(name)}([{_text(name)}])" for name in outside]
    lines += [f"  {_id(up)} --> {_id(down)}" for up, down, _ in drawing.edges]
    lines += [f"  {_id(up)} -.-> {_id(down)}" for up, down, _ in drawing.external]
    idle = [_id(node.key) for node in drawing.nodes if not node.enabled]
    if idle:
        lines += ["  classDef idle stroke-dasharray: 4", f"  class {','.join(idle)} idle"]
    return "\n".join(lines)


def _id(name: str) -> str:
    """Mermaid reads some words as commands, so an identifier never stands alone as one."""
    return f"n_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"


def _text(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else '"' + name.replace('"', "#quot;") + '"'


def dot(drawing: Drawing) -> str:
    """Graphviz; one cluster per layer."""
    lines = ["digraph contracts {", "  rankdir=LR;", "  node [shape=box];"]
    for layer, nodes in drawing.layers():
        lines.append(f"  subgraph {_quoted(f'cluster_{layer}')} {{")
        lines.append(f"    label={_quoted(layer)};")
        for node in nodes:
            style = "" if node.enabled else ", style=dashed"
            lines.append(f"    {_quoted(node.key)} [label={_quoted(drawing.label(node))}{style}];")
        lines.append("  }")
    lines += [f"  {_quoted(name)} [shape=ellipse];" for name in dict.fromkeys(up for up, _, _ in drawing.external)]
    lines += [f"  {_quoted(up)} -> {_quoted(down)};" for up, down, _ in drawing.edges]
    lines += [f"  {_quoted(up)} -> {_quoted(down)} [style=dashed];" for up, down, _ in drawing.external]
    return "\n".join([*lines, "}"])


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_json(drawing: Drawing) -> str:
    nodes = [asdict(node) | {"file": shown_path(node.file) if node.file else None} for node in drawing.nodes]
    edges = [{"upstream": up, "downstream": down, "via": via, "external": False} for up, down, via in drawing.edges]
    edges += [{"upstream": up, "downstream": down, "via": via, "external": True} for up, down, via in drawing.external]
    return json.dumps({"contracts": nodes, "edges": edges}, indent=2, ensure_ascii=False)


DRAWINGS: dict[str, Callable[[Drawing], str]] = {"text": text, "mermaid": mermaid, "dot": dot, "json": as_json}
