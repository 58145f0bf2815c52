"""The first bytes of a file: what it is packed with, how it is encoded, and its first line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from lakelogic_assets.errors import SourceError

HEAD_SIZE: Final = 65_536
LONGEST_LINE: Final = 16 * 1024 * 1024
PACKED: Final = (".gz", ".bz2", ".zst", ".deflate", ".lz4", ".snappy")
_BOMS: Final = ((codecs.BOM_UTF8, "UTF-8"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))
_ARCHIVES: Final = {b"PK\x03\x04": "a zip archive", b"7z\xbc\xaf": "a 7z archive", b"\xfd7zXZ": "packed with xz"}
_UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowInvalid)


def plain_suffix(path: str) -> str:
    """The suffix that tells the format, below the one that tells the packing."""
    file = Path(path)
    return (file.with_suffix("") if file.suffix in PACKED else file).suffix.lower()


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The file's content, unpacked; an error names the file."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError as error:
        raise SourceError(f"{path} was listed but is gone now.", path) from error
    except PermissionError as error:
        raise SourceError(f"{path} cannot be read: permission denied.", path) from error
    except _UNREADABLE as error:
        raise SourceError(f"{path} is damaged or not packed as its name says: {_short(error)}.", path) from error


def _open(path: str) -> Any:
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix == ".zst":
        return pa.input_stream(path, compression="zstd")
    return Path(path).open("rb")


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]


def head(path: str, size: int = HEAD_SIZE) -> bytes:
    """The first bytes; what is no text at all is refused."""
    with opened(path) as file:
        start = file.read(size)
    for magic, what in _ARCHIVES.items():
        if start.startswith(magic):
            raise SourceError(f"{path} is {what}; unpack it, or pack it with gzip, bzip2 or zstd.", path)
    return start


def encoding_of(path: str, start: bytes, declared: str | None) -> str:
    """The declared encoding, else what a byte order mark says, else UTF-8."""
    marked = next((name for bom, name in _BOMS if start.startswith(bom)), None)
    encoding = declared or marked or "UTF-8"
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise SourceError(f"{encoding!r} is not an encoding: write UTF-8, ISO-8859-1 or windows-1252.") from None
    if encoding.upper() in ("UTF-8", "US-ASCII") and b"\0" in start[: start.find(b"\n") + 1 or 256]:
        raise SourceError(f"{path} is not {encoding} text: its first line holds NUL bytes. Is it UTF-16?", path)
    return encoding


def first_line(path: str, encoding: str, *, comment: str | None = None, quote: str | None = None) -> str | None:
    """The first line that says something, without its end; None in a file without one.

    With `quote`, line ends between quotes belong to the line.
    """
    size = HEAD_SIZE
    while True:
        start = head(path, size)
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).lstrip("\ufeff")
        line = _line(text, comment, quote, whole=len(start) < size)
        if line is not None or len(start) < size:
            return line or None
        if size >= LONGEST_LINE:
            raise SourceError(f"{path} has no line end in its first {LONGEST_LINE:,} bytes.", path)
        size = min(size * 16, LONGEST_LINE)


def _line(text: str, comment: str | None, quote: str | None, *, whole: bool) -> str | None:
    """The first telling line of a text that may be cut off; None when the cut comes before its end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ended = lines if whole else lines[:-1]
    for index, line in enumerate(ended):
        if not line.strip() or (comment and line.startswith(comment)):
            continue
        joined = line
        while quote and joined.count(quote) % 2:
            index += 1
            if index >= len(ended):
                return joined if whole else None
            joined += "\n" + ended[index]
        return joined
    return "" if whole else None
