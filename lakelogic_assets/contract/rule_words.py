"""What a rule tests, in the words of people."""

from __future__ import annotations

from typing import Any

from lakelogic_assets.contract import quality as forms
from lakelogic_assets.contract.problems import shown
from lakelogic_assets.contract.rules import AcceptedLength, DatasetRule, Hint, RowRule


def rule_in_words(rule: RowRule | DatasetRule) -> str:
    """The whole test: of which column, what, and within which bounds."""
    about = (
        f"{rule.columns[0]} " if isinstance(rule, RowRule) and rule.columns and not isinstance(rule.test, str) else ""
    )
    return about + described(rule.test) + _bounds(rule.bounds)


def described(test: Any) -> str:
    """What a rule tests, in a few words; SQL is given as it is."""
    match test:
        case str():
            return test
        case Hint() | AcceptedLength():
            return f"is null or {_of_hint(test)}"
        case forms.NotNull():
            return "is not null"
        case forms.AcceptedValues(values=values):
            return f"is one of {_words(values)}"
        case forms.RegexMatch(pattern=pattern):
            return f"matches {pattern}"
        case forms.Range(min=low, max=high, inclusive=inclusive):
            return f"is {_between(low, high, inclusive=inclusive)}"
        case forms.ReferentialIntegrity():
            return f"exists in {test.reference or test.contract}.{test.key_column}"
        case forms.LifecycleWindow():
            return _of_lifecycle(test)
        case _:
            return _of_dataset(test)


def _of_hint(test: Hint | AcceptedLength) -> str:
    if isinstance(test, AcceptedLength):
        return f"at most {test.max_length} characters"
    return f"one of {_words(test.values)}" if test.values else _between(test.min, test.max)


def _of_lifecycle(test: forms.LifecycleWindow) -> str:
    if test.window:
        return f"is not older than {test.window}"
    return f"falls within {test.start_field} and {test.end_field} of {test.reference}"


def _of_dataset(test: Any) -> str:
    match test:
        case forms.Unique(fields=fields):
            return f"{', '.join(fields)} is unique"
        case forms.NullRatio():
            return f"at most {test.fraction:.4g} of {test.field} is null"
        case forms.RowCountBetween(min=low, max=high):
            return f"the number of rows is {_between(low, high)}"
        case _:
            raise TypeError(f"no words for {type(test).__name__}")


def _words(values: Any) -> str:
    return ", ".join(shown(value, 30) for value in values)


def _between(low: Any, high: Any, *, inclusive: bool = True) -> str:
    if low is not None and high is not None and inclusive:
        return f"between {_number(low)} and {_number(high)}"
    least, most = ("at least", "at most") if inclusive else ("above", "below")
    parts = [
        f"{least} {_number(low)}" if low is not None else "",
        f"{most} {_number(high)}" if high is not None else "",
    ]
    return " and ".join(part for part in parts if part)


def _number(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _bounds(bounds: forms.Bounds | None) -> str:
    if bounds is None:
        return ""
    said = []
    if bounds.must_be_between is not None:
        said.append(f"between {_number(bounds.must_be_between[0])} and {_number(bounds.must_be_between[1])}")
    if bounds.must_be_less_than is not None:
        said.append(f"less than {_number(bounds.must_be_less_than)}")
    if bounds.must_be_greater_than is not None:
        said.append(f"greater than {_number(bounds.must_be_greater_than)}")
    return f" must be {' and '.join(said)}"
