"""What Spark says when a file cannot be read, as one line that names the file and shows nobody's values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError

_FILE = re.compile(r"\[FAILED_READ_FILE(?:\.(\w+))?\] Encountered error while reading file (\S.*?)\.(?:\s|$)")
_KINDS: Final = {
    "FILE_NOT_EXIST": "it was listed but is gone now",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH": "a column is stored in another type than its footer says",
    "CANNOT_READ_FILE_FOOTER": "its footer is damaged",
}
_CAUSES: Final = {
    "EOFException": "it is cut off",
    "FileNotFoundException": "it was listed but is gone now",
    "AccessControlException": "permission denied",
    "ZipException": "it is not packed as its name says, or damaged",
    "ParquetDecodingException": "a page of it is damaged",
    "TProtocolException": "a page of it is damaged",
    "ParquetCryptoRuntimeException": "it is encrypted",
    "MalformedInputException": "its bytes are not of its encoding",
    "CharConversionException": "its bytes are not of its encoding",
    "TextParsingException": "a line of it cannot be read as CSV; is a quote missing?",
    "ChecksumException": "its bytes differ from its checksum",
    "URISyntaxException": "its name holds a colon, which Hadoop takes for an address",
}
_MESSAGES: Final = (
    ("not a gzip file", "it is not packed as its name says"),
    ("Stream is not in the BZip2 format", "it is not packed as its name says"),
    ("Relative path in absolute URI", "its name holds a colon, which Hadoop takes for an address"),
    ("crc check failed", "a page of it is damaged"),
    ("corrupted", "it is damaged"),
)


def explain_failure(error: BaseException) -> str | None:
    """The file and the cause of a failed read; None when the failure is about something else."""
    chain = list(_chain(error))
    for _, message in chain:
        if found := _FILE.search(message):
            kind, address = found.groups()
            path = unquote(re.sub(r"\Afile:/+", "/", address))
            return f"{path} cannot be read: {_KINDS.get(kind or '') or _cause(chain)}."
    return None


def _cause(chain: list[tuple[str, str]]) -> str:
    for name, message in reversed(chain):
        told = next((meaning for text, meaning in _MESSAGES if text in message), None) or _CAUSES.get(name)
        if told:
            return told
    # A message may carry what stands in a row; the name of a class never does.
    return f"Spark's reader stopped with {chain[-1][0]}"


def _chain(error: BaseException) -> Iterator[tuple[str, str]]:
    """Class name and message of an error and of everything that caused it, in Python and in the JVM."""
    thrown: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if isinstance(thrown, Py4JJavaError):
        thrown = thrown.java_exception
    yield type(error).__name__, str(error).split("\n\tat ", 1)[0]
    while thrown is not None:
        yield thrown.getClass().getSimpleName(), str(thrown.getMessage() or "")
        thrown = thrown.getCause()
