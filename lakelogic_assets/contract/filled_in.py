"""Which variables of the environment a contract or a registry may hold the value of.

A stranger's contract may name any variable, and what is filled in stands in pages, logs and plans. So a value is filled
in where its name says that it is a place, a stage or a person to ask, or that it was made for contracts, and where it
does not look like a key itself. Everything else stays the reference that it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from lakelogic_assets.contract.roots import OPERATOR_VARIABLES
from lakelogic_assets.names import SECRET_WORDS

_ENGINE: Final = "LAKELOGIC_"
_ENGINE_SECRETS: Final = "LAKELOGIC_PII_"
_FOLDERS_OF_A_SHELL: Final = ("PWD", "OLDPWD")
_SECRET: Final = re.compile(
    r"(?:\A|_)(?:KEYS?|SALT|SAS|PAT|AUTH|JWT|DSN|CONN|CONNECTION|CREDS?|COOKIE|BEARER|PW|PIN|ACCESS(?!_LOGS?(?:_|\Z))"
    r"|(?:DB|PG|MYSQL)?PASS)\d*(?:_|\Z)"
)
_PLAIN: Final = frozenset(
    "catalog account storage container bucket volume root path dir directory folder home lake lakehouse landing data"
    " warehouse schema env environment stage region zone country contact contacts owner team steward email mail domain"
    " system project workspace tenant".split()
)
_CREDENTIAL: Final = re.compile(
    r"://[^/@\s]*:[^/@\s]*@|\bhttps?://[^/@\s]+@|[?&]\w+=[0-9a-f]{32}|\Ajdbc:|-----BEGIN|\beyJ[\w-]{8,}\."
    r"|\bAKIA[0-9A-Z]{16}\b|\b(?:sk-|gh[opsu]_|xox[a-z]-)\w"
    r"|hooks\.slack\.com/|(?:password|pwd|key|secret|token|signature|\bsig)\s*=",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9+_]{24,}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}")
_HEX: Final = re.compile(r"[0-9a-fA-F]{32,}")
_LONGEST_ACCOUNT: Final = 24
"""A storage account of Azure is any small letters and digits up to there."""


def is_engine_secret(name: str) -> bool:
    """A key or a salt of the engine's own, which it reads by itself: no file may ask for it."""
    return name.startswith(_ENGINE_SECRETS)


def is_secret(name: str) -> bool:
    """A variable that is called a secret; filled into a contract, its value would end up in logs, plans and pages."""
    called = any(word in name.lower() for word in SECRET_WORDS) and name not in _FOLDERS_OF_A_SHELL
    return called or is_engine_secret(name) or _SECRET.search(name.upper()) is not None


def is_withheld(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a variable has a value that may be a secret, although its name does not say so."""
    value = environ.get(name)
    if not value or name.startswith(OPERATOR_VARIABLES) or name in _FOLDERS_OF_A_SHELL:
        return False
    is_named = name.startswith(_ENGINE) or not _PLAIN.isdisjoint(name.lower().split("_"))
    return not is_named or looks_secret(value)


def looks_secret(value: str) -> bool:
    """A password in an address, the key of a connection, a token; paths, accounts and names of people do not."""
    words = (word for word in _WORD.findall(value) if any(sign.isupper() for sign in word))
    return (
        _CREDENTIAL.search(value) is not None
        or _is_nothing_but_a_key(value.strip())
        or any(map(_is_random, words))
        or any(map(_is_base64, _BASE64.findall(value)))
    )


def _is_nothing_but_a_key(value: str) -> bool:
    """Folders, buckets and accounts are called by small letters and digits, or by a hash, too; whole values are not."""
    is_word = len(value) > _LONGEST_ACCOUNT and _WORD.fullmatch(value) is not None
    return is_word and (_HEX.fullmatch(value) is not None or _is_random(value))


def _is_base64(run: str) -> bool:
    """A key with the few slashes that chance puts into it; a path has more of them, and names between them."""
    tests = (str.isupper, str.islower, str.isdigit)
    is_mixed = all(any(map(test, run)) for test in tests)
    return is_mixed and run.count("/") * 20 <= len(run) and _is_random(run.replace("/", ""))


def _is_random(word: str) -> bool:
    """Capitals, small letters and digits change places in a key far more often than in what people name."""
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in word]
    changes = sum(left != right for left, right in pairwise(kinds))
    return changes * 3 >= len(word)
