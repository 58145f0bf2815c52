"""What an operator asked for, as it may be kept: in a log, in a table, on a page, and never with a secret."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from lakelogic_assets.names import SECRET_WORDS

HIDDEN = "***"
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SECRET_OF_TEXT = re.compile(rf"((?:{'|'.join(SECRET_WORDS)})\w*\s*[=:]\s*)[^&;\s]+", re.IGNORECASE)
_HOW = ("resume", "resumes", "tasks")
"""Words that say how the work is taken up, not which work it is."""


def plain_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request in values that JSON has; what a name, a URL or a text gives away as secret is hidden."""
    return {str(key): _plain(str(key), value) for key, value in request.items()}


def work_of(request: Mapping[str, Any], environment: str | None) -> str:
    """The same for two requests that ask for the same work, whether or not one goes on with what another began.

    What is empty or false is as if it were not said. Secrets do not count:
    who resumes with a new password means the same work.
    """
    said = {key: value for key, value in plain_request(request).items() if key not in _HOW and value}
    text = json.dumps([environment, said], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def same_work(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two requests of one environment mean the same work, however patiently it is done."""
    first, second = ({key: value for key, value in each.items() if key != "policy"} for each in (one, other))
    return work_of(first, None) == work_of(second, None)


def _plain(name: str, value: Any) -> Any:
    """`name` is the way to the value, so that what stands below a secret name is hidden too."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(str(_plain(name, each)) for each in value)
    if any(word in name.lower() for word in SECRET_WORDS):
        return HIDDEN
    if isinstance(value, int | float):
        return value
    text = value.isoformat() if isinstance(value, date) else str(value)
    return _SECRET_OF_TEXT.sub(rf"\1{HIDDEN}", _USER_OF_URL.sub(HIDDEN, text))
