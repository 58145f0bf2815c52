"""The whole error tree.

LakeLogicError
├── ContractError     the YAML is wrong: carries every Problem found, not only the first
├── ProjectError      the project folder, its resources or its environment are wrong
├── NotFoundError     a contract, a table or an error code that was asked for does not exist
├── RequestError      what was asked for makes no sense: days that end before they begin, a sign-off for another run
└── EngineError       a run cannot go on
    ├── LockedError       another process writes the table (retryable)
    ├── TimedOutError     a run took longer than it may
    ├── JvmDiedError      Spark's JVM is gone; a new one starts on next use (retryable)
    ├── StorageError      a disk is full, a folder is gone or may not be written (retryable)
    ├── TableGoneError    the table was removed while a run wrote it (retryable)
    ├── SchemaError       rows do not fit the table and the policy forbids a change
    ├── EmptySourceError  nothing to read where the contract wants something
    ├── SourceError       a file or a folder cannot be read: carries its path
    │   └── SourceChangedError    it was changed while it was read (retryable)
    ├── DuplicateKeysError    a key that must be unique is not: carries how many are, never which
    └── WriteDroppedError     the table already holds a transaction of that name and generation
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakelogic_assets.contract.problems import Problem


class LakeLogicError(Exception):
    """The root: catch this to catch everything the project raises on purpose."""

    code: str | None = None
    retryable = False


class ContractError(LakeLogicError):
    """One or more files do not say what a contract may say."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        self.code = self.problems[0].code if self.problems else None
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ProjectError(LakeLogicError):
    """The project folder or the way it was called cannot work."""


class NotFoundError(LakeLogicError):
    """What was asked for by name is not there; `near` holds the closest names that are."""

    def __init__(self, message: str, near: Sequence[str] = ()) -> None:
        self.near = tuple(near)
        hint = f" Did you mean {' or '.join(self.near)}?" if self.near else ""
        super().__init__(message + hint)


class RequestError(LakeLogicError):
    """An operator asked for something that cannot be meant; the message says what to ask for instead."""


class EngineError(LakeLogicError):
    """A run cannot go on; the message is one sentence, Spark's own story goes to the debug log."""


class LockedError(EngineError):
    """Another process writes the table; trying again later is right."""

    retryable = True


class TimedOutError(EngineError):
    """A run was ended because it took longer than its contract or its operator allows."""


class JvmDiedError(EngineError):
    """Spark's JVM ended in the middle of a run; the next use starts a new one."""

    retryable = True


class StorageError(EngineError):
    """What a run must write cannot be written; nothing of it is half there, and the next run goes on from before it."""

    retryable = True


class RaceLostError(EngineError):
    """Another program changed the table while it was read; what was worked out holds for a table that is no more."""

    retryable = True


class TableGoneError(EngineError):
    """Somebody removed the table under a run; the next one makes it anew."""

    retryable = True


class SchemaError(EngineError):
    """The table and the rows do not fit, and the contract's policy does not let the table change."""


class EmptySourceError(EngineError):
    """Nothing was there to read, and the contract says that this is a failure."""


class SourceError(EngineError):
    """Something a contract reads from cannot be read as it is; `file` is the path, where there is one."""

    def __init__(self, message: str, file: str | None = None) -> None:
        self.file = file
        super().__init__(message)


class SourceChangedError(SourceError):
    """A file was written, replaced or removed while it was read; what is there by now can be read."""

    retryable = True


class DuplicateKeysError(EngineError):
    """Rows that are merged by key share keys; `count` says how many, `keys` which columns, nothing their values."""

    def __init__(self, count: int, keys: Sequence[str], *, where: str = "The batch", advice: str = "") -> None:
        self.count = count
        self.keys = tuple(keys)
        times = "1 key" if count == 1 else f"{count} keys"
        super().__init__(
            f"{where} holds {times} of ({', '.join(keys)}) more than once.{' ' + advice if advice else ''}"
        )


class WriteDroppedError(EngineError):
    """Delta skips a transaction it has seen without a word; this is the word."""
