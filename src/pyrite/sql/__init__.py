"""The part of pyspark.sql that RDD programs use: sessions and rows, and tables with the extra."""

from __future__ import annotations

from typing import Any

from pyrite.sql.row import Row
from pyrite.sql.session import SparkSession

__all__ = ["Row", "SparkSession"]


def __getattr__(name: str) -> Any:
    from pyrite.sql import missing

    if name in missing.HOMES:
        from pyrite.lazy import load_lazily

        return load_lazily(__name__, name, missing.HOMES)
    # Only names that Spark SQL has: others ask each loaded module for a name, and expect
    # AttributeError.
    if name in missing.NAMES:
        missing.refuse_import(__name__, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
