"""Tables: SQLFrame's DataFrames over DuckDB, with PySpark's schemas, rows and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pyrite.errors import AnalysisException, ParseException, PySparkAttributeError, PySparkTypeError
from pyrite.sql.extra import needed
from pyrite.sql.missing import TABLE_METHODS, refuse
from pyrite.sql.shown import table_text

with needed("pyspark.sql.DataFrame"):
    from sqlframe.base.column import Column as SqlframeColumn
    from sqlframe.duckdb.dataframe import DuckDBDataFrame
    from sqlglot.errors import SqlglotError

    from pyrite.sql import arrow
    from pyrite.sql.column import Column, named, referred
    from pyrite.sql.group import GroupedData
    from pyrite.sql.names import display, written_name
    from pyrite.sql.nullability import mark_never_null
    from pyrite.sql.types import StructField, StructType
    from pyrite.sql.unpack import unpacked

if TYPE_CHECKING:
    from pyrite.rdd.rdd import RDD
    from pyrite.sql.engine import SqlEngine
    from pyrite.sql.readwriter import DataFrameWriter
    from pyrite.sql.row import Row
    from pyrite.sql.session import SparkSession

# What a cell shows when nobody says how much.
CELL = 20


@dataclass(frozen=True)
class Origin:
    """Rows that a table is made of; tables that are made of the table don't copy them."""

    rows: RDD[Row]

    def copy(self) -> Origin:
        return self


