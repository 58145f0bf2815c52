"""Contracts and rows that nobody thought of, judged by the engine and by a plain reference.

One example is a contract of many fields with rules of many kinds, over many rows, so that a single Spark run settles
hundreds of cell-and-rule verdicts.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lakelogic_assets import names
from tests.spark.oracle import Rule, judged

if TYPE_CHECKING:
    from tests.spark.conftest import Sandbox

KINDS = ("string", "int", "bigint", "double", "decimal(10,2)", "date", "boolean")
FIELDS, ROWS = 14, 16

TRICKY = st.sampled_from(
    [
        None, "", " ", "0", "-0", "1", " 7 ", "+3", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
        "9223372036854775808", "1.0", "1.005", "-1.995", ".5", "5.", "1e3", "1E-3", "1e400", "NaN", "Infinity", "1d",
        "0x1F", "1,5", "１", "99999999.99", "100000000", "2024-02-29", "2023-02-29", "2024-2-9", "0001-01-01",
        "9999-12-31", "2024", "2024-13-01", "12:30", "true", "TRUE", "False", "y", "no", "t", "maybe", "ok", "OK",
        "café", "naïve", "日本", "🚕", "a b", "it's", 'say "x"', "back\\slash", "null", "NULL", "None", "\t1\n",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    TRICKY,
    st.integers(-(2**66), 2**66).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**9), 10**9, places=3).map(str),
    st.dates(dt.date(1000, 1, 1)).map(str),
    st.text("abcXYZ019 .-_é", max_size=8),
)


def compared(value: Any, low: Any, high: Any) -> bool | None:
    return None if value is None else bool(low <= value <= high)


@st.composite
def rules_for(draw: st.DrawFn, field: str, kind: str) -> list[Rule]:
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["on_null"] = draw(st.sampled_from(["pass", "fail"]))
    if draw(st.integers(0, 4)) == 0:
        options["severity"] = draw(st.sampled_from(["warning", "info"]))
    made = [draw(st.sampled_from(_makers(kind)))(draw, field) for _ in range(draw(st.integers(0, 2)))]
    return [
        Rule(f"{field}_{index}", _with(spec, f"{field}_{index}", options), field, test,
             options.get("severity", "error"), options.get("on_null") == "pass")
        for index, (spec, test) in enumerate(made)
    ]  # fmt: skip


def _with(spec: dict[str, Any], name: str, options: dict[str, Any]) -> dict[str, Any]:
    if "sql" in spec:
        return {"name": name, **spec, **options}
    ((kind, payload),) = spec.items()
    return {kind: {"name": name, **payload, **options}}


def _makers(kind: str) -> list[Any]:
    makers: list[Any] = [_not_null]
    if kind in ("int", "bigint", "double"):
        makers += [_range, _sql_between]
    if kind == "string":
        makers += [_accepted, _pattern, _sql_like, _sql_length]
    if kind == "date":
        makers += [_date_range]
    if kind == "boolean":
        makers += [_sql_true]
    return makers


def _not_null(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:  # noqa: ARG001
    return {"not_null": {"field": field}}, lambda value: value is not None


def _range(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    low = draw(st.integers(-100, 100))
    return {"range": {"field": field, "min": low, "max": low + 50}}, lambda value: compared(value, low, low + 50)


def _sql_between(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    low = draw(st.integers(-5, 5))
    return {"sql": f"{field} >= {low} AND {field} <= 1000"}, lambda value: compared(value, low, 1000)


def _accepted(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    values = draw(st.lists(st.sampled_from(["ok", "a b", "1", "café", "it's"]), min_size=1, unique=True))
    return {"accepted_values": {"field": field, "values": values}}, lambda v: None if v is None else v in values


def _pattern(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    pattern = draw(st.sampled_from(["^[a-z]+$", "[0-9]{2}", "^$", "^.{1,3}$"]))
    plain = pattern.replace("$", r"\n?\Z")  # Java's `$` also matches before a line end
    return {
        "regex_match": {"field": field, "pattern": pattern}
    }, lambda v: None if v is None else bool(re.search(plain, v))


def _sql_like(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    letter = draw(st.sampled_from(["a", "0", "é"]))
    return {"sql": f"{field} LIKE '%{letter}%'"}, lambda v: None if v is None else letter in v


def _sql_length(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    limit = draw(st.integers(0, 4))
    return {"sql": f"LENGTH({field}) > {limit}"}, lambda v: None if v is None else len(v) > limit


def _date_range(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:
    low = draw(st.dates(dt.date(1900, 1, 1), dt.date(2030, 1, 1)))
    spec = {"range": {"field": field, "min": str(low), "max": "9000-01-01"}}
    return spec, lambda value: compared(value, low, dt.date(9000, 1, 1))


def _sql_true(draw: st.DrawFn, field: str) -> tuple[dict[str, Any], Any]:  # noqa: ARG001
    return {"sql": f"NOT {field}"}, lambda value: None if value is None else not value


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, str], list[Rule], list[dict[str, str | None]]]:
    kinds = {f"f{index}": draw(st.sampled_from(KINDS)) for index in range(FIELDS)}
    rules = [rule for field, kind in kinds.items() for rule in draw(rules_for(field, kind))]
    rows = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(kinds, TEXTS)), min_size=ROWS, max_size=ROWS))
    return kinds, rules, rows


def contract_text(kinds: dict[str, str], rules: list[Rule]) -> str:
    fields = [{"name": "row", "type": "int"}, *({"name": name, "type": kind} for name, kind in kinds.items())]
    return yaml.safe_dump({"model": {"fields": fields}, "quality": {"row_rules": [rule.yaml for rule in rules]}})


def reasons(errors: list[str]) -> tuple[set[str], set[str]]:
    mismatched = {error.split(":")[1].split()[0] for error in errors if error.startswith("Type Mismatch")}
    return mismatched, {error.split("Rule failed: ")[1].split()[0] for error in errors if "Rule failed: " in error}


# 8 examples of 14 fields and 16 rows are 1,792 cells, each with a cast and up to two rules. Shrinking would take minutes.
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(case=cases())
def test_the_engine_and_the_reference_agree_on_every_row(
    case: tuple[dict[str, str], list[Rule], list[dict[str, str | None]]], sandbox: Sandbox
) -> None:
    kinds, rules, rows = case
    schema = "row int, " + ", ".join(f"{name} string" for name in kinds)
    data = [(number, *(row[name] for name in kinds)) for number, row in enumerate(rows)]
    outcome = sandbox.validate(contract_text(kinds, rules), data, schema)
    severe = {rule.name for rule in rules if rule.severity == "error"}
    expected = {number: judged(row, kinds, rules) for number, row in enumerate(rows)}
    found = {row["row"]: reasons(row[names.ERRORS_COLUMN]) for row in outcome.bad.collect()}
    for number, (mismatched, failed) in expected.items():
        assert found.get(number, (set(), set())) == (mismatched, failed & severe), (rows[number], kinds)
    good = {row["row"]: row for row in outcome.good.collect()}
    assert set(good) == {n for n, (mismatched, failed) in expected.items() if not mismatched and not failed & severe}
    counts = outcome.report.counts
    assert counts.source == counts.good + counts.quarantined == len(rows)
    for rule in rules:
        wanted = sum(rule.name in failed for _, failed in expected.values())
        assert outcome.report.failed_row_rules.get(rule.name, 0) == (
            wanted if rule.severity == "error" else sum(rule.name in failed for _, failed in expected.values())
        )


def test_decimals_are_rounded_half_up_as_spark_does(sandbox: Sandbox) -> None:
    text = 'model: {fields: [{name: v, type: "decimal(10,2)"}]}\n'
    rows = [("1.005",), ("-1.995",), ("2.344",)]
    good = sandbox.validate(text, rows, "v string").good.collect()
    assert sorted(row["v"] for row in good) == [Decimal("-2.00"), Decimal("1.01"), Decimal("2.34")]
