"""Texts that a regular expression matches, and what stands at each of their places."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from importlib import import_module
from random import Random
from typing import Any, Final

_PARSER: Any = import_module("re._parser")
_LETTERS: Final = string.ascii_letters + string.digits
_PRINTED: Final = _LETTERS + "-_. "
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": string.digits, "CATEGORY_WORD": _LETTERS + "_", "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_DIGIT": string.ascii_letters, "CATEGORY_NOT_WORD": "-", "CATEGORY_NOT_SPACE": _LETTERS,
}  # fmt: skip
_USUAL_REPEAT: Final = 8
_SAMPLES: Final = 300


class _NotUnderstoodError(Exception):
    """Part of an expression says something that cannot be made up."""


def samples(patterns: Sequence[str], max_length: int | None = None, seed: int = 0) -> tuple[str, ...]:
    """Different texts that all patterns find a match in; none where the first is not understood or others forbid it."""
    try:
        tree = _PARSER.parse(patterns[0])
        compiled = [re.compile(pattern) for pattern in patterns]
    except (re.error, RecursionError):
        return ()
    chance = Random(seed)  # noqa: S311 - made-up data
    found: dict[str, None] = {}
    for _ in range(4 * _SAMPLES):
        try:
            text = "".join(chance.choice(letters) for letters in _places(tree, chance))
        except _NotUnderstoodError:
            return ()
        if all(each.search(text) for each in compiled) and (max_length is None or len(text) <= max_length):
            found[text] = None
        if len(found) == _SAMPLES:
            break
    return tuple(found)


def places(patterns: Sequence[str]) -> tuple[str, ...]:
    """The letters that may stand at each place of texts of one length; nothing where a text made so may not match."""
    try:
        found = tuple(_places(_PARSER.parse(patterns[0]), None))
        compiled = [re.compile(pattern) for pattern in patterns]
    except (re.error, RecursionError, _NotUnderstoodError):
        return ()
    chance = Random(0)  # noqa: S311 - made-up data
    tried = ("".join(chance.choice(letters) for letters in found) for _ in range(100))
    return found if all(each.search(text) for text in tried for each in compiled) else ()


def plainest(pattern: str) -> str | None:
    """The shortest text of an expression, with a blank where there may be one; None where it is not understood."""
    try:
        return _plain(_PARSER.parse(pattern))
    except (re.error, RecursionError, _NotUnderstoodError):
        return None


def _plain(tree: Any) -> str:
    text = ""
    for operator, argument in tree:
        match str(operator):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = argument
                once = _plain(inner)
                text += once * max(least, 1 if once.isspace() and most else 0)
            case "SUBPATTERN":
                text += _plain(argument[-1])
            case "BRANCH":
                text += _plain(argument[1][0])
            case name:
                text += "".join(letters[0] for letters in _part(name, argument, None))
    return text


def _places(tree: Any, chance: Random | None) -> Iterator[str]:
    for operator, argument in tree:
        yield from _part(str(operator), argument, chance)


def _part(operator: str, argument: Any, chance: Random | None) -> Iterator[str]:
    match operator:
        case "LITERAL":
            yield chr(argument)
        case "NOT_LITERAL":
            yield _without(_PRINTED, {chr(argument)})
        case "ANY":
            yield string.ascii_lowercase
        case "IN":
            yield _class(argument)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return
        case "SUBPATTERN":
            yield from _places(argument[-1], chance)
        case "BRANCH":
            branches = argument[1]
            yield from _places(chance.choice(branches) if chance else branches[0], chance)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            yield from _repeated(argument, chance)
        case _:
            raise _NotUnderstoodError


def _repeated(argument: tuple[int, Any, Any], chance: Random | None) -> Iterator[str]:
    least, most, tree = argument
    usual = max(least, min(int(most), _USUAL_REPEAT))
    for _ in range(chance.randint(least, usual) if chance else usual):
        yield from _places(tree, chance)


def _class(items: Sequence[tuple[Any, Any]]) -> str:
    letters: list[str] = []
    negated = False
    for operator, argument in items:
        match str(operator):
            case "NEGATE":
                negated = True
            case "LITERAL":
                letters.append(chr(argument))
            case "RANGE":
                letters += map(chr, range(argument[0], min(argument[1], argument[0] + 255) + 1))
            case "CATEGORY":
                letters += _CATEGORIES.get(str(argument), "")
            case _:
                raise _NotUnderstoodError
    found = _without(_LETTERS, set(letters)) if negated else "".join(dict.fromkeys(letters))
    if not found:
        raise _NotUnderstoodError
    return found


def _without(letters: str, forbidden: set[str]) -> str:
    return "".join(letter for letter in letters if letter not in forbidden)