class DataFrame(DuckDBDataFrame):
    """A table: rows with named columns, computed when they are asked for."""

    _group_data = GroupedData
    session: SqlEngine
    # The schema that rows came with: DuckDB knows no columns that are never None.
    _declared: StructType | None = None
    # The RDD that the table is made of, where its rows are the table's.
    _origin: Origin | None = None

    @property
    def schema(self) -> StructType:
        """The names and types of the columns."""
        if self._declared is None:
            found = self.session.relation(self, rows=False).limit(0).to_arrow_table().schema
            fields = zip(self.columns, found, strict=True)
            self._declared = StructType(
                [StructField(name, arrow.data_type(field.type)) for name, field in fields]
            )
            mark_never_null(self._declared, self)
        return self._declared

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """The names of the columns with their types."""
        return [(field.name, field.dataType.simpleString()) for field in self.schema]

    @property
    def sparkSession(self) -> SparkSession:
        """The session that runs."""
        from pyrite.sql.session import SparkSession

        return SparkSession.active()

    @property
    def rdd(self) -> RDD[Row]:
        """The rows as an RDD; the table is computed at once, its rows are made in the tasks."""
        from pyrite.sql.crossing import rows_as_rdd

        if self._origin is not None:
            return self._origin.rows
        return rows_as_rdd(self.sparkSession.sparkContext, self.toArrow(), self.columns)

    @property
    def write(self) -> DataFrameWriter:
        """Writes the table to files."""
        from pyrite.sql.readwriter import DataFrameWriter

        return DataFrameWriter(self)

    # Rows

    def toArrow(self, batch_size: int | None = None) -> Any:
        """The table as Arrow has it."""
        found = self.session.relation(self, rows=True)
        table = found.to_arrow_table()
        return table if batch_size is None else table.to_reader(batch_size)

    def _collect(self, **kwargs: Any) -> list[Row]:
        return list(self.toLocalIterator())

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Row]:
        """The rows, one by one."""
        return arrow.rows_of(self.toArrow().to_batches(), self.columns)

    def take(self, num: int) -> list[Row]:
        """The first rows."""
        return self.limit(num).collect() if num else []

    def head(self, n: int | None = None) -> Any:
        """The first row, or a list of the first ones."""
        if n is not None:
            return self.take(n)
        found = self.take(1)
        return found[0] if found else None

    def tail(self, num: int) -> list[Row]:
        """The last rows."""
        return self.collect()[-num:] if num else []

    def count(self) -> int:
        """How many rows there are."""
        return int(self.session.relation(self, rows=True).count("*").fetchall()[0][0])

    def isEmpty(self) -> bool:
        """Whether there is no row."""
        return not self.take(1)

    def toPandas(self) -> Any:
        """The table as pandas has it."""
        return self.toArrow().to_pandas()

    def toJSON(self) -> RDD[str]:
        """Each row as an object in JSON."""
        from pyrite.sql.jsonlines import line_of

        return self.rdd.map(line_of)

    def foreach(self, f: Callable[[Row], None]) -> None:
        """Calls a function with each row, in the tasks."""
        self.rdd.foreach(f)

    def foreachPartition(self, f: Callable[[Iterable[Row]], None]) -> None:
        """Calls a function with the rows of each partition, in the tasks."""
        self.rdd.foreachPartition(f)

    # Text

    def show(self, n: int = CELL, truncate: bool | int = True, vertical: bool = False) -> None:
        """Prints the first rows; cells of more than 20 characters, or `truncate`, are shortened."""
        if isinstance(n, bool) or not isinstance(n, int):
            raise PySparkTypeError(f"show(n) takes a number of rows, not {n!r}", "NOT_INT")
        width = (CELL if truncate else 0) if isinstance(truncate, bool) else int(truncate)
        rows = self.take(n + 1)
        print(table_text(self.schema, rows[:n], len(rows) > n, width, vertical))

    def printSchema(self, level: int | None = None) -> None:
        """Prints the names and types of the columns."""
        print(self.schema.treeString(level))

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(f'{name}: {kind}' for name, kind in self.dtypes)}]"

    # Queries

    def select(self, *cols: Any, **kwargs: Any) -> DataFrame:
        """A table of these columns."""
        given = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
        columns = [named(found) for each in given for found in self._qualified(each)]
        if "skip_update_display_name_mapping" in kwargs:
            return super().select(*columns, **kwargs)
        # SQLFrame takes any name with a * in it, such as (a * 2), for all columns.
        found = super().select(*columns, skip_update_display_name_mapping=True, **kwargs)
        found.display_name_mapping.update(display(filter(None, map(written_name, columns))))
        return found

    # SQLFrame's own methods call what its decorator wraps.
    select.__wrapped__ = DuckDBDataFrame.select.__wrapped__  # type: ignore[attr-defined]

    def selectExpr(self, *expr: Any) -> DataFrame:
        """The same, with the columns in SQL."""
        from pyrite.sql.functions import expr as parse

        given = expr[0] if len(expr) == 1 and isinstance(expr[0], list) else expr
        return self.select(*[parse(each) for each in given])

    def where(self, condition: Any) -> DataFrame:
        """The rows for which a condition holds, a column or a text in SQL."""
        try:
            return super().where(condition)
        except SqlglotError as error:
            raise ParseException(f"{error}, in {condition!r}", "PARSE_SYNTAX_ERROR") from error

    filter = where

    def groupBy(self, *cols: Any, **kwargs: Any) -> GroupedData:
        """Groups of rows that agree in these columns."""
        given = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
        return super().groupBy(*[named(referred(self._at(each))) for each in given], **kwargs)

    groupby = groupBy

    def agg(self, *exprs: Any, **kwargs: Any) -> DataFrame:
        """What functions make of all rows."""
        return self.groupBy().agg(*exprs)

    def orderBy(self, *cols: Any, ascending: Any = None) -> DataFrame:
        """The rows by these columns."""
        given = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
        columns = [referred(self._at(each)) for each in given]
        if ascending is None:
            return super().orderBy(*columns)
        return super().orderBy(*columns, ascending=ascending)

    sort = orderBy

    def join(self, other: DataFrame, on: Any = None, how: str | None = None) -> DataFrame:
        """Rows of both that agree in columns, or for which a condition holds."""
        columns = on if isinstance(on, list | tuple) else [on]
        # SQLFrame asks a condition whether it is there, which ours refuses to tell.
        plain = [SqlframeColumn(each) if isinstance(each, Column) else each for each in columns]
        kind = (how or "inner").lower()
        found = super().join(other, None if on is None else plain, kind)
        found.display_name_mapping = {**other.display_name_mapping, **found.display_name_mapping}
        if isinstance(columns[0], str) and kind.startswith(("full", "outer", "right")):
            # From here on the names mean the columns of both, not those of one side.
            found = found._convert_leaf_to_cte()
        return found

    join.__wrapped__ = DuckDBDataFrame.join.__wrapped__  # type: ignore[attr-defined]

    def withColumnRenamed(self, existing: str, new: str) -> DataFrame:
        """One column under another name; a column that is not there changes nothing."""
        names = [new if name.lower() == existing.lower() else name for name in self.columns]
        return self.toDF(*names) if names != self.columns else self

    def fillna(self, value: Any, subset: Any = None) -> DataFrame:
        """The value instead of None, in the columns whose type is the value's."""
        from pyrite.sql.repairs import filled

        return filled(self, value, [subset] if isinstance(subset, str) else subset)

    def replace(self, to_replace: Any, value: Any = None, subset: Any = None) -> DataFrame:
        """Other values for some, in the columns whose type is theirs."""
        from pyrite.sql.repairs import replaced

        return replaced(self, to_replace, value, [subset] if isinstance(subset, str) else subset)

    def describe(self, *cols: Any) -> DataFrame:
        """Count, mean, deviation and bounds of columns."""
        from pyrite.sql.describe import DESCRIBED, statistics

        given = cols[0] if len(cols) == 1 and isinstance(cols[0], list) else cols
        return statistics(self, DESCRIBED, list(given))

    def summary(self, *statistics: str) -> DataFrame:
        """The same with quartiles, or the statistics that are named."""
        from pyrite.sql.describe import SUMMARY
        from pyrite.sql.describe import statistics as computed

        return computed(self, statistics or SUMMARY, [])

    def subtract(self, other: DataFrame) -> DataFrame:
        """The rows that the other table has not, each once."""
        return self.distinct().exceptAll(other.distinct())

    def unionAll(self, other: DataFrame) -> DataFrame:
        """The rows of both."""
        return self.union(other)

    def createOrReplaceTempView(self, name: str) -> None:
        """Gives the table a name for SQL."""
        self.session.name_view(name, self)

    createTempView = registerTempTable = createOrReplaceTempView

    # Nothing is kept: DuckDB computes a table anew, and rows of RDDs are loaded once.

    def cache(self) -> DataFrame:
        """The table itself."""
        return self

    def persist(self, storageLevel: Any = None) -> DataFrame:
        """The table itself."""
        return self

    def unpersist(self, blocking: bool = False) -> DataFrame:
        """The table itself."""
        return self

    # One DuckDB computes all partitions.

    def coalesce(self, numPartitions: int) -> DataFrame:
        """The table itself."""
        return self

    def repartition(self, numPartitions: Any, *cols: Any) -> DataFrame:
        """The table itself."""
        return self

    def hint(self, name: str, *parameters: Any) -> DataFrame:
        """The table itself."""
        return self

    def _qualified(self, column: Any) -> list[Any]:
        """What a table or a struct stands before has its own name alone; a.* is all of them."""
        from pyrite.sql.functions import col

        if isinstance(column, Column):
            return unpacked(column, self)
        if not isinstance(column, str) or "." not in column or "`" in column:
            return [referred(self._at(column))]
        before, _, last = column.rpartition(".")
        if last != "*":
            return [col(column)]
        fields = [field for field in self.schema if field.name.lower() == before.lower()]
        if fields and isinstance(fields[0].dataType, StructType):
            return [col(before).getField(name).alias(name) for name in fields[0].dataType.names]
        return [column]

    def _at(self, column: Any) -> Any:
        """Columns by their names, of which there must be one each, or by position, from 1."""
        if isinstance(column, str) and self._columns.count(column.lower()) > 1:
            raise AnalysisException(
                f"several columns are named {column!r}: say of which table, as in df[{column!r}]",
                "AMBIGUOUS_REFERENCE",
            )
        if isinstance(column, int) and not isinstance(column, bool):
            found: Column = self[self.columns[abs(column) - 1]]
            return found.desc() if column < 0 else found
        return column

    def _validate_plan(self) -> None:
        from pyrite.sql.engine import analysis_error

        try:
            self.session.relation(self, rows=False)
        except SqlglotError as error:
            raise analysis_error(error) from error

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int):
            item = self.columns[item]
        if isinstance(item, str):
            plain = referred(item)
            return Column(super().__getitem__(item)) if plain is item else plain
        return self.filter(item) if isinstance(item, Column) else self.select(*item)

    def __getattr__(self, name: str) -> Any:
        if name in TABLE_METHODS:
            refuse(f"DataFrame.{name}")
        if name.startswith("__") or name.lower() not in map(str.lower, self.columns):
            raise PySparkAttributeError(
                f"a DataFrame has no attribute or column {name!r}", "ATTRIBUTE_NOT_SUPPORTED"
            )
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns]

    def __reduce__(self) -> NoReturn:
        from pyrite.errors import ReferencedInTask

        raise ReferencedInTask("a DataFrame", "Use its rows: df.rdd, or broadcast df.collect().")
