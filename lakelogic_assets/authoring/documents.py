"""Documents whose text holds a row: what stands in them, and the smallest PDF that shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakelogic_assets.authoring.synthetic.regexes import plainest
from lakelogic_assets.contract.document import Contract

_GROUP_BEGIN = re.compile(r"\((?!\?(?!P<|<[A-Za-z]))")
_SKIPPED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "(": "\\(", ")": "\\)"})


@dataclass(frozen=True, slots=True)
class Line:
    """How a document names a value: the text before it, what it must look like, and the text behind it."""

    field: str
    before: str
    inside: str
    after: str

    def text(self, value: str) -> str:
        return f"{self.before}{value}{self.after}"


def is_document(contract: Contract) -> bool:
    """Whether the contract's rows are read out of documents."""
    return contract.source is not None and contract.source.format == "pdf"


def document_lines(contract: Contract) -> tuple[Line, ...]:
    """The lines that the contract's patterns find values in, the first pattern of every field."""
    lines = (_line(field, pattern) for field, pattern in _patterns(contract).items())
    return tuple(line for line in lines if line is not None)


def _patterns(contract: Contract) -> dict[str, str]:
    said = contract.extraction
    if said is not None and said.patterns:
        return {name: str(pattern) for name, pattern in said.patterns.items()}
    fields = (said.output_schema if said else ()) or contract.model.fields
    return {
        field.name: field.extraction_examples[0]
        for field in fields
        if field.extraction_examples and field.extraction_task in (None, "metadata")
    }


def _line(field: str, pattern: str) -> Line | None:
    before, inside, after = _split(pattern)
    texts = [plainest(part) for part in (before, after)]
    if texts[0] is None or texts[1] is None:
        return None
    line = Line(field, texts[0], inside, texts[1])
    return line if line.before else Line(field, f"{field.replace('_', ' ').capitalize()}: ", inside, line.after)


def _split(pattern: str) -> tuple[str, str, str]:
    """An expression before, inside and behind its first group; without a group all of it is inside."""
    masked = _SKIPPED.sub(lambda found: "_" * len(found[0]), pattern)
    begin = _GROUP_BEGIN.search(masked)
    if begin is None:
        return "", pattern, ""
    depth, end = 0, len(masked)
    for place in range(begin.start(), len(masked)):
        depth += (masked[place] == "(") - (masked[place] == ")")
        if not depth:
            end = place
            break
    inside = re.sub(r"\A\?P?<\w+>", "", pattern[begin.start() + 1 : end])
    return pattern[: begin.start()], inside, pattern[end + 1 :]


def document(title: str, lines: Sequence[Line], row: Mapping[str, str | None]) -> bytes:
    """A page with a title and a line for every value; what is missing has no line."""
    return pdf([title, *(line.text(value) for line in lines if (value := row.get(line.field)) is not None)])


def pdf(lines: Sequence[str]) -> bytes:
    """One page of text, the same bytes for the same lines."""
    shown = "\n".join(f"({line.translate(_ESCAPED)}) Tj T*" for line in lines)
    stream = f"BT /F1 11 Tf 16 TL 56 780 Td\n{shown}\nET".encode("cp1252", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R"
        b" /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    return content + head + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(content))
