"""SQLContext, which programs used before there were sessions."""

from __future__ import annotations

from typing import Any

from pyrite.context import SparkContext
from pyrite.sql.session import SparkSession


class SQLContext:
    """A session under its older name."""

    def __init__(
        self, sparkContext: SparkContext, sparkSession: Any = None, **options: Any
    ) -> None:
        self.sparkSession = sparkSession or SparkSession.builder.getOrCreate()

    @classmethod
    def getOrCreate(cls, sc: SparkContext) -> SQLContext:
        """A session over the context."""
        return cls(sc)

    def registerDataFrameAsTable(self, df: Any, tableName: str) -> None:
        """Gives a table a name for SQL."""
        df.createOrReplaceTempView(tableName)

    def dropTempTable(self, tableName: str) -> None:
        """Forgets a name."""
        self.sparkSession.catalog.dropTempView(tableName)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sparkSession, name)
