"""The one DuckDB that holds a program's tables, and SQLFrame's session over it."""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

from pyrite.errors import AnalysisException, ParseException
from pyrite.sql.extra import needed

with needed("a table"):
    import duckdb
    import sqlglot
    from sqlframe.duckdb.session import DuckDBSession
    from sqlglot import exp

    from pyrite.sql.arrow import arrow_schema
    from pyrite.sql.dataframe import DataFrame
    from pyrite.sql.names import column_name
    from pyrite.sql.types import StructType

TABLE = "pyrite_table_{}_"
CONDITIONS = (
    ("UNRESOLVED_COLUMN.WITH_SUGGESTION", re.compile(r"[Cc]olumn .*(not found|does not have a)")),
    ("TABLE_OR_VIEW_NOT_FOUND", re.compile(r"Table .*does not exist")),
    ("UNRESOLVED_ROUTINE", re.compile(r"Function .*does not exist")),
    ("DATATYPE_MISMATCH", re.compile(r"[Cc]annot|No function matches")),
)


@dataclass
class Source:
    """Rows that become a table when a query first reads them."""

    schema: StructType
    load: Callable[[], Any]
    loaded: bool = False


class Engine(DuckDBSession):
    """SQLFrame's session: tables are DuckDB's, and rows of RDDs come when they are needed."""

    _df = DataFrame

    def __init__(self) -> None:
        if hasattr(self, "_sources"):
            return
        # Tables are registered by name; variables of the program are none.
        connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self._sources: dict[str, Source] = {}
        self._numbers = count(1)
        super().__init__(connection, eager_validation=True)

    def table_of(self, schema: StructType, load: Callable[[], Any]) -> DataFrame:
        """A table of rows that `load` gives as an Arrow table, when a query reads them."""
        name = TABLE.format(next(self._numbers))
        self._sources[name] = Source(schema, load)
        self._conn.register(name, arrow_schema(schema).empty_table())
        columns = [_quoted(field.name) for field in schema]
        frame: DataFrame = self._create_df(exp.select(*columns).from_(exp.to_table(name)))
        for field in schema:
            frame.display_name_mapping[field.name.lower()] = field.name
        frame._declared = schema
        return frame

    def scanned(self, scan: str) -> DataFrame:
        """A table of files, by a query in DuckDB's own SQL."""
        name = TABLE.format(next(self._numbers))
        self._conn.execute(f"CREATE TEMP VIEW {name} AS {scan}")
        found = self._conn.sql(f"SELECT * FROM {name}")
        frame: DataFrame = self._create_df(
            exp.select(*map(_quoted, found.columns)).from_(exp.to_table(name))
        )
        frame.display_name_mapping.update({each.lower(): each for each in found.columns})
        return frame

    def query(self, text: str) -> DataFrame:
        """The table that a query in Spark's SQL describes."""
        try:
            parsed = sqlglot.parse_one(text, read=self.input_dialect)
        except sqlglot.errors.SqlglotError as error:
            raise ParseException("PARSE_SYNTAX_ERROR", f"{error}, in {text!r}") from error
        shown: dict[str, str] = {}
        for select in parsed.find_all(exp.Select):
            select.set("expressions", [_named(each, shown) for each in select.expressions])
        try:
            frame: DataFrame = self.sql(parsed)
        except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
            raise analysis_error(error) from error
        frame.display_name_mapping.update(shown)
        frame._validate_plan()
        return frame

    def relation(self, frame: DataFrame, rows: bool) -> Any:
        """DuckDB's relation of a table; without `rows` it serves for the schema alone."""
        *before, last = frame._get_expressions(optimize=False)
        for each in before:
            self._execute(self._to_sql(each))
        text = self._to_sql(last)
        if rows:
            self.load_sources(text)
        try:
            found = self._conn.sql(text)
            return _whole_numbers(found) if "HUGEINT" in map(str, found.types) else found
        except duckdb.Error as error:
            raise analysis_error(error) from error

    def load_sources(self, text: str) -> None:
        """Fills the tables that a query reads and that have no rows yet."""
        for name, source in self._sources.items():
            if not source.loaded and name in text:
                self._conn.register(name, source.load())
                source.loaded = True

    def _execute(self, sql: str) -> None:
        self.load_sources(sql)
        super()._execute(sql)

    def _create_table(self, *args: Any, **kwargs: Any) -> DataFrame:
        return self._create_df(*args, **kwargs)


class Engines:
    """The engine that is there, if a table was made; all of a process share it, as SQLFrame does."""

    _lock: ClassVar[threading.RLock] = threading.RLock()
    _made: ClassVar[Engine | None] = None

    @classmethod
    def get(cls) -> Engine:
        """The engine, made now if need be."""
        with cls._lock:
            if cls._made is None:
                cls._made = Engine()
            return cls._made

    @classmethod
    def stop(cls) -> None:
        """Forgets all tables."""
        with cls._lock:
            if cls._made is not None:
                cls._made.stop()
                cls._made = None


# DuckDB complains of what is left at the end of the process.
atexit.register(Engines.stop)


def analysis_error(error: Exception) -> AnalysisException:
    """PySpark's error for one of DuckDB's or sqlglot's."""
    text = str(error)
    for condition, pattern in CONDITIONS:
        if pattern.search(text):
            return AnalysisException(condition, text)
    return AnalysisException("INVALID_QUERY", text)


def _named(column: Any, shown: dict[str, str]) -> Any:
    """A selected expression with the name that Spark gives it."""
    if isinstance(column, exp.Alias | exp.Column):
        shown.setdefault(column.alias_or_name.lower(), column.alias_or_name)
        return column
    if isinstance(column, exp.Star | exp.Aliases):
        return column
    name = column_name(column)
    shown[name.lower()] = name
    return exp.alias_(column, exp.to_identifier(name, quoted=True))


def _quoted(name: str) -> Any:
    return exp.column(exp.to_identifier(name.lower(), quoted=True))


def _whole_numbers(found: Any) -> Any:
    """Sums of whole numbers, which are as large as Spark's."""
    columns = [
        f"#{number}::BIGINT AS {_in_quotes(name)}" if str(kind) == "HUGEINT" else f"#{number}"
        for number, (name, kind) in enumerate(zip(found.columns, found.types, strict=True), 1)
    ]
    return found.project(", ".join(columns))


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
