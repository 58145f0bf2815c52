"""What masked values look like, what stays comparable, and that no key is ever shown."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark import masking

KEY = "0123456789abcdefghijklmnopqrstuv"
OLD_KEY = base64.b64encode(bytes(range(32))).decode()


def contract(key: list[str] | None = None, **ways: str | tuple[str, str]) -> Contract:
    """A contract whose fields are masked as named; a pair is a way and its format."""
    fields: list[dict[str, Any]] = [{"name": "id", "type": "int"}]
    for name, way in ways.items():
        kind, pattern = way if isinstance(way, tuple) else (way, None)
        fields.append({"name": name, "type": "string", "masking": kind, "masking_format": pattern})
    return Contract.model_validate({"model": {"fields": fields}, "primary_key": key or []})


def masked(
    spark: SparkSession, way: str | tuple[str, str], values: list[Any], environ: Mapping[str, str] | None = None
) -> list[Any]:
    frame = spark.createDataFrame([(number, value) for number, value in enumerate(values)], "id int, v string")
    rows = masking.mask(frame, contract(v=way), spark, environ or {}).orderBy("id").collect()
    return [row.v for row in rows]


def test_a_hash_is_plain_sha256_without_a_salt_and_a_keyed_one_with_it(spark: SparkSession) -> None:
    assert masked(spark, "hash", ["añb", None]) == [hashlib.sha256("añb".encode()).hexdigest(), None]
    salted = masked(spark, "hash", ["añb", "", None], {"LAKELOGIC_PII_SALT": "s" * 100})
    assert salted == [hmac.new(b"s" * 100, text.encode(), "sha256").hexdigest() for text in ("añb", "")] + [None]


def test_redacted_and_nullified_values_say_nothing(spark: SparkSession) -> None:
    assert masked(spark, "redact", ["a", "", None]) == ["***REDACTED***", "***REDACTED***", None]
    assert masked(spark, "nullify", ["a", None]) == [None, None]
    assert masked(spark, "null", ["a", None]) == [None, None]


def test_a_partial_mask_depends_on_what_the_value_looks_like(spark: SparkSession) -> None:
    shown = masked(spark, "partial", ["jane@x.org", "+44 (0)20 7946-0958", "Smith", "Al", "", None, "é🙂ß"])
    assert shown == ["j***@x.org", "***-***-0958", "S***h", "***", "***", None, "é***ß"]


@pytest.mark.parametrize(
    ("pattern", "value", "shown"),
    [
        ("{first2}***{last3}", "4111111111111111", "41***111"),
        ("{first1}…@{domain}", "jane@x.org", "j…@x.org"),
        ("{domain}", "no address", ""),
        ("***-{last4}", "1234", "***-"),
        ("{first0}{other}", "abc", "{first0}{other}"),
        ("{last9}", None, None),
    ],
)
def test_a_format_shows_what_it_names_and_never_the_whole_value(
    spark: SparkSession, pattern: str, value: str | None, shown: str | None
) -> None:
    assert masked(spark, ("partial", pattern), [value]) == [shown]


def test_tokens_are_joinable_and_change_with_the_key(spark: SparkSession) -> None:
    environments: list[dict[str, str]] = [
        {},
        {"LAKELOGIC_PII_SALT": "a"},
        {"LAKELOGIC_PII_SALT": "b"},
        {"LAKELOGIC_PII_KEY": KEY},
    ]
    tokens = [masked(spark, "tokenize", ["x", "x", "y", None], environ) for environ in environments]
    for first, again, other, missing in tokens:
        assert first == again != other
        assert first.startswith("tok_")
        assert missing is None
    assert len({each[0] for each in tokens}) == len(environments)
    assert tokens[1][0][4:] not in masked(spark, "hash", ["x"], environments[1])[0]


def test_what_was_no_text_becomes_text(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, date(2020, 2, 3), [1, 2], 4.5)], "id int, d date, a array<int>, n double")
    out = masking.mask(frame, contract(d="hash", a="redact", n="partial"), spark, {})
    assert dict(out.dtypes) == {"id": "int", "d": "string", "a": "string", "n": "string"}
    assert out.collect()[0][1:] == (hashlib.sha256(b"2020-02-03").hexdigest(), "***REDACTED***", "4***5")


def test_a_frame_without_masked_columns_is_left_alone(spark: SparkSession) -> None:
    frame = spark.range(1)
    assert masking.mask(frame, contract(v="hash"), spark, {}) is frame


def test_columns_are_found_whatever_their_case_and_letters(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "b")], "`E.Mail` string, `x``y` string")
    wanted = contract(**{"e.mail": "redact", "x`y": "redact"})
    assert masking.mask(frame, wanted, spark, {}).collect() == [("***REDACTED***",) * 2]


@pytest.mark.parametrize(
    "key",
    [KEY, KEY.encode().hex(), *(way(KEY.encode()).decode() for way in (base64.b64encode, base64.urlsafe_b64encode))],
)
def test_a_key_may_be_written_in_three_ways(spark: SparkSession, key: str) -> None:
    sealed = masked(spark, "encrypt", ["jané " * 40], {"LAKELOGIC_PII_KEY": key})[0]
    assert sealed.startswith(f"enc:v1:{hashlib.sha256(KEY.encode()).hexdigest()[:8]}:")
    assert sealed == "".join(sealed.split())
    assert masking.decrypt_value(sealed, {"LAKELOGIC_PII_KEY": KEY}, "v", spark) == "jané " * 40


def test_equal_values_are_encrypted_differently(spark: SparkSession) -> None:
    sealed = masked(spark, "encrypt", ["x", "x", None], {"LAKELOGIC_PII_KEY": KEY})
    assert sealed[0] != sealed[1]
    assert sealed[2] is None


def test_a_row_with_a_key_is_encrypted_alike_in_every_run(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "x", "x"), (2, "x", "y"), (None, "x", None)], "id int, v string, w string")
    wanted = contract(["id"], v="encrypt", w="encrypt")
    runs = [masking.mask(frame, wanted, spark, {"LAKELOGIC_PII_KEY": KEY}).collect() for _ in range(2)]
    assert runs[0] == runs[1]
    cells = [cell for row in runs[0] for cell in row[1:] if cell]
    assert len(set(cells)) == len(cells) == 5


def test_keys_rotate_by_their_id(spark: SparkSession) -> None:
    sealed = masked(spark, "encrypt", ["old"], {"LAKELOGIC_PII_KEY": OLD_KEY})[0]
    old_id = masking.key_id(bytes(range(32)))
    named = {f"LAKELOGIC_PII_KEY_{old_id.upper()}": OLD_KEY}
    listed = {"LAKELOGIC_PII_KEYS": f"{KEY.encode().hex()}, {OLD_KEY}"}
    for older in (named, listed):
        assert masking.decrypt_value(sealed, {"LAKELOGIC_PII_KEY": KEY, **older}, "v", spark) == "old"
    with pytest.raises(ProjectError, match=f"key {old_id}, which is not here"):
        masking.decrypt_value(sealed, {"LAKELOGIC_PII_KEY": KEY}, "v", spark)


def test_a_value_opens_only_in_its_own_column_and_unchanged(spark: SparkSession) -> None:
    environ = {"LAKELOGIC_PII_KEY": KEY}
    sealed = masked(spark, "encrypt", ["secret"], environ)[0]
    broken = sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:]
    for text, name in ((sealed, "w"), (broken, "v")):
        with pytest.raises(ProjectError, match="does not open"):
            masking.decrypt_value(text, environ, name, spark)
    with pytest.raises(ProjectError, match="not a value of"):
        masking.decrypt_value("jane@x.org", environ, "v", spark)


@pytest.mark.parametrize("key", ["", "short", KEY + "x", "é" * 32])
def test_a_key_that_is_none_is_refused_without_being_repeated(spark: SparkSession, key: str) -> None:
    with pytest.raises(ProjectError, match="LAKELOGIC_PII_KEY") as refused:
        masked(spark, "encrypt", ["x"], {"LAKELOGIC_PII_KEY": key})
    assert not key or key not in str(refused.value)
    assert "\n" not in str(refused.value)


def spellings(secret: bytes) -> list[str]:
    """How a plan, a log or a message could show some bytes."""
    hexed = secret.hex()
    signed = [str(byte - 256 if byte > 127 else byte) for byte in secret]
    return [
        *(secret.decode("latin-1"), hexed, hexed.upper(), secret.hex(" "), secret.hex(" ").upper()),
        base64.b64encode(secret).decode()[:40],
        ",".join(signed)[:60],
        ", ".join(signed)[:60],
    ]


def test_no_key_is_in_a_plan_or_an_error(spark: SparkSession) -> None:
    environ = {"LAKELOGIC_PII_KEY": KEY, "LAKELOGIC_PII_SALT": "pepper-and-salt"}
    wanted = contract(a="hash", b="tokenize", c="encrypt")
    frame = spark.createDataFrame([(1, "x", "y", "z")], "id int, a string, b string, c string")
    out = masking.mask(frame, wanted, spark, environ)
    failing = out.select(F.raise_error(F.concat("a", "b", "c")))
    with pytest.raises(PySparkException) as raised:
        failing.collect()
    out.collect()
    shown = [out._jdf.queryExecution().toString(), failing._jdf.queryExecution().toString(), str(raised.value)]
    shown += [repr(masking.read_secrets(environ)), str(raised.value.__cause__)]
    for secret in (KEY.encode(), b"pepper-and-salt", *masking._pads(b"pepper-and-salt"), *masking._pads(KEY.encode())):
        for spelling in spellings(secret):
            assert not any(spelling in text for text in shown)


def test_raw_values_of_quarantined_rows_are_masked_by_the_same_policy(spark: SparkSession) -> None:
    wanted = contract(email="hash", phone="redact", card="encrypt", nickname="nullify")
    raw = {"email": "a@b.c", "phone": None, "card": "4111", "Nickname": "joe", "city": "Rome"}
    frame = spark.createDataFrame([(raw,), (None,), ({},)], "m map<string,string>")
    environ = {"LAKELOGIC_PII_KEY": KEY}
    shown = [row.m for row in frame.select(masking.mask_map(F.col("m"), wanted, spark, environ).alias("m")).collect()]
    card = shown[0].pop("card")
    assert masking.decrypt_value(card, environ, "card", spark) == "4111"
    assert shown == [{"email": hashlib.sha256(b"a@b.c").hexdigest(), "phone": None, "city": "Rome"}, None, {}]


def partial_oracle(text: str) -> str:
    digits = "".join(letter for letter in text if letter in "0123456789")
    looks_like_phone = len(text.removeprefix("+")) >= 7 and set(text.removeprefix("+")) <= set("0123456789 ().-/")
    local, at, domain = text.rpartition("@")
    if at and local and domain and text.count("@") == 1 and not any(letter.isspace() for letter in text):
        return f"{text[0]}***@{domain}"
    if looks_like_phone and 7 <= len(digits) <= 15:
        return f"***-***-{digits[-4:]}"
    return "***" if len(text) <= 2 else f"{text[0]}***{text[-1]}"


VALUES = st.one_of(
    st.text(alphabet="ab@. é🙂", max_size=8),
    st.from_regex(r"\+?[0-9 ().\-/]{5,18}", fullmatch=True),
    st.emails(),
)


@settings(max_examples=5, deadline=None)
@given(st.lists(VALUES, min_size=20, max_size=60))
def test_partial_masks_agree_with_plain_python(spark: SparkSession, values: list[str]) -> None:
    assert masked(spark, "partial", values) == [partial_oracle(value) for value in values]
