"""The names of tables: what ``spark.catalog`` gives."""

from __future__ import annotations

from typing import Any

from pyrite.sql.engine import SqlEngines
from pyrite.sql.reader import refuse_public


class Catalog:
    """Which tables have names, and forgetting them."""

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:
        """Whether a table has this name."""
        return tableName.lower() in SqlEngines.get().views

    def dropTempView(self, viewName: str) -> bool:
        """Forgets a name, and says whether it was one."""
        return SqlEngines.get().views.pop(viewName.lower(), None) is not None

    def __getattr__(self, name: str) -> Any:
        refuse_public(self, name, f"spark.catalog.{name}")
