"""Windows: which rows a function sees around each row."""

from __future__ import annotations

from pyrite.sql.extra import needed

with needed("pyspark.sql.Window"):
    from sqlframe.base.window import Window, WindowSpec

__all__ = ["Window", "WindowSpec"]
