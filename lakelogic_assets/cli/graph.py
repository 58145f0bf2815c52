"""`lakelogic graph`: which contract waits for which."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lakelogic_assets.cli.drawings import DRAWINGS, Drawing, Node, print_tree
from lakelogic_assets.cli.printing import counted, is_terminal, say
from lakelogic_assets.cli.settings import settings_of
from lakelogic_assets.errors import NotFoundError

if TYPE_CHECKING:
    from lakelogic_assets.contract.graph import Key
    from lakelogic_assets.contract.registry import Registry


def graph(
    ctx: typer.Context,
    select: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SELECT",
            help="Names, globs, layer:gold, domain:retail, system:crm; +NAME: and all before it, NAME+: and all after.",
        ),
    ] = None,
    layer: Annotated[
        list[str] | None, typer.Option("--layer", help="Only this layer; may be given several times.")
    ] = None,
    output: Annotated[Literal["text", "mermaid", "dot", "json"], typer.Option("--format")] = "text",
) -> None:
    """Draw which contract waits for which."""
    from lakelogic_assets.contract.loading import load_project

    settings = settings_of(ctx)
    registry = load_project(settings.project)
    drawing = _drawing(registry, _chosen(registry, select or [], layer or []))
    style = "json" if settings.as_json else output
    if style == "text" and is_terminal():
        print_tree(drawing)
    else:
        say(DRAWINGS[style](drawing))
    if registry.errors:
        sys.stderr.write(f"{counted(len(registry.errors), 'error')}; see `lakelogic validate`.\n")
        raise typer.Exit(1)


def _chosen(registry: Registry, select: list[str], layers: list[str]) -> frozenset[Key]:
    chosen = registry.select(select) if select else frozenset(registry.contracts)
    if not layers:
        return chosen
    kept = frozenset(key for key in chosen if registry.contracts[key].layer in layers)
    if not kept:
        raise NotFoundError(f"No contract is in layer {' or '.join(layers)}.")
    return kept


def _drawing(registry: Registry, chosen: frozenset[Key]) -> Drawing:
    graph = registry.graph
    levels = {key: number for number, keys in enumerate(graph.levels) for key in keys}
    nodes = []
    for key in sorted(chosen, key=lambda each: (levels.get(each, len(levels)), each)):
        contract = registry.contracts[key]
        file = str(contract.place.path) if contract.place.path else None
        nodes.append(
            Node(
                "/".join(key),
                contract.table,
                contract.domain,
                contract.layer,
                contract.place.enabled,
                levels.get(key),
                file,
            )
        )
    edges = sorted(
        ("/".join(edge.upstream), "/".join(edge.downstream), edge.via)
        for edge in graph.edges
        if {edge.upstream, edge.downstream} <= chosen
    )
    external = sorted(
        ("/".join(edge.upstream), "/".join(edge.downstream), edge.via)
        for edge in graph.external
        if edge.downstream in chosen
    )
    return Drawing(tuple(nodes), tuple(edges), tuple(external))
