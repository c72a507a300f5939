"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A title and a line for each name and value; what is None is left out.

    >>> table("RDD 3", [("partitions", 4), ("name", None)])
    '<table><caption>RDD 3</caption><tr><th>partitions</th><td>4</td></tr></table>'
    """
    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows
        if value is not None
    )
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"
