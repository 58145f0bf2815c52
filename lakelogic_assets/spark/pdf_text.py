"""The text of a PDF: by a library where one is installed, else by a reader that is enough for simple ones.

Runs in Spark's Python workers, so it imports nothing of the engine.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final

MANY_BYTES: Final = 64 * 1024 * 1024
_OBJECT: Final = re.compile(rb"\bobj\b(.{0,4096}?)\bstream\r?\n(.*?)\r?\n?endstream", re.S)
_FILTER: Final = re.compile(rb"/(FlateDecode|Fl|ASCII85Decode|A85|ASCIIHexDecode|AHx)\b")
_NO_CONTENT: Final = re.compile(rb"/Subtype\s*/Image|/Type\s*/(XRef|ObjStm|Metadata)|/FontFile|/Length1\b|/CIDInit")
_TOKEN: Final = re.compile(rb"[-+]?\d*\.?\d+|/[^\s/<>\[\]()]*|[A-Za-z'\"*]+|[\[\]]")
_ESCAPES: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_WIDE_GAP: Final = -200.0
"""In thousandths of the font's size: a gap that stands for a blank."""


def text_of(content: bytes | bytearray | None) -> str | None:
    """All text of a document, line by line; None where it holds none or cannot be read."""
    if not content:
        return None
    for read in (_by_pdfplumber, _by_pypdf, _by_hand):
        text = _attempt(read, bytes(content))
        if text and text.strip():
            return text
    return None


def _attempt(read: Callable[[bytes], str], content: bytes) -> str | None:
    try:
        return read(content)
    except Exception:  # a broken document is a row without values, never the end of a run
        return None


def _by_pdfplumber(content: bytes) -> str:
    import pdfplumber  # type: ignore[import-not-found, unused-ignore]

    with pdfplumber.open(io.BytesIO(content)) as document:
        return "\n".join(page.extract_text() or "" for page in document.pages)


def _by_pypdf(content: bytes) -> str:
    import pypdf  # type: ignore[import-not-found, unused-ignore]

    return "\n".join(page.extract_text() or "" for page in pypdf.PdfReader(io.BytesIO(content)).pages)


def _by_hand(content: bytes) -> str:
    """The strings that the content streams show, in the order of the file."""
    if content.lstrip()[:5] != b"%PDF-":
        return ""
    shown = [_shown(stream) for stream in _content_streams(content)]
    return "\n".join(text for text in shown if text)


def _content_streams(content: bytes) -> Iterator[bytes]:
    for found in _OBJECT.finditer(content):
        header, data = found.groups()
        if _NO_CONTENT.search(header):
            continue
        decoded = _decoded(header, data)
        if decoded is not None and b"BT" in decoded:
            yield decoded


def _decoded(header: bytes, data: bytes) -> bytes | None:
    """A stream after its filters; None when one of them fails."""
    try:
        for name in _FILTER.findall(header):
            if name in (b"FlateDecode", b"Fl"):
                # Bounded: a few bytes can unpack to gigabytes.
                data = zlib.decompressobj().decompress(data, MANY_BYTES)
            elif name in (b"ASCII85Decode", b"A85"):
                data = base64.a85decode(data.strip().removeprefix(b"<~").removesuffix(b"~>"))
            else:
                data = binascii.unhexlify(_even(re.sub(rb"[\s>]", b"", data)))
    except (zlib.error, ValueError):
        return None
    return data


def _even(digits: bytes) -> bytes:
    return digits + b"0" * (len(digits) % 2)


class _Page:
    """The lines that operators of a content stream write."""

    def __init__(self) -> None:
        self.text = ""
        self.height: float | None = None

    def operate(self, operator: bytes, strings: list[str], numbers: list[float]) -> None:
        if operator in (b"Tj", b"TJ"):
            self.text += "".join(strings)
        elif operator in (b"'", b'"'):
            self.text += "\n" + "".join(strings)
        elif operator in (b"T*", b"BT"):
            self.text += "\n"
        elif operator in (b"Td", b"TD"):
            self.text += " " if numbers[-1:] == [0.0] else "\n"
        elif operator == b"Tm" and numbers:
            self.text += " " if numbers[-1] == self.height else "\n"
            self.height = numbers[-1]


def _shown(stream: bytes) -> str:
    page, position, in_array = _Page(), 0, False
    strings: list[str] = []
    numbers: list[float] = []
    while position < len(stream):
        letter = stream[position : position + 1]
        if letter == b"(":
            raw, position = _literal(stream, position + 1)
            strings.append(_text(raw))
        elif letter == b"<" and stream[position + 1 : position + 2] != b"<":
            end = stream.find(b">", position)
            end = len(stream) if end < 0 else end
            strings.append(_text(_hex(stream[position + 1 : end])))
            position = end + 1
        elif letter == b"%":
            end = stream.find(b"\n", position)
            position = len(stream) if end < 0 else end
        elif token := _TOKEN.match(stream, position):
            position, word = token.end(), token[0]
            if word in (b"[", b"]"):
                in_array = word == b"["
            elif re.fullmatch(rb"[-+]?\d*\.?\d+", word):
                numbers.append(float(word))
                strings += [" "] if in_array and numbers[-1] < _WIDE_GAP else []
            elif not word.startswith(b"/"):
                page.operate(word, strings, numbers)
                strings, numbers = [], []
        else:
            position += 1
    lines = (" ".join(line.split()) for line in page.text.split("\n"))
    return "\n".join(line for line in lines if line)


def _literal(stream: bytes, position: int) -> tuple[bytes, int]:
    """The string that begins at the position, and where it ends; parentheses in it may nest."""
    found, depth = bytearray(), 1
    while position < len(stream):
        letter = stream[position : position + 1]
        position += 1
        if letter == b"\\":
            if octal := re.compile(rb"[0-7]{1,3}").match(stream, position):
                found.append(int(octal[0], 8) & 0xFF)
                position = octal.end()
                continue
            escaped = stream[position : position + 1]
            position += 1
            found += b"" if escaped in (b"\n", b"\r") else _ESCAPES.get(escaped, escaped)
            continue
        depth += (letter == b"(") - (letter == b")")
        if not depth:
            break
        found += letter
    return bytes(found), position


def _hex(digits: bytes) -> bytes:
    try:
        return binascii.unhexlify(_even(re.sub(rb"\s", b"", digits)))
    except ValueError:
        return b""


def _text(raw: bytes) -> str:
    if raw.startswith(b"\xfe\xff"):
        return raw[2:].decode("utf-16-be", errors="replace")
    return raw.decode("cp1252", errors="replace")
