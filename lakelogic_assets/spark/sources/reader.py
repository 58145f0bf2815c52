"""A Spark reader for files that were listed here, and the file that each row came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark program uses

from lakelogic_assets.contract.reader_options import LOSING, is_passed, leads_away
from lakelogic_assets.errors import SourceError
from lakelogic_assets.spark.identifiers import column
from lakelogic_assets.spark.sources.snapshot import CORRUPT
from lakelogic_assets.spark.sources.unions import Folders

_LONGEST_PATH: Final = 1 << 20
NOWHERE: Final = "__ll_nowhere"
_OURS: Final = frozenset(
    "header sep delimiter quote escape encoding charset multiline enforceschema inferschema mode"
    " columnnameofcorruptrecord recursivefilelookup".split()
)
_NEEDS_DECODING = re.compile(r"[^A-Za-z0-9_./=,@!$&'()*+;~:-]")


def option_texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Reader options as Spark wants them; those that would lose rows or look elsewhere are refused."""
    texts = {}
    for name, value in (options or {}).items():
        if leads_away(name):
            raise SourceError(f"The reader option `{name}` is not allowed: it leads away from the source's own files.")
        reason = LOSING.get(name.casefold())
        if reason and str(value).casefold() not in ("false", "1", "1.0"):
            raise SourceError(f"The reader option `{name}` is not allowed: {reason}.")
        if name.casefold() == "mode" and str(value).upper() == "DROPMALFORMED":
            raise SourceError("The reader option `mode: DROPMALFORMED` is not allowed: malformed rows are quarantined.")
        if value is not None:
            texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def passed_on(options: Mapping[str, str], file_format: str) -> dict[str, str]:
    """The options that Spark's reader of a format gets as they are; others are read and set here, or by nobody."""
    return {
        name: value for name, value in options.items() if is_passed(name, file_format) and name.casefold() not in _OURS
    }


def flag(options: Mapping[str, str], name: str) -> bool | None:
    """A boolean option, in any spelling of its name; None when it is not given."""
    given = next((value for key, value in options.items() if key.casefold() == name.casefold()), None)
    return None if given is None else given.casefold() == "true"


def reader(spark: SparkSession, options: Mapping[str, str], folders: Folders | None = None) -> DataFrameReader:
    """A reader for exact paths: no character of a name is a wildcard, and no job is started to look at them."""
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000000")
    made = spark.read.options(**options).option("__globPaths__", "false")
    return made.option("basePath", folders.base) if folders and folders.keys else made


def corrupt_column() -> Column:
    """What could not be read as a row, from a frame whose schema has `CORRUPT` and `NOWHERE`.

    Spark refuses queries that need nothing but the former; the latter is in no file, so it changes nothing.
    """
    return F.coalesce(column(CORRUPT), column(NOWHERE)).alias(CORRUPT)


def file_column(paths: Sequence[str]) -> Column:
    """The path of the file of each row, as it was listed."""
    # Spark gives an address, `file:/in/two%20words.csv`. Every row pays for this, so one cut is all where it will do.
    plain = F.substring(F.col("_metadata.file_path"), len("file:") + 1, _LONGEST_PATH)
    if not any(_NEEDS_DECODING.search(path) for path in paths):
        return plain
    # The function reads forms, where a plus is a blank; in an address it is a plus.
    return F.coalesce(F.try_url_decode(F.replace(plain, F.lit("+"), F.lit("%2B"))), plain)
