"""Queries whose casts give NULL for a value they cannot take, as single expressions do.

A query has no row to blame: one bad value would end the run of all the others. Only casts are rewritten, token by
token and in every spelling that Spark has for them; what else raises, such as a division by zero, still does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

_FORGIVING: Final = {
    "cast": "TRY_CAST",
    "to_date": "try_to_date",
    "to_timestamp": "try_to_timestamp",
    "to_number": "try_to_number",
    "element_at": "try_element_at",
}
_TYPES: Final = frozenset("date timestamp tinyint smallint int bigint float double decimal boolean".split())
_CASTING: Final = re.compile(rf"\b(?:{'|'.join((*_FORGIVING, *_TYPES))})\s*\(|::", re.I)
_OPENS: Final = ("(", "[")
_CLOSES: Final = (")", "]")
_KEYWORDS: Final = frozenset(
    "and or not in is when then else case select where on by between like ilike rlike regexp having from distinct as"
    " using values union all except intersect qualify div join with lateral limit any some exists".split()
)


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def forgiving(text: str) -> str:
    """The same query, none of whose casts raises; as it is where it could not be read any more."""
    if not _CASTING.search(text):
        return text
    made = _rewritten(text)
    return made if made == text or _is_sql(made) or not _is_sql(text) else text


def _rewritten(text: str) -> str:
    import sqlglot

    passed = 0
    while True:
        tokens = sqlglot.tokenize(text, read="spark")
        # The tokens of `5L` are those of a cast, too.
        marks = [index for index, token in enumerate(tokens) if text[token.start : token.end + 1] == "::"]
        if passed == len(marks):
            return _edited(text, _of_functions(tokens))
        # From the left: what `a::int` becomes is the value of the second mark in `a::int::string`.
        spelled = _spelled_out(text, tokens, marks[passed])
        passed += spelled == text
        text = spelled


def _is_sql(text: str) -> bool:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse_one(text, read="spark") is not None
    except (SqlglotError, RecursionError):
        return False


def _spelled_out(text: str, tokens: Sequence[Any], mark: int) -> str:
    """`value::type` as a cast that does not raise; as it is where its value cannot be told from what stands before."""
    first, last = _value_before(tokens, mark - 1), _type_after(tokens, mark)
    if first is None or last is None:
        return text
    value = text[tokens[first].start : tokens[mark].start]
    kind = text[tokens[mark].end + 1 : tokens[last].end + 1]
    return f"{text[: tokens[first].start]}TRY_CAST({value.strip()} AS {kind.strip()}){text[tokens[last].end + 1 :]}"


def _value_before(tokens: Sequence[Any], end: int) -> int | None:
    """The first token of the operand that ends there: a name, a literal, a call, brackets, and parts of all these."""
    at = end
    while at >= 0 and tokens[at].text == "]" and not _is_text(tokens[at]):
        opener = _opener(tokens, at)
        if opener is None:
            return None
        at = opener - 1
    if at < 0 or tokens[at].text.lower() == "end":
        return None
    if tokens[at].text == ")" and not _is_text(tokens[at]):
        opener = _opener(tokens, at)
        if opener is None:
            return None
        called = opener > 0 and _is_word(tokens[opener - 1])
        at = opener - 1 if called else opener
        if called and tokens[at].text.lower() in ("over", "filter"):
            return None
    elif not (_is_text(tokens[at]) or _is_word(tokens[at]) or tokens[at].token_type.name == "NUMBER"):
        return None
    if at > 1 and tokens[at - 1].text == ".":
        return _value_before(tokens, at - 2)
    return None if at > 0 and _ends_a_value(tokens[at - 1]) else at


def _is_word(token: Any) -> bool:
    """A name, quoted or not, of a column or a function; no keyword, which parts values."""
    if token.token_type.name == "IDENTIFIER":
        return True
    word = token.text.replace("_", "a")
    return word.isalnum() and not word[:1].isdigit() and not _is_text(token) and token.text.lower() not in _KEYWORDS


def _ends_a_value(token: Any) -> bool:
    """Before a value stands an operator, a comma, a keyword or an opening bracket; else the two belong together."""
    return _is_text(token) or token.text in ")]" or _is_word(token) or token.token_type.name in ("NUMBER", "DOT")


def _opener(tokens: Sequence[Any], closer: int) -> int | None:
    depth = 0
    for index in range(closer, -1, -1):
        if not _is_text(tokens[index]):
            depth += (tokens[index].text in _CLOSES) - (tokens[index].text in _OPENS)
        if depth == 0:
            return index
    return None


def _type_after(tokens: Sequence[Any], mark: int) -> int | None:
    """The last token of the type; None for types that are made of types."""
    at = mark + 1
    if at >= len(tokens):
        return None
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if following == "<":
        return None
    return _closer(tokens, at + 1) if following == "(" else at


def _closer(tokens: Sequence[Any], opener: int) -> int | None:
    depth = 0
    for index in range(opener, len(tokens)):
        if not _is_text(tokens[index]):
            depth += (tokens[index].text in _OPENS) - (tokens[index].text in _CLOSES)
        if depth == 0:
            return index
    return None


def _of_functions(tokens: Sequence[Any]) -> Iterator[_Edit]:
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].text != "(" or _is_text(token) or token.token_type.name == "IDENTIFIER":
            continue
        name = token.text.lower()
        if name in _FORGIVING:
            yield _Edit(token.start, token.end + 1, _FORGIVING[name])
        elif name in _TYPES and _is_called(tokens, index):
            closer = _closer(tokens, index + 1)
            if closer is not None:
                yield _Edit(token.start, token.end + 1, "TRY_CAST")
                yield _Edit(tokens[closer].start, tokens[closer].start, f" AS {name.upper()}")


def _is_called(tokens: Sequence[Any], index: int) -> bool:
    """Whether `DATE(…)` is the function; after AS, `::` and the name of a part such a word is a type."""
    before = tokens[index - 1] if index else None
    if before is None or (before.text.lower() not in ("as", "::", ".", ":", "<", ",") and not _is_word(before)):
        return True
    closer = _closer(tokens, index + 1)
    inside = [token.text for token in tokens[index + 2 : closer]]
    # A comma parts expressions, and also types such as those of `MAP<string, decimal(4, 2)>`.
    return before.text == "," and not all(text.isdigit() or text == "," for text in inside)


def _edited(text: str, edits: Iterator[_Edit]) -> str:
    made, end = [], 0
    for edit in sorted(edits):
        made += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*made, text[end:]])


def _is_text(token: Any) -> bool:
    return bool(token.token_type.name == "STRING")
