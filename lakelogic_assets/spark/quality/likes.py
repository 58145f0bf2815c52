"""`LIKE '%@%.%'` without a regular expression: Spark knows shortcuts for one word in a pattern, not for several."""

from __future__ import annotations

import re

from lakelogic_assets.spark.identifiers import text_literal

_LIKE = re.compile(r"\blike\b", re.I)
_SEVERAL_WORDS = re.compile(r"%[^%_\\']+(?:%[^%_\\']+){1,3}%\Z")


def without_slow_likes(text: str, texts: frozenset[str]) -> str:
    """The same expression with `column LIKE '%a%b%'` spelled as a search for `a` and, behind it, for `b`.

    Only columns of text are looked at, and only what stands there token by token: the rest of the text is not touched.
    """
    if not _LIKE.search(text):
        return text
    import sqlglot

    tokens = sqlglot.tokenize(text, read="spark")
    made, end = [], 0
    for index in range(len(tokens) - 2):
        name, like, pattern = tokens[index : index + 3]
        if like.token_type.name != "LIKE" or pattern.token_type.name != "STRING" or name.text.casefold() not in texts:
            continue
        if name.token_type.name not in ("VAR", "IDENTIFIER") or (index and tokens[index - 1].text == "."):
            continue
        if index + 3 < len(tokens) and tokens[index + 3].text.casefold() == "escape":
            continue
        if _SEVERAL_WORDS.match(pattern.text):
            made += [text[end : name.start], _in_order(text[name.start : name.end + 1], pattern.text[1:-1].split("%"))]
            end = pattern.end + 1
    return "".join([*made, text[end:]])


def _in_order(column: str, words: list[str]) -> str:
    """Each word found behind the one before it; taking the first place of every word misses nothing.

    NULL is asked for by itself: `locate` takes a start that is NULL for a word that is not there.
    """
    places: list[str] = []
    for number, word in enumerate(words):
        start = f", {places[-1]} + {len(words[number - 1])}" if places else ""
        places.append(f"locate({text_literal(word)}, {column}{start})")
    return f"(CASE WHEN {column} IS NOT NULL THEN {' AND '.join(f'{place} > 0' for place in reversed(places))} END)"
