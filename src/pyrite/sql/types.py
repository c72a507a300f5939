"""Row, where PySpark's programs may import it from too."""

from __future__ import annotations

from typing import Any

from pyrite.sql.row import Row

__all__ = ["Row"]


def __getattr__(name: str) -> Any:
    from pyrite.sql import missing

    if name in missing.TYPES or (name.endswith("Type") and not name.startswith("_")):
        missing.refuse_import(__name__, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
