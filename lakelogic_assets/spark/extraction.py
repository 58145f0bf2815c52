"""`extraction:` — columns that are read out of text or documents, right after the rows are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.extraction import DEFAULT_TEXT_COLUMN, Extraction
from lakelogic_assets.errors import EngineError
from lakelogic_assets.spark.identifiers import column, find_column, find_name
from lakelogic_assets.spark.pdf_text import text_of
from lakelogic_assets.spark.schema import HIDDEN_PREFIX
from lakelogic_assets.spark.scope import Scope

Provider = Callable[[DataFrame, Scope], DataFrame]

FILE_PATH = "file_path"
_TEXT = f"{HIDDEN_PREFIX}text"
_BINARY_FILE = ("path", "modificationTime", "length", "content")
_NO_GROUP = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?=\?(?!<[A-Za-z]|P<))")
"""What looks like the beginning of a group and is none: escapes, classes, groups that catch nothing."""

_providers: dict[str, Provider] = {}


def register_provider(name: str, provider: Provider) -> None:
    """Make `extraction.provider: name` mean a function of your own: rows and the run's scope in, rows out."""
    _providers[name.casefold()] = provider


def extract(frame: DataFrame, scope: Scope) -> DataFrame:
    """The rows with the columns that the contract's provider reads out of them.

    Values come as text; the schema step that follows gives them their declared types.
    """
    said = scope.contract.extraction
    if said is None:
        return frame
    provider = _providers.get(said.provider.casefold())
    if provider is None and said.fallback_provider:
        provider = _providers.get(said.fallback_provider.casefold())
        scope.warn(f"`extraction.provider: {said.provider}` is not known; `{said.fallback_provider}` is used instead.")
    if provider is None:
        raise EngineError(
            f"`extraction.provider: {said.provider}` is not known here ({', '.join(sorted(_providers))} are): "
            "give it a meaning with lakelogic_assets.spark.extraction.register_provider."
        )
    return provider(frame, scope)


def patterns_of(scope: Scope) -> dict[str, str]:
    """Field → pattern: those of `extraction.patterns`, else the first example of each field that is metadata."""
    said = scope.contract.extraction
    if said is not None and said.patterns:
        return dict(said.patterns)
    fields = (said.output_schema if said else ()) or scope.contract.model.fields
    return {
        field.name: field.extraction_examples[0]
        for field in fields
        if field.extraction_examples and field.extraction_task in (None, "metadata")
    }


def _by_regex(frame: DataFrame, scope: Scope) -> DataFrame:
    said = scope.contract.extraction
    named = said.text_column if said else None
    if not named:
        raise EngineError("`extraction.provider: regex` needs `text_column`.")
    found = find_column(frame, named)
    if found is None:
        raise EngineError(f"`extraction.text_column: {named}` is not among the source's columns.")
    return _with_matches(frame, column(found).cast("string"), patterns_of(scope), said)


def _by_pdfplumber(frame: DataFrame, scope: Scope) -> DataFrame:
    """One row a document: its path, and what the patterns find in its text."""
    said = scope.contract.extraction
    path, content = find_column(frame, "path"), find_column(frame, "content")
    if path is None or content is None:
        raise EngineError("`extraction.provider: pdfplumber` reads documents: declare the source with `format: pdf`.")
    # Said outright: asked to guess, Spark looks for pandas in the function's type hints.
    read = F.udf(text_of, "string", useArrow=False)
    with_text = frame.withColumns(
        {_TEXT: read(column(content)), FILE_PATH: F.regexp_replace(column(path), r"^file:(//)?(?=/)", "")}
    )
    rows = _with_matches(with_text, column(_TEXT), patterns_of(scope), said)
    shown = _text_column(scope)
    if shown:
        rows = rows.withColumn(shown, column(_TEXT))
    return rows.drop(_TEXT, *(name for name in _BINARY_FILE if name not in scope.contract.model.by_name))


def _text_column(scope: Scope) -> str | None:
    """The column that shows a document's whole text, which nobody masks: only where the contract asks for it."""
    preprocessing = scope.contract.extraction.preprocessing if scope.contract.extraction else None
    if preprocessing is None:
        return None
    shown = preprocessing.text_output_column
    asked = shown != DEFAULT_TEXT_COLUMN or find_name(tuple(scope.contract.model.by_name), shown)
    return shown if asked else None


def _with_matches(
    frame: DataFrame, text: Column, patterns: Mapping[str, str], said: Extraction | None
) -> DataFrame:  # fmt: skip
    if not patterns:
        raise EngineError("`extraction` has no patterns: write `patterns`, or `extraction_examples` at the fields.")
    found = frame.withColumns({name: first_match(text, pattern) for name, pattern in patterns.items()})
    # The share of fields that were found, for contracts that ask how sure a row is.
    if said is not None and "confidence" in said.model_fields_set and said.confidence.enabled:
        filled = sum((column(name).isNotNull().cast("int") for name in patterns), F.lit(0))
        found = found.withColumn(said.confidence.column, filled / F.lit(float(len(patterns))))
    return found


def first_match(text: Column, pattern: str) -> Column:
    """What the pattern's first group catches, or the whole match where it has none; NULL where nothing matches."""
    matched = F.regexp_extract(text, pattern, 1 if _has_group(pattern) else 0)
    return F.when(matched != "", matched)


def _has_group(pattern: str) -> bool:
    return "(" in _NO_GROUP.sub("", pattern)


register_provider("regex", _by_regex)
register_provider("pdfplumber", _by_pdfplumber)
