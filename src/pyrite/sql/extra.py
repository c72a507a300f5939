"""The extra that brings tables, pyrite[sql]: whether it is installed, and what to say if not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from pyrite.sql.missing import refuse_without_extra

PACKAGES = ("sqlframe", "duckdb", "pyarrow")


@cache
def installed() -> bool:
    """Whether tables can be had; nothing is imported to find out."""
    return all(find_spec(name) is not None for name in PACKAGES)


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Around imports from the extra: where it is not installed, the error says how to get it."""
    if not installed():
        refuse_without_extra(what)
    yield
