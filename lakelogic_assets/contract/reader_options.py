"""`source.options` — which options of Spark's readers a contract may use, in a file as in `--set`.

They say how text becomes values. Spark would take more: addresses of schemas, settings of Hadoop, classes to load. What
is not listed here never reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakelogic_assets.contract.problems import YamlPath, nearest
from lakelogic_assets.contract.source import Source

FILE_TYPES: Final = frozenset("landing file files local parquet csv json s3 gcs adls azure abfss delta table".split())
"""The types of sources that are read here; the options of any other are for whoever lands it."""

_FILES: Final = "recursiveFileLookup modifiedBefore modifiedAfter ignoreCorruptFiles ignoreMissingFiles maxColumns"
_TEXT: Final = "encoding charset lineSep"
_VALUES: Final = (
    "dateFormat timestampFormat timestampNTZFormat timeFormat enableDateTimeParsingFallback timeZone locale mode"
    " columnNameOfCorruptRecord inferSchema samplingRatio"
)
_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(f"{_FILES} {options}".split())
    for name, options in {
        "csv": f"{_TEXT} {_VALUES} header sep delimiter quote escape comment multiLine nullValue emptyValue nanValue"
        " positiveInf negativeInf ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace maxCharsPerColumn preferDate"
        " unescapedQuoteHandling charToEscapeQuoteEscaping enforceSchema columnPruning",
        "json": f"{_TEXT} {_VALUES} multiLine primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames"
        " allowSingleQuotes allowNumericLeadingZeros allowNonNumericNumbers allowBackslashEscapingAnyCharacter"
        " allowUnquotedControlChars dropFieldIfAllNull inferTimestamp",
        "xml": f"{_TEXT} {_VALUES} rowTag excludeAttribute attributePrefix valueTag ignoreSurroundingSpaces"
        " ignoreNamespace wildcardColName arrayElementName nullValue preferDate prefersDecimal validateName multiLine",
        "parquet": "mergeSchema datetimeRebaseMode int96RebaseMode",
        "orc": "mergeSchema",
        "avro": "mode avroSchema datetimeRebaseMode positionalFieldMatching ignoreExtension recursiveFieldMaxDepth"
        " enableStableIdentifiersForUnionType stableIdentifierPrefixForUnionType",
        "text": f"{_TEXT} wholetext",
        "binaryFile": "",
    }.items()
}
_FOLDED: Final = {name: frozenset(each.casefold() for each in options) for name, options in _ALLOWED.items()}
_EVERY: Final = frozenset().union(*_ALLOWED.values())
READER_OPTIONS: Final = frozenset().union(*_FOLDED.values())
"""All of them, in small letters."""
LOSING: Final = {
    "ignorecorruptfiles": "rows of damaged files would be lost",
    "ignoremissingfiles": "rows of vanished files would be lost",
    "samplingratio": "columns of rows outside of the sample would be lost",
}
"""May only say that they do not: `ignoreCorruptFiles: false`."""
SETTABLE: Final = READER_OPTIONS - LOSING.keys()
_LEAD_AWAY: Final = frozenset(("avroschemaurl", "rowvalidationxsdpath"))
_MACHINERY: Final = ("fs.", "spark.", "hadoop.", "parquet.crypto")


def is_passed(name: str, file_format: str) -> bool:
    """Whether a reader of Spark may see an option."""
    return name.casefold() in _FOLDED.get(file_format, ())


def leads_away(name: str) -> bool:
    """An option that names an address or another file, or sets the machinery below the reader: `fs.s3a.endpoint`."""
    return name.casefold() in _LEAD_AWAY or name.casefold().startswith(_MACHINERY)


def lint_reader_options(source: Source | None) -> Iterator[tuple[str, str, YamlPath, str | None]]:
    """Findings: code, message, place and what may be meant."""
    if source is None or not (source.type is None or source.type in FILE_TYPES):
        return
    for name in source.options or {}:
        at: YamlPath = ("source", "options", name)
        if leads_away(name):
            yield "LL435", f"The reader option `{name}` leads to something else than the source's own files.", at, None
        elif name.casefold() == "pathglobfilter":
            yield "LL432", f"The reader option `{name}` is not passed on; write `source.pattern`.", at, None
        elif name.casefold() not in READER_OPTIONS and name != "cdc_provider":
            yield "LL432", f"The reader option `{name}` is not passed on; nothing here reads it.", at, _meant(name)


def _meant(name: str) -> str | None:
    return nearest(name, sorted(_EVERY))
