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
    from sqlframe.duckdb.dataframe import DuckDBDataFrame
    from sqlframe.duckdb.session import DuckDBSession
    from sqlglot import exp

    from pyrite.sql.arrow import arrow_schema
    from pyrite.sql.dataframe import DataFrame
    from pyrite.sql.dialect import made_sparks, truncating
    from pyrite.sql.names import column_name, display, identifier
    from pyrite.sql.types import StructType

TABLE = "pyrite_table_{}_"
VIEW = "pyrite_view_{}_"
CONDITIONS = (
    (
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        re.compile(r"[Cc]olumn .*(not found|does not have a|referenced)"),
    ),
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


class SqlEngine(DuckDBSession):
    """SQLFrame's session: tables are DuckDB's, and rows of RDDs come when they are needed."""

    _df = DataFrame

    def __init__(self) -> None:
        if hasattr(self, "_sources"):
            return
        # Tables are registered by name; variables of the program are none.
        connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self._sources: dict[str, Source] = {}
        self.views: dict[str, str] = {}
        self._numbers = count(1)
        super().__init__(connection, eager_validation=True)

    def table_of(self, schema: StructType, load: Callable[[], Any]) -> DataFrame:
        """A table of rows that `load` gives as an Arrow table, when a query reads them."""
        name = TABLE.format(next(self._numbers))
        self._sources[name] = Source(schema, load)
        self._conn.register(name, arrow_schema(schema).empty_table())
        frame = self._stored(name, schema.names)
        frame._declared = schema
        return frame

    def scanned(self, scan: str) -> DataFrame:
        """A table of files, by a query in DuckDB's own SQL."""
        name = TABLE.format(next(self._numbers))
        self._conn.execute(f"CREATE TEMP VIEW {name} AS {scan}")
        return self._stored(name, self._conn.sql(f"SELECT * FROM {name}").columns)

    def query(self, text: str) -> DataFrame:
        """The table that a query in Spark's SQL describes."""
        try:
            parsed = sqlglot.parse_one(text, read=self.input_dialect)
        except sqlglot.errors.SqlglotError as error:
            raise ParseException(f"{error}, in {text!r}", "PARSE_SYNTAX_ERROR") from error
        parsed = made_sparks(parsed)
        shown = self._refer_to_views(parsed)
        for select in parsed.find_all(exp.Select):
            select.set("expressions", [_named(each, shown) for each in select.expressions])
        if isinstance(parsed, exp.SetOperation):
            parsed = exp.select("*").from_(parsed.subquery("both"))
        try:
            frame: DataFrame = self.sql(parsed)
        except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
            raise analysis_error(error) from error
        frame.display_name_mapping.update(display(shown))
        frame._validate_plan()
        return frame

    def name_view(self, name: str, frame: DataFrame) -> None:
        """Gives a table a name for SQL, which may have meant another one before."""
        stored = VIEW.format(next(self._numbers))
        DuckDBDataFrame.createOrReplaceTempView(frame, stored)
        self.views[name.lower()] = stored

    def _refer_to_views(self, parsed: Any) -> list[str]:
        """Puts what is stored for the names of a query, and gives the names of its columns."""
        defined = {each.alias.lower() for each in parsed.find_all(exp.CTE)}
        shown: list[str] = []
        for table in list(parsed.find_all(exp.Table)):
            stored = self.views.get(table.name.lower())
            if stored is not None and table.name.lower() not in defined:
                shown += self.temp_views[stored].columns
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
                table.set("this", exp.to_identifier(stored))
        return shown

    def _stored(self, table: str, names: list[str]) -> DataFrame:
        columns = [exp.column(identifier(name)) for name in names]
        frame: DataFrame = self._create_df(exp.select(*columns).from_(exp.to_table(table)))
        frame.display_name_mapping.update(display(names))
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

    def _to_sql(self, sql: Any, **kwargs: Any) -> str:
        written = sql.transform(truncating) if isinstance(sql, exp.Expression) else sql
        return super()._to_sql(written, **kwargs)

    def _execute(self, sql: str) -> None:
        self.load_sources(sql)
        super()._execute(sql)

    def _create_table(self, *args: Any, **kwargs: Any) -> DataFrame:
        return self._create_df(*args, **kwargs)


class SqlEngines:
    """The engine, once a table was made; a process has one, since SQLFrame knows only one."""

    _lock: ClassVar[threading.RLock] = threading.RLock()
    _made: ClassVar[SqlEngine | None] = None

    @classmethod
    def get(cls) -> SqlEngine:
        """The engine, made now if need be."""
        with cls._lock:
            if cls._made is None:
                cls._made = SqlEngine()
            return cls._made

    @classmethod
    def stop(cls) -> None:
        """Forgets all tables."""
        with cls._lock:
            if cls._made is not None:
                cls._made.stop()
                cls._made = None


# DuckDB complains of what is left at the end of the process.
atexit.register(SqlEngines.stop)


def analysis_error(error: Exception) -> AnalysisException:
    """PySpark's error for one of DuckDB's or sqlglot's."""
    text = str(error)
    for condition, pattern in CONDITIONS:
        if pattern.search(text):
            return AnalysisException(text, condition)
    return AnalysisException(text, "INVALID_QUERY")


def _named(column: Any, shown: list[str]) -> Any:
    """A selected expression with the name that Spark gives it, which is added to those shown."""
    if isinstance(column, exp.Star | exp.Aliases):
        return column
    named = isinstance(column, exp.Alias | exp.Column)
    shown.append(column.alias_or_name if named else column_name(column))
    return column if named else exp.alias_(column, exp.to_identifier(shown[-1], quoted=True))


def _whole_numbers(found: Any) -> Any:
    """Sums of whole numbers, which are as large as Spark's."""
    columns = [
        f"#{number}::BIGINT AS {_in_quotes(name)}" if str(kind) == "HUGEINT" else f"#{number}"
        for number, (name, kind) in enumerate(zip(found.columns, found.types, strict=True), 1)
    ]
    return found.project(", ".join(columns))


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
