"""Chance that can be asked again: a draw depends on its names and numbers, never on the draws before it."""

from __future__ import annotations

from hashlib import blake2b


class Dice:
    """The draws of one name under one seed."""

    __slots__ = ("_start",)

    def __init__(self, seed: int, *names: str) -> None:
        self._start = blake2b("\x1f".join((str(seed), *names)).encode(), digest_size=8)

    def roll(self, *numbers: int) -> int:
        """Any of 2**64 numbers."""
        state = self._start.copy()
        state.update(repr(numbers).encode())
        return int.from_bytes(state.digest(), "big")

    def below(self, limit: int, *numbers: int) -> int:
        return self.roll(*numbers) % limit

    def share(self, *numbers: int) -> float:
        """From 0 up to, but not including, 1."""
        # The upper 53 bits: more would round up to 1.
        return (self.roll(*numbers) >> 11) * 2.0**-53
