"""Reading text through a session, the one thing of its reader that RDD programs use."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

from pyrite.sql.extra import installed
from pyrite.sql.missing import refuse, refuse_without_extra
from pyrite.sql.row import Row, named_row

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.rdd import RDD

VALUE = ["value"]


class TextReader:
    """What ``spark.read`` gives: text files, and errors for all else."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def text(
        self,
        paths: str | PathLike[str] | Sequence[str | PathLike[str]],
        wholetext: bool = False,
        **options: Any,
    ) -> TextFrame:
        """The lines of text files, or each whole file, as rows with one field, ``value``.

        >>> from pyrite.sql import SparkSession
        >>> spark = SparkSession(sc)
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     file.writelines(["one\\n", "two\\n"])
        ...     file.flush()
        ...     spark.read.text(file.name).rdd.map(lambda row: row.value).collect()
        ['one', 'two']
        """
        given = [name for name, value in options.items() if value is not None]
        if given:
            refuse(f"spark.read.text(..., {given[0]}=...)")
        each = [paths] if isinstance(paths, str | PathLike) else paths
        rdds = [self._read(path, wholetext) for path in each]
        for rdd in rdds:
            # A missing path is said here, as with PySpark, and not by some later action.
            rdd.getNumPartitions()
        return TextFrame(self._context.union(rdds))

    def _read(self, path: str | PathLike[str], wholetext: bool) -> RDD[Row]:
        if wholetext:
            return self._context.wholeTextFiles(path).values().map(row_of)
        return self._context.textFile(path).map(row_of)

    def __getattr__(self, name: str) -> NoReturn:
        refuse_public(self, name, f"spark.read.{name}")


class TextFrame:
    """What ``spark.read.text`` gives: an RDD of rows, and errors for what DataFrames do."""

    def __init__(self, rows: RDD[Row]) -> None:
        self.rdd = rows

    def __getattr__(self, name: str) -> NoReturn:
        refuse_public(self, name, f"DataFrame.{name}")

    def __getitem__(self, item: object) -> NoReturn:
        refuse_without_extra(f"DataFrame[{item!r}]")

    def __iter__(self) -> NoReturn:
        refuse_without_extra("iterating over a DataFrame")

    def __repr__(self) -> str:
        return "<text of which Pyrite has .rdd only>"


def row_of(value: str) -> Row:
    """A row with the one field that text has."""
    return named_row(VALUE, (value,))


def refuse_public(owner: object, name: str, what: str) -> NoReturn:
    """Refuses a public attribute; tools that look for private ones may go on."""
    if name.startswith("_"):
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
    if installed():
        refuse(what)
    refuse_without_extra(what)
