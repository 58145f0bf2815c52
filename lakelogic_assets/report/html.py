"""The parts that every page is made of: one frame, one kind of table, and one way to write what others wrote."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from lakelogic_assets.report.dashboard_text import NOTHING, state_word


def page(title: str, body: str, styles: Sequence[str], scripts: Sequence[str]) -> str:
    """A whole page. Its script is allowed by its hash, so that no other script runs whatever a name contains."""
    script = "".join(map(asset, scripts))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{''.join(map(asset, styles))}</style></head>\n<body>"
        f"{body}<script>{script}</script></body></html>\n"
    )


def asset(name: str) -> str:
    return files("lakelogic_assets.report").joinpath(name).read_text(encoding="utf-8")


def text(value: str | None) -> str:
    """What somebody else wrote, as text and nothing but text."""
    return escape(value) if value else NOTHING


def section(name: str, title: str, note: str, body: str) -> str:
    """A titled part of a page; the texts are ours."""
    told = f'<p class="note">{note}</p>' if note else ""
    return f'<section id="{name}"><h2 id="{name}-h">{title}</h2>{told}{body}</section>'


def tiles(shown: Iterable[tuple[str, str, str, str]]) -> str:
    """Large figures: value, what it counts, a note, and a mark of alarm."""
    items = (
        f'<li class="{css}"><strong>{value}</strong><span>{label}</span><small>{note}</small></li>'
        for value, label, note, css in shown
    )
    return f'<ul class="tiles">{"".join(items)}</ul>'


def mark(state: str) -> str:
    """A state as a sign and a word, so that colour is never alone."""
    return f'<span class="mark {escape(state)}">{escape(state_word(state))}</span>'


def table(section: str, columns: Sequence[str], rows: Iterable[str], *, last: str = "", top: str = "") -> str:
    """A table that is sorted by a click; a column that ends in # holds numbers, one that ends in - is not sorted."""
    heads = "".join(_head(column) for column in columns) + last
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{section}-h">'
        f'<table aria-labelledby="{section}-h"><thead><tr>{heads}</tr>{top}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(column: str) -> str:
    name = column.rstrip("#-")
    if column.endswith("-"):
        return f'<th scope="col">{name}</th>'
    return f'<th scope="col" class="n" data-s="n">{name}</th>' if column.endswith("#") else _sorted_by_text(name)


def _sorted_by_text(name: str) -> str:
    return f'<th scope="col" data-s="t">{name}</th>'


def cell(html: str, css: str = "", value: float | None = None, bar: float | None = None) -> str:
    sort = f' data-v="{value:.6g}"' if value is not None else ""
    width = f' style="--v:{bar:.0%}"' if bar is not None else ""
    name = f' class="{css.strip()}"' if css.strip() else ""
    return f"<td{name}{sort}{width}>{html}</td>"
