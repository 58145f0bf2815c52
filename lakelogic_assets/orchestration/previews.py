"""Pieces of Dagster that are still called beta or preview and that this project has decided to use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg


@contextmanager
def previews_allowed() -> Iterator[None]:
    """Without the warnings: checks by partition, code references, backfill policies; the version is pinned for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)
        warnings.simplefilter("ignore", dg.BetaWarning)
        yield
