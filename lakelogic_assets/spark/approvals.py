"""Signatures for windows that wait: who signed, why, until when. Files, so that every process sees them."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lakelogic_assets.contract.reading import read_text
from lakelogic_assets.errors import LakeLogicError, RequestError
from lakelogic_assets.gates.approvals import DEFAULT_EXPIRY, Approval, Findings, signature_for
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.holds import Hold, Holds, write_note
from lakelogic_assets.spark.lineage import created_by

Key = tuple[str, ...]


class Approvals:
    """The signatures of a lakehouse: a folder for each contract, a file for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, key: Key, window: Window) -> list[Approval]:
        """The signatures for a window of a contract, whether they still count or not."""
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self._folder(key).glob("*.json"))]
        return [Approval.from_dict(said) for said in found if Window.from_dict(said["window"]) == window]

    def sign(self, key: Key, window: Window, approval: Approval) -> None:
        said = {"window": window.as_dict(), **approval.as_dict()}
        named = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]
        write_note(self._folder(key) / f"{named}.json", said)

    def _folder(self, key: Key) -> Path:
        return self.folder.joinpath(*key)


def waiting(destination: Destination, key: Key) -> list[Hold]:
    """The windows of a contract that wait for a signature, oldest first."""
    return [hold for hold in Holds(destination.holds).of(key) if hold.asks is not None]


def approve(
    destination: Destination,
    key: Key,
    *,
    why: str,
    by: str | None = None,
    window: str | None = None,
    run_id: str | None = None,
    expires: timedelta = DEFAULT_EXPIRY,
    now: datetime | None = None,
) -> list[tuple[Window, Approval]]:
    """Sign what waits: one window, the window that a run asked for, or all of them."""
    if not why.strip():
        raise RequestError("A signature needs a reason; say why.")
    name = "/".join(key)
    open_ones = waiting(destination, key)
    if not open_ones:
        raise RequestError(f"Nothing of {name} waits for a signature.")
    chosen = [hold for hold in open_ones if window is None or hold.window.key == window]
    if not chosen:
        known = ", ".join(hold.window.key for hold in open_ones)
        raise RequestError(f"{name} has nothing to sign for the window {window}; what waits is {known}.")
    asking = [hold for hold in chosen if run_id is None or hold.is_of(run_id)]
    if not asking:
        asked = ", ".join(f"{hold.run_id[:8]} ({hold.window.key})" for hold in chosen)
        raise RequestError(f"The run {run_id} asked for nothing that waits of {name}; these did: {asked}.")
    signed_at = now or datetime.now(UTC)
    signed = [
        (
            hold.window,
            Approval(by or created_by(os.environ), why, signed_at, signed_at + expires, _asked(hold), hold.run_id),
        )
        for hold in asking
    ]
    for each, approval in signed:
        Approvals(destination.approvals).sign(key, each, approval)
    return signed


def signature_of(
    destination: Destination, key: Key, window: Window, file: str | None, asked: Findings, now: datetime | None = None
) -> Approval | None:
    """The signature that covers what a window asks for: one that was given by command, else the file of the request.

    The file may be meant for another contract of the call, so it is looked at only where it is needed.
    """
    now = now or datetime.now(UTC)
    given = signature_for(asked, Approvals(destination.approvals).of(key, window), now)
    if given is not None or not file or not Path(file).is_file():
        return given
    return signature_for(asked, [from_file(Path(file), destination, key, window, asked)], now)


def from_file(path: Path, destination: Destination, key: Key, window: Window, asked: Findings) -> Approval:
    """A file as a signature; it may say by whom, why, until when and for which run.

    It is one for what that run asked for, or without a word about it for all that is asked. Without a word about its
    end it counts for a day from when it was written.
    """
    said = _content(path)
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    run_id = said.get("run_id")
    hold = next((each for each in waiting(destination, key) if each.window == window), None)
    if run_id is not None and (hold is None or not hold.is_of(str(run_id))):
        raise RequestError(f"{path} approves the run {run_id}, which did not ask for {'/'.join(key)} {window.key}.")
    unsigned = Approval(
        by=str(said.get("by") or _owner(path)),
        why=str(said.get("why") or f"the file {path.name}"),
        at=written,
        expires=_moment(said.get("expires"), path) or written + DEFAULT_EXPIRY,
        findings=_asked(hold) if run_id is not None and hold is not None else asked,
        run_id=hold.run_id if run_id is not None and hold is not None else None,
    )
    return replace(unsigned, at=min(written, datetime.now(UTC)))


def _content(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if not text:
        return {}
    try:
        said = read_text(text, path).data
    except LakeLogicError:
        said = None
    # Words without keys are a reason.
    return said if isinstance(said, dict) else {"why": text.splitlines()[0][:200]}


def _moment(value: Any, path: Path) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise RequestError(f"{path}: {value!r} is not a time; write `expires` as 2026-02-06T18:00:00Z.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _asked(hold: Hold) -> Findings:
    return Findings.from_dict(hold.asks or {})


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, OSError):
        return f"user {path.stat().st_uid}"
