"""What Spark says when it fails, as one line without the values of anybody's rows."""

from __future__ import annotations

import re

from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from lakelogic_assets.errors import LakeLogicError, RaceLostError
from lakelogic_assets.spark.sources import explain_failure

SparkFailure = (PySparkException, Py4JJavaError)
"""Both ways in which Spark fails in Python: what it translates, and what escapes its writers untranslated."""

LostConnection = (Py4JError, ConnectionError, EOFError)
"""What Python may see when the JVM is no longer there to answer: whether it is, only asking it tells."""

StorageFailure = (OSError, DeltaError)
"""What Python sees when a disk is full, a folder is gone or a log cannot be written."""

_CONFLICTS = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
"""Somebody else has committed since the transaction began."""

# From the first quote to the last: a value may hold quotes of its own.
_QUOTED = re.compile(r"'.*'|\".*\"")
_HIDDEN = "'…'"


def one_line(error: PySparkException | Py4JJavaError) -> str:
    """The cause: a file that cannot be read, an error class and what it is about."""
    explained = explain_failure(error)
    if explained:
        return explained
    if isinstance(error, Py4JJavaError):
        return _of_java(error)
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if condition and condition.split(".")[0] in ("UNRESOLVED_COLUMN", "UNRESOLVED_ROUTINE", "TABLE_OR_VIEW_NOT_FOUND"):
        return first[:300]  # names of columns, never their values
    text = _QUOTED.sub(_HIDDEN, first)
    return f"{condition}: {text[:200]}" if condition and condition not in text else text[:300]


def _of_java(error: Py4JJavaError) -> str:
    """The innermost cause, which is what people can act on."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = (cause.getMessage() or "").strip().splitlines()
    kind = cause.getClass().getSimpleName()
    return f"{kind}: {_QUOTED.sub(_HIDDEN, message[0])[:200]}" if message else str(kind)


def is_conflict(error: PySparkException | Py4JJavaError | RaceLostError) -> bool:
    """Whether the run lost a race against another writer of the table, so that the same again may go well."""
    if isinstance(error, RaceLostError):
        return True
    said = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    return any(kind in said for kind in _CONFLICTS)


def in_one_line(error: Exception) -> str:
    """Any failure as one line without the values of anybody's rows."""
    if isinstance(error, SparkFailure):
        return one_line(error)
    if isinstance(error, StorageFailure):
        return of_storage(error)
    return str(error) if isinstance(error, LakeLogicError) else type(error).__name__


def of_storage(error: OSError | DeltaError) -> str:
    """The cause without the names of classes: what is full, missing or not permitted."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error).strip().splitlines()[0][-300:] if str(error).strip() else type(error).__name__
