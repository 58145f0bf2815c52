"""`masking:` of a field: personal values are replaced before anything is written.

A key never stands in a plan. It lies in a one-row local relation that every expression reads through the same scalar
subquery, so that neither `explain()`, nor an event log, nor the text of an error can show it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses
from pyspark.sql import types as T  # noqa: N812

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.model import FieldDefinition
from lakelogic_assets.errors import ProjectError
from lakelogic_assets.spark.identifiers import column, find_column
from lakelogic_assets.spark.schema import cast
from lakelogic_assets.spark.session import local_session

SALT_VARIABLE: Final = "LAKELOGIC_PII_SALT"
KEY_VARIABLE: Final = "LAKELOGIC_PII_KEY"
OLDER_KEYS_VARIABLE: Final = "LAKELOGIC_PII_KEYS"

REDACTED: Final = "***REDACTED***"
STARS: Final = "***"
TOKEN_PREFIX: Final = "tok_"  # noqa: S105 - what a token looks like, not a secret
CIPHER_PREFIX: Final = "enc:v1:"

_BLOCK: Final = 64
_KEY_BYTES: Final = 32
_CIPHER: Final = re.compile(r"enc:v1:([0-9a-f]{8}):([A-Za-z0-9+/=]+)\Z")
_HEX_KEY: Final = re.compile(r"[0-9A-Fa-f]{64}\Z")
_FORMAT_TOKEN: Final = re.compile(r"\{(?:(first|last)([1-9])|domain)\}")
_EMAIL: Final = r"^[^@\s]+@[^@\s]+$"
_PHONE: Final = r"^\+?[0-9 ().\-/]{7,}$"


@dataclass(frozen=True)
class Secrets:
    """What the environment holds; never shown, whoever prints it."""

    salt: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    older_keys: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def token_key(self) -> bytes | None:
        """The key of tokens: derived, so that a token says nothing about the hash or the cipher of the same value."""
        known = self.salt or self.key
        return _derived(known, b"tokenize") if known else None

    @property
    def keys_by_id(self) -> dict[str, bytes]:
        known = (*((self.key,) if self.key else ()), *self.older_keys)
        return {key_id(key): key for key in known}


def read_secrets(environ: Mapping[str, str]) -> Secrets:
    """The salt and the keys of the environment; a key that is none is refused without being repeated."""
    older = [value for name, value in environ.items() if name.startswith(f"{KEY_VARIABLE}_") and value]
    older += [value for value in environ.get(OLDER_KEYS_VARIABLE, "").split(",") if value.strip()]
    salt, key = environ.get(SALT_VARIABLE), environ.get(KEY_VARIABLE)
    return Secrets(
        salt=salt.encode() if salt else None,
        key=_decoded_key(key, KEY_VARIABLE) if key else None,
        older_keys=tuple(
            _decoded_key(value, f"An older key in {KEY_VARIABLE}_… or {KEY_VARIABLE}S") for value in older
        ),
    )


def key_id(key: bytes) -> str:
    """What a value says about the key it was encrypted with."""
    return hashlib.sha256(key).hexdigest()[:8]


def mask(
    frame: DataFrame, contract: Contract, spark: SparkSession, environ: Mapping[str, str] | None = None
) -> DataFrame:
    """Every field with `masking` masked; NULL stays NULL and what was no text becomes one.

    Good and quarantined rows take the same way through here. `encrypt` gives a row of a contract with a key the same
    text in every run (its nonce is derived from column, value and key of the row), so that a merge sees no change
    where there is none; equal values of different rows still differ. Without a key the nonce is random.
    """
    fields = {found: each for each in masked_fields(contract) if (found := find_column(frame, each.name))}
    if not fields:
        return frame
    context = _row_key(frame, contract)
    masker = _Masker.of(contract, spark, environ)
    types = {each.name: each.dataType for each in frame.schema.fields}
    changed = {
        name: masker.masked(cast(column(name), types[name], T.StringType()), each, context)
        for name, each in fields.items()
    }
    return frame.select(*(changed[name].alias(name) if name in changed else column(name) for name in frame.columns))


def mask_map(
    values: Column, contract: Contract, spark: SparkSession | None = None, environ: Mapping[str, str] | None = None
) -> Column:
    """A map of column name → raw text with the values of masked fields masked by the same policy.

    A name that differs from its field only in case is left out rather than shown.
    """
    fields = masked_fields(contract)
    if not fields:
        return values
    masker = _Masker.of(contract, spark or SparkSession.active(), environ)
    shown = F.map_filter(values, lambda name, _: ~F.lower(name).isin([each.name.lower() for each in fields]))
    # A key is read through a subquery, which Spark allows in no function that takes a lambda.
    nothing = F.create_map().cast("map<string,string>")
    masked = []
    for each in fields:
        entry = F.create_map(F.lit(each.name), masker.masked(values[each.name], each, None))
        masked.append(F.when(F.map_contains_key(values, each.name), entry).otherwise(nothing))
    return F.map_concat(shown, *masked)


def masked_fields(contract: Contract) -> tuple[FieldDefinition, ...]:
    """The fields that are never written as they came, whether or not they are called personal."""
    return tuple(each for each in contract.model.fields if each.masking)


def decrypted(text: Column, name: str, spark: SparkSession, environ: Mapping[str, str] | None = None) -> Column:
    """The clear text of a column that was masked with `encrypt`; NULL where no key of the environment opens it."""
    keys = read_secrets(os.environ if environ is None else environ).keys_by_id
    vault = _Vault(spark, {f"key_{number}": key for number, key in enumerate(keys.values())})
    sealed = F.unbase64(F.substring_index(text, ":", -1))
    opened = F.lit(None).cast("string")
    for number, known in enumerate(keys):
        clear = F.try_aes_decrypt(sealed, vault.value(f"key_{number}"), F.lit("GCM"), F.lit("DEFAULT"), F.lit(name))
        opened = F.when(text.startswith(f"{CIPHER_PREFIX}{known}:"), clear.cast("string")).otherwise(opened)
    return opened


def decrypt_value(text: str, environ: Mapping[str, str], column_name: str, spark: SparkSession | None = None) -> str:
    """One value that `masking: encrypt` wrote into the column, in clear; ProjectError says why where it cannot be."""
    sealed = _CIPHER.match(text.strip())
    if not sealed:
        raise ProjectError(
            f"That is not a value of `masking: encrypt`: it does not look like {CIPHER_PREFIX}<key id>:…"
        )
    wanted = sealed[1]
    if wanted not in read_secrets(environ).keys_by_id:
        raise ProjectError(
            f"The value was encrypted with the key {wanted}, which is not here: set {KEY_VARIABLE}, "
            f"{KEY_VARIABLE}_{wanted.upper()} or add it to {OLDER_KEYS_VARIABLE}."
        )
    spark = spark or local_session()
    frame = spark.createDataFrame(pa.table({"sealed": [sealed[0]]}))
    clear = frame.select(decrypted(column("sealed"), column_name, spark, environ)).collect()[0][0]
    if clear is None:
        reason = f"it was changed, or stood in another column than `{column_name}`"
        raise ProjectError(f"The key {wanted} does not open the value: {reason}.")
    return str(clear)


def _row_key(frame: DataFrame, contract: Contract) -> Column | None:
    """The clear key of a row as bytes; None where rows have none."""
    named = contract.business_key if contract.scd2 else contract.merge_key
    found = [name for each in named if (name := find_column(frame, each))]
    if not found or len(found) < len(named):
        return None
    types = {each.name: each.dataType for each in frame.schema.fields}
    texts = [cast(column(name), types[name], T.StringType()) for name in found]
    # Each part says how long it is, so that no two keys read the same.
    parts = [F.coalesce(F.concat(F.char_length(text).cast("string"), F.lit(":"), text), F.lit("-")) for text in texts]
    return F.concat(*parts).cast("binary")


def _decoded_key(text: str, source: str) -> bytes:
    """32 bytes from base64, from 64 hexadecimal digits or from 32 plain characters."""
    text = text.strip()
    if _HEX_KEY.match(text):
        return bytes.fromhex(text)
    try:
        decoded = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    for candidate in (decoded, text.encode()):
        if len(candidate) == _KEY_BYTES:
            return candidate
    forms = "base64 of 32 bytes, 64 hexadecimal digits or 32 characters"
    raise ProjectError(f"{source} is not a 256-bit key: give {forms}.")


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"lakelogic/" + purpose, "sha256")


def _pads(key: bytes) -> tuple[bytes, bytes]:
    """The inner and the outer block of HMAC-SHA256."""
    block = (key if len(key) <= _BLOCK else hashlib.sha256(key).digest()).ljust(_BLOCK, b"\0")
    return bytes(byte ^ 0x36 for byte in block), bytes(byte ^ 0x5C for byte in block)


@dataclass(frozen=True)
class _Vault:
    """Bytes that expressions may use and nobody sees."""

    spark: SparkSession
    values: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def _frame(self) -> DataFrame:
        return self.spark.createDataFrame(pa.table({name: [value] for name, value in self.values.items()}))

    def value(self, name: str) -> Column:
        return self._frame.select(column(name)).scalar()


@dataclass(frozen=True)
class _Masker:
    """Text → masked text for the ways of masking that one contract uses."""

    vault: _Vault
    is_salted: bool
    key_id: str | None

    @classmethod
    def of(cls, contract: Contract, spark: SparkSession, environ: Mapping[str, str] | None) -> _Masker:
        secrets = read_secrets(os.environ if environ is None else environ)
        sealed = [each.name for each in masked_fields(contract) if each.masking == "encrypt"]
        if sealed and secrets.key is None:
            raise ProjectError(f"The field `{sealed[0]}` is masked with `encrypt`, which needs {KEY_VARIABLE}.")
        values: dict[str, bytes] = {}
        if secrets.salt:
            values["hash_inner"], values["hash_outer"] = _pads(secrets.salt)
        if secrets.key:
            values["key"] = secrets.key
            values["nonce_inner"], values["nonce_outer"] = _pads(_derived(secrets.key, b"nonce"))
        values["token_inner"], values["token_outer"] = _pads(secrets.token_key or b"lakelogic/public")
        return cls(_Vault(spark, values), secrets.salt is not None, key_id(secrets.key) if secrets.key else None)

    def masked(self, text: Column, definition: FieldDefinition, context: Column | None) -> Column:
        """The masked text; `context` is the key of the row as bytes, where it has one."""
        match definition.masking:
            case "hash":
                return self._keyed_hash("hash", text.cast("binary")) if self.is_salted else F.sha2(text, 256)
            case "redact":
                return F.when(text.isNotNull(), F.lit(REDACTED))
            case "partial":
                return _formatted(text, definition.masking_format) if definition.masking_format else _partial(text)
            case "tokenize":
                return F.concat(F.lit(TOKEN_PREFIX), F.substring(self._keyed_hash("token", text.cast("binary")), 1, 32))
            case "encrypt":
                return self._encrypted(text, definition.name, context)
            case "null" | "nullify":
                return F.lit(None).cast("string")
            case None:
                return text
            case _:
                assert_never(definition.masking)

    def _encrypted(self, text: Column, name: str, context: Column | None) -> Column:
        clear = text.cast("binary")
        # An empty nonce makes Spark draw one.
        nonce = F.lit("").cast("binary")
        if context is not None:
            said = F.concat(F.lit(f"{name}\0").cast("binary"), context, F.lit("\0").cast("binary"), clear)
            nonce = F.unhex(F.substring(self._keyed_hash("nonce", said), 1, 24))
        key, aad = self.vault.value("key"), F.lit(name)
        sealed = F.base64(F.aes_encrypt(clear, key, F.lit("GCM"), F.lit("DEFAULT"), nonce, aad))
        return F.concat(F.lit(f"{CIPHER_PREFIX}{self.key_id}:"), F.translate(sealed, "\r\n", ""))

    def _keyed_hash(self, purpose: str, message: Column) -> Column:
        """HMAC-SHA256 in hexadecimal digits, which Spark has no function for."""
        inner = F.sha2(F.concat(self.vault.value(f"{purpose}_inner"), message), 256)
        return F.sha2(F.concat(self.vault.value(f"{purpose}_outer"), F.unhex(inner)), 256)


def _partial(text: Column) -> Column:
    """E-mail addresses keep a letter and the domain, phone numbers four digits, the rest its first and last letter."""
    digits = F.regexp_replace(text, "[^0-9]", "")
    email = F.concat(F.substring(text, 1, 1), F.lit(f"{STARS}@"), F.substring_index(text, "@", -1))
    phone = F.concat(F.lit(f"{STARS}-{STARS}-"), F.right(digits, F.lit(4)))
    ends = F.concat(F.substring(text, 1, 1), F.lit(STARS), F.right(text, F.lit(1)))
    return (
        F.when(text.isNull(), F.lit(None).cast("string"))
        .when(text.rlike(_EMAIL), email)
        .when(text.rlike(_PHONE) & F.char_length(digits).between(7, 15), phone)
        # Two letters would be all there is.
        .when(F.char_length(text) <= 2, F.lit(STARS))
        .otherwise(ends)
    )


def _formatted(text: Column, pattern: str) -> Column:
    """The pattern with its tokens filled in; a value that they would show whole fills none of them."""
    tokens = list(_FORMAT_TOKEN.finditer(pattern))
    long_enough = F.char_length(text) > sum(int(token[2] or 0) for token in tokens)
    parts: list[Column] = []
    end = 0
    for token in tokens:
        parts += [F.lit(pattern[end : token.start()]), F.when(long_enough, _token(text, token)).otherwise(F.lit(""))]
        end = token.end()
    return F.when(text.isNotNull(), F.concat(*parts, F.lit(pattern[end:])))


def _token(text: Column, token: re.Match[str]) -> Column:
    if token[1] is None:
        return F.when(text.contains("@"), F.substring_index(text, "@", -1)).otherwise(F.lit(""))
    count = int(token[2])
    return F.substring(text, 1, count) if token[1] == "first" else F.right(text, F.lit(count))
