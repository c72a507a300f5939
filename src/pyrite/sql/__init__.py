"""The part of pyspark.sql that RDD programs use: SparkSession as the way to a context, and Row."""

from __future__ import annotations

from typing import Any

from pyrite.sql.row import Row
from pyrite.sql.session import SparkSession

__all__ = ["Row", "SparkSession"]


def __getattr__(name: str) -> Any:
    from pyrite.sql import missing

    # Only names that Spark SQL has: others ask each loaded module for a name, and expect
    # AttributeError.
    if name in missing.NAMES:
        missing.refuse_import(__name__, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
