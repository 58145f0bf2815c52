"""Texts of all kinds, as SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic_assets.plan.synthetic import Pool, Serial
from lakelogic_assets.spark.identifiers import text_literal
from lakelogic_assets.spark.synthetic import pools
from lakelogic_assets.spark.synthetic.draws import Dice, stock
from lakelogic_assets.spark.synthetic.forms import UNITS, Made
from lakelogic_assets.spark.synthetic.records import Record

Words = Callable[[Pool], Sequence[str]]
_PEOPLE = ("person", "first_name", "last_name", "email")
_MOST_DIGITS = 18


def pooled(pool: Pool, person: Dice, dice: Dice, record: Record, numbers: Sequence[str], words: Words) -> str:
    """A text of a pool; the names and the address of one row are those of one person."""
    if pool in _PEOPLE:
        return _of_person(pool, person, record, words)
    match pool:
        case "uuid":
            return _uuid(dice, numbers)
        case "ip":
            return f"concat('192.0.2.', {dice.below(254, *numbers)} + 1)"
        case "url":
            domain = _one_of(pools.MAIL_DOMAINS, dice, numbers)
            return f"concat('https://', {domain}, '/', {_one_of(words('word'), dice, (*numbers, '1'))})"
        case _:
            return _one_of(words(pool), dice, numbers)


def _one_of(texts: Sequence[str], dice: Dice, numbers: Sequence[str]) -> str:
    return f"{stock(texts)}[cast({dice.below(len(texts), *numbers)} as int)]"


def _of_person(pool: Pool, person: Dice, record: Record, words: Words) -> str:
    firsts, lasts = words("first_name"), words("last_name")
    given, family = (record.number, "1"), (record.number, "2")
    if pool == "first_name":
        return _one_of(firsts, person, given)
    if pool == "last_name":
        return _one_of(lasts, person, family)
    if pool == "person":
        return f"concat({_one_of(firsts, person, given)}, ' ', {_one_of(lasts, person, family)})"
    first = _one_of([pools.plain(each) for each in firsts], person, given)
    last = _one_of([pools.plain(each) for each in lasts], person, family)
    domain = f"{stock(pools.MAIL_DOMAINS)}[cast(pmod({record.number}, {len(pools.MAIL_DOMAINS)}L) as int)]"
    return f"concat({first}, '.', {last}, {record.number}, '@', {domain})"


def _uuid(dice: Dice, numbers: Sequence[str]) -> str:
    high, low = (f"lpad(lower(hex({dice.roll(*numbers, salt)})), 16, '0')" for salt in ("1", "2"))
    parts = (
        f"left({high}, 8)", f"substring({high}, 9, 4)", f"concat('4', right({high}, 3))",
        f"concat('8', left({low}, 3))", f"right({low}, 12)",
    )  # fmt: skip
    return f"concat_ws('-', {', '.join(parts)})"


def digits(pattern: str, roll: str) -> str:
    """A pattern with digits that a draw decides."""
    width = min(pattern.count("#"), _MOST_DIGITS)
    if not width:
        return text_literal(pattern)
    # A first digit of 0 would be lost wherever the text is taken for a number.
    lowest = 10 ** (width - 1)
    return _filled(pattern, f"cast({lowest}L + pmod({roll}, {9 * lowest}L) as string)", width)


def numbered(serial: Serial, count: str) -> Made:
    """The value of a column that counts."""
    if serial.letters:
        return Made(_lettered(serial.letters, count), "STRING")
    if serial.pattern is None:
        return Made(count, UNITS)
    width = serial.pattern.count("#")
    # Cheaper than padding: a digit too many, cut off again.
    text = (
        f"substring(cast({count} + {10**width}L as string), 2)"
        if width <= _MOST_DIGITS
        else f"lpad({count}, {width}, '0')"
    )
    return Made(_filled(serial.pattern, text, width), "STRING")


def _filled(pattern: str, figures: str, width: int) -> str:
    """A pattern with the digits of a text of that width."""
    parts: list[str] = []
    place = 1
    rest = pattern
    while "#" in rest:
        before, _, rest = rest.partition("#")
        run = 1 + len(rest) - len(rest.lstrip("#"))
        rest = rest.lstrip("#")
        run_of = f"substring({figures}, {place}, {run})" if run < width else figures
        parts += [text_literal(before)] * bool(before) + [run_of]
        place += run
    parts += [text_literal(rest)] * bool(rest)
    return f"concat({', '.join(parts)})"


def _lettered(places: Sequence[str], count: str) -> str:
    """The count in a system of numbers whose digits are the letters of each place, the last one turning fastest."""
    parts: list[str] = []
    divisor = 1
    for letters in reversed(places):
        if len(letters) == 1:
            parts.append(text_literal(letters))
            continue
        parts.append(f"substring({text_literal(letters)}, cast({count} div {divisor}L % {len(letters)} as int) + 1, 1)")
        divisor *= len(letters)
    return f"concat({', '.join(reversed(parts))})"
