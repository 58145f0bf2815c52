"""The answer of a gate that measures one number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """`passed` is None where it cannot be judged; `note` then says why."""

    passed: bool | None
    value: float | None
    bounds: str
    note: str | None = None
