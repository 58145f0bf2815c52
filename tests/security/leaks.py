"""Looks for marks in everything that lies in some folders, in whatever form they were written down."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet


def forms(mark: str | bytes) -> tuple[bytes, ...]:
    """A mark as it may stand in a file: plain, in UTF-16, in hexadecimal digits, in base64 at any offset."""
    plain = mark.encode() if isinstance(mark, str) else mark
    wide = [plain.decode().encode(name) for name in ("utf-16-le", "utf-16-be")] if isinstance(mark, str) else []
    return (plain, *wide, plain.hex().encode(), plain.hex().upper().encode(), *_in_base64(plain))


def _in_base64(plain: bytes) -> Iterator[bytes]:
    """The letters that are the same whatever stands before and behind: six bits each, all of them the mark's."""
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + plain + bytes(3))
        first, after = -(-8 * offset // 6), 8 * (offset + len(plain)) // 6
        yield whole[first:after]


def found(marks: Iterable[str | bytes], contents: Mapping[str, bytes]) -> list[str]:
    """`mark in place` for every mark that stands somewhere."""
    wanted = {mark: forms(mark) for mark in marks}
    return sorted(
        f"{mark!r} in {place}"
        for place, content in contents.items()
        for mark, written in wanted.items()
        if any(form in content for form in written)
    )


def contents_of(*folders: Path, besides: Iterable[Path] = ()) -> dict[str, bytes]:
    """Every file below the folders as bytes; packed ones, and pages of databases, also as what they hold."""
    left_out = tuple(besides)
    contents: dict[str, bytes] = {}
    for folder in folders:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            if any(each in (path, *path.parents) for each in left_out):
                continue
            contents[str(path)] = raw = path.read_bytes()
            if raw[:4] == b"PAR1":
                contents[f"{path} (rows)"] = _rows(path)
            elif raw.startswith(b"SQLite format 3"):
                contents[f"{path} (rows)"] = _dump(path)
    return contents


def _rows(path: Path) -> bytes:
    with parquet.ParquetFile(path) as file:
        table = file.read()
        return f"{table.to_pylist()} {file.schema_arrow} {file.metadata.metadata}".encode() + _buffers(table)


def _buffers(table: pa.Table) -> bytes:
    chunks = (chunk for column in table.columns for chunk in column.chunks)
    return b"".join(bytes(buffer) for chunk in chunks for buffer in chunk.buffers() if buffer is not None)


def _dump(path: Path) -> bytes:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return "\n".join(database.iterdump()).encode()
