"""What an entry of the battery is, and the small project that every one of them attacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

CONTRACT = "contracts/shop/silver_orders.yaml"
LANDED = "in/orders.csv"
SECTIONS = {
    "version": "1.0.0",
    "info": "{title: Orders, table_name: silver_orders, target_layer: silver}",
    "source": "{type: landing, path: in, format: csv}",
    "model": "{fields: [{name: order_id, type: string}, {name: amount, type: double}, {name: note, type: string}]}",
    "materialization": "{strategy: append}",
}


def contract(**sections: str | None) -> str:
    """The plain contract with some of its sections said otherwise, or left out."""
    said = {**SECTIONS, **sections}
    return "".join(f"{key}: {value}\n" for key, value in said.items() if value is not None)


@dataclass(frozen=True)
class Entry:
    """Something hostile, the door it comes to, and what is said to it.

    In files, words and variables `OUTSIDE` stands for a folder that nobody may touch and `CANARY` for a file that must
    never come to be.
    """

    name: str
    door: str
    says: str
    """A regular expression for what is printed: the code of a problem, or a part of the sentence."""
    words: tuple[str, ...] = ("validate",)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links of the project, and where they lead."""
    environ: Mapping[str, str] = field(default_factory=dict)
    code: int = 1
    """How the command ends; 0 where the hostile thing is only text, and is treated as text."""
    is_bomb: bool = False
    """Meant to fill the memory: runs in a process of its own that has little."""

    def asked(self, *words: str, **environ: str) -> Entry:
        """The same entry, with other words and with variables that are set."""
        return replace(self, words=words, environ=environ)


def in_contract(name: str, says: str, code: int = 1, door: str = "contract", **sections: str | None) -> Entry:
    """An entry whose hostile part is a section of a contract."""
    return Entry(name, door, says, files={CONTRACT: contract(**sections)}, code=code)


def as_contract(name: str, says: str, text: str | bytes, *, code: int = 1, is_bomb: bool = False) -> Entry:
    """An entry that is a whole file."""
    return Entry(name, "contract", says, files={CONTRACT: text}, code=code, is_bomb=is_bomb)


def with_rule(name: str, says: str, sql: str) -> Entry:
    """An entry whose hostile part is the SQL of a row rule."""
    return in_contract(name, says, door="SQL of a rule", quality=f"{{row_rules: [{{name: r, sql: {quoted(sql)}}}]}}")


def with_step(name: str, says: str, sql: str) -> Entry:
    """An entry whose hostile part is the SQL of a step."""
    return in_contract(name, says, door="SQL of a step", transformations=f"[{{sql: {quoted(sql)}}}]")


def quoted(text: str) -> str:
    """A text as YAML in double quotes, which keeps its line ends."""
    return json.dumps(text)
