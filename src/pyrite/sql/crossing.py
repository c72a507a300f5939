"""Rows that cross between RDDs and tables, as Arrow's batches made and read in the executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyrite.sql import arrow

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.rdd.rdd import RDD
    from pyrite.sql.row import Row
    from pyrite.sql.types import StructType


def rdd_as_table(rdd: RDD[Any], schema: StructType, verify: bool) -> Any:
    """An Arrow table of an RDD's rows; each task makes batches of its partition."""

    def encode(rows: Iterable[Any]) -> Iterator[bytes]:
        return arrow.encoded(arrow.batches_of(rows, schema, verify))

    blocks = rdd.mapPartitions(encode).collect()
    return table_of(arrow.decoded(blocks, arrow.arrow_schema(schema)), schema)


def list_as_table(rows: list[Any], schema: StructType, verify: bool) -> Any:
    """An Arrow table of rows in the driver."""
    return table_of(arrow.batches_of(rows, schema, verify), schema)


def table_of(batches: Iterable[Any], schema: StructType) -> Any:
    """Batches as one table."""
    return arrow.load().Table.from_batches(batches, arrow.arrow_schema(schema))


def rows_as_rdd(context: SparkContext, table: Any, names: list[str]) -> RDD[Row]:
    """An RDD of a table's rows, in as many partitions as the context likes."""
    parts = max(1, min(context.defaultParallelism, table.num_rows))
    size = min(-(-table.num_rows // parts) or 1, arrow.ROWS_OF_A_BATCH)
    pieces = (table.slice(start, size) for start in range(0, table.num_rows, size))
    blocks = [block for piece in pieces for block in arrow.encoded(piece.to_batches())]
    schema = table.schema

    def decode(held: Iterable[bytes]) -> Iterator[Row]:
        return arrow.rows_of(arrow.decoded(held, schema), names)

    return context.parallelize(blocks, parts).mapPartitions(decode)
