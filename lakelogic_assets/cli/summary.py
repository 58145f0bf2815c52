"""Tables of runs: where every row went, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic_assets.cli.printing import console, is_terminal, say

COLUMNS = ("asset", "rows in", "good", "quarantined", "dropped", "checks", "seconds", "status")
_TEXTS = ("asset", "status", "run", "started (UTC)", "by", "asked", "window")
_FINE = ("success", "no_new_data", "unchanged", "skipped", "running")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; at a terminal, what did not end well is red."""
    if is_terminal():
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="bold")
        for name in columns:
            table.add_column(name, justify="left" if name in _TEXTS else "right")
        for row in rows:
            table.add_row(*map(Text, row), style=None if row[-1] in _FINE else "red")
        console().print(table)
        return
    widths = [max(len(row[index]) for row in [columns, *rows]) for index in range(len(columns))]
    for row in [columns, *rows]:
        padded = zip(columns, row, widths, strict=True)
        cells = [cell.ljust(width) if name in _TEXTS else cell.rjust(width) for name, cell, width in padded]
        say("  ".join(cells).rstrip())
