"""Chance that can be asked again, as SQL: a draw depends on its names and numbers, never on the draws before it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from lakelogic_assets.spark.identifiers import text_literal

_SEPARATOR = "\x1f"


class Dice:
    """The draws of one name under one seed."""

    __slots__ = ("_start",)

    def __init__(self, seed: int, *names: str) -> None:
        digest = blake2b(_SEPARATOR.join((str(seed), *names)).encode(), digest_size=8).digest()
        # One bit less: the lowest number of 64 bits cannot be written as a literal.
        self._start = int.from_bytes(digest, "big") >> 1

    def roll(self, *numbers: str) -> str:
        """Any number of 64 bits."""
        return f"xxhash64({', '.join((f'{self._start}L', *numbers))})"

    def below(self, limit: int | str, *numbers: str) -> str:
        """From 0 up to, but not including, the limit."""
        return f"pmod({self.roll(*numbers)}, {limit}{'L' if isinstance(limit, int) else ''})"

    def share(self, *numbers: str) -> str:
        """From 0 up to, but not including, 1."""
        # The upper 53 bits: more would round up to 1.
        return f"(shiftrightunsigned({self.roll(*numbers)}, 11) * {2.0**-53!r}D)"


def stock(words: Sequence[str]) -> str:
    """An array of texts that is one literal once Spark has folded it, however many there are."""
    return f"split({text_literal(_SEPARATOR.join(words))}, '{_SEPARATOR}', -1)"


def table(numbers: Sequence[int]) -> str:
    """An array of whole numbers, likewise."""
    return f"cast(split('{','.join(map(str, numbers))}', ',') as array<bigint>)"
