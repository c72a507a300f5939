"""The operators of random lineages, each as the engine has it and as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from plain_operators import (
    all_gathered,
    cogrouped,
    distinct_rows,
    intersected,
    joined,
    mapped_values,
    reduce_all,
    reduced,
    sampled,
    sort_by_key,
    uniquely_numbered,
    without,
)
from plain_rows import Plain
from row_functions import (
    FLAT_MAPS,
    KEYS,
    MAPS,
    add_counts,
    all_met,
    alone,
    count_in,
    digest,
    each_digest,
    groups_in_order,
    in_order,
    is_chosen,
    key_of,
    larger,
    length,
    met,
    numbered,
    one,
    rank,
    repeated,
    reversed_rows,
    smaller,
    sorted_by_key,
    with_one_more,
)

if TYPE_CHECKING:
    from pyrite import RDD

Rdd: TypeAlias = "RDD[Any]"
# The values that an argument may have, from the simplest on.
Choice = tuple[Any, ...]

MOST_PRODUCT_ROWS = 400
# The tasks of a barrier stage run at once: whoever runs a program needs so many slots.
MOST_BARRIER_TASKS = 2


class Operator(NamedTuple):
    """One operator; `engine` and `plain` take the parents and then the arguments."""

    engine: Callable[..., Rdd]
    plain: Callable[..., Plain]
    arguments: tuple[Choice, ...] = ()
    parents: int = 1
    suits: Callable[..., bool] = lambda *parents: True


def pairs(*parents: Plain) -> bool:
    return all(each.is_pairs for each in parents)


def is_laid(parent: Plain) -> bool:
    return parent.parts is not None


def is_ordered(parent: Plain) -> bool:
    return parent.ordered


def is_small(left: Plain, right: Plain) -> bool:
    return len(left.rows) * len(right.rows) <= MOST_PRODUCT_ROWS


def can_meet(parent: Plain) -> bool:
    return parent.parts is not None and 1 <= len(parent.parts) <= MOST_BARRIER_TASKS


def names(table: dict[str, Any]) -> tuple[Choice, ...]:
    return (tuple(table),)


COUNTS: Choice = (1, 2, 3, 4, 6, 8)
SOME_COUNTS: Choice = (None, *COUNTS)
YES_OR_NO: Choice = (False, True)

REDUCERS = {"larger": larger, "smaller": smaller}
JOINS = ("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin")
LEVELS: Choice = (
    "MEMORY_ONLY",
    "MEMORY_AND_DISK",
    "MEMORY_AND_DISK_DESER",
    "DISK_ONLY",
    "OFF_HEAP",
    "MEMORY_ONLY_2",
    "MEMORY_AND_DISK_2",
    "DISK_ONLY_2",
    "DISK_ONLY_3",
)


def persisted(rdd: Rdd, level: str) -> Rdd:
    # The same programs run on PySpark, to record what it answers.
    engine = import_module(type(rdd).__module__.partition(".")[0])
    return rdd if rdd.is_cached else rdd.persist(getattr(engine.StorageLevel, level))


def checkpointed(rdd: Rdd, local: bool) -> Rdd:
    if local:
        rdd.localCheckpoint()
    else:
        rdd.checkpoint()
    return rdd


def met_and_dealt(rdd: Rdd, count: int) -> Rdd:
    """The shuffle ends the barrier stage: no wider one is built on it, and no action cuts it."""
    return rdd.barrier().mapPartitions(met).keyBy(digest).partitionBy(count).values()


def looked_up(rdd: Rdd) -> Rdd:
    table = rdd.context.broadcast(dict(enumerate(KEYS)))
    return rdd.map(lambda row: (table.value[digest(row) % len(KEYS)], row))


OPERATORS: dict[str, Operator] = {
    # One row after another
    "map": Operator(
        lambda rdd, name: rdd.map(MAPS[name]),
        lambda plain, name: plain.each(lambda rows: map(MAPS[name], rows)),
        names(MAPS),
    ),
    "filter": Operator(
        lambda rdd: rdd.filter(is_chosen),
        lambda plain: plain.each(lambda rows: filter(is_chosen, rows)),
    ),
    "flatMap": Operator(
        lambda rdd, name: rdd.flatMap(FLAT_MAPS[name]),
        lambda plain, name: plain.each(lambda rows: [y for x in rows for y in FLAT_MAPS[name](x)]),
        names(FLAT_MAPS),
    ),
    "keyBy": Operator(
        lambda rdd: rdd.keyBy(key_of),
        lambda plain: plain.each(lambda rows: [(key_of(x), x) for x in rows]),
    ),
    "mapValues": Operator(
        lambda rdd: rdd.mapValues(digest),
        lambda plain: plain.each(mapped_values),
        suits=pairs,
    ),
    "flatMapValues": Operator(
        lambda rdd: rdd.flatMapValues(repeated),
        lambda plain: plain.each(lambda rows: [(k, w) for k, v in rows for w in repeated(v)]),
        suits=pairs,
    ),
    "keys": Operator(
        lambda rdd: rdd.keys(),
        lambda plain: plain.each(lambda rows: [k for k, _ in rows]),
        suits=pairs,
    ),
    "values": Operator(
        lambda rdd: rdd.values(),
        lambda plain: plain.each(lambda rows: [v for _, v in rows]),
        suits=pairs,
    ),
    "lookUp": Operator(
        looked_up, lambda plain: plain.each(lambda rows: [(key_of(x), x) for x in rows])
    ),
    # One partition after another
    "mapPartitions": Operator(
        lambda rdd, keep: rdd.mapPartitions(iter, keep),
        lambda plain, keep: plain.each(iter),
        (YES_OR_NO,),
    ),
    "digestPartitions": Operator(
        lambda rdd: rdd.mapPartitions(each_digest),
        lambda plain: plain.each(each_digest),
    ),
    "reversePartitions": Operator(
        lambda rdd: rdd.mapPartitions(reversed_rows),
        lambda plain: plain.each(reversed_rows),
        suits=is_laid,
    ),
    "numberPartitions": Operator(
        lambda rdd: rdd.mapPartitionsWithIndex(numbered),
        lambda plain: Plain.laid([list(numbered(i, p)) for i, p in enumerate(plain.parts)]),
        suits=is_laid,
    ),
    "lengths": Operator(
        lambda rdd: rdd.mapPartitionsWithIndex(length),
        lambda plain: Plain.laid([length(i, p) for i, p in enumerate(plain.parts)]),
        suits=is_laid,
    ),
    "glom": Operator(
        lambda rdd: rdd.glom().map(tuple),
        lambda plain: Plain.laid([[tuple(part)] for part in plain.parts]),
        suits=is_laid,
    ),
    "zip": Operator(
        lambda rdd: rdd.zip(rdd.map(digest)),
        lambda plain: plain.each(lambda rows: [(x, digest(x)) for x in rows]),
        suits=is_laid,
    ),
    "zipWithIndex": Operator(
        lambda rdd: rdd.zipWithIndex(),
        lambda plain: Plain(((x, i) for i, x in enumerate(plain.rows)), ordered=True),
        suits=is_ordered,
    ),
    "zipWithUniqueId": Operator(
        lambda rdd: rdd.zipWithUniqueId(), uniquely_numbered, suits=is_laid
    ),
    "sample": Operator(
        lambda rdd, fraction, seed: rdd.sample(False, fraction, seed),
        sampled,
        ((0.0, 0.4, 0.8), (1, 7, 42)),
        suits=is_laid,
    ),
    # All partitions at once
    "barrier": Operator(
        met_and_dealt,
        lambda plain, count: Plain(plain.rows),
        (COUNTS,),
        suits=can_meet,
    ),
    "allGather": Operator(
        lambda rdd, count: rdd.barrier().mapPartitionsWithIndex(all_met).partitionBy(count),
        all_gathered,
        (COUNTS,),
        suits=can_meet,
    ),
    # Layout
    "coalesce": Operator(
        lambda rdd, count: rdd.coalesce(count),
        lambda plain, count: Plain(plain.rows, ordered=plain.ordered),
        (COUNTS,),
    ),
    "repartition": Operator(
        lambda rdd, count: rdd.repartition(count),
        lambda plain, count: Plain(plain.rows),
        (COUNTS,),
    ),
    "partitionBy": Operator(
        lambda rdd, count: rdd.partitionBy(count),
        lambda plain, count: Plain(plain.rows),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    "partitionByDigest": Operator(
        lambda rdd, count: rdd.partitionBy(count, digest),
        lambda plain, count: Plain(plain.rows),
        (COUNTS,),
        suits=pairs,
    ),
    "sortBy": Operator(
        lambda rdd, ascending, count: rdd.sortBy(rank, ascending, count),
        lambda plain, ascending, count: Plain(
            sorted(plain.rows, key=rank, reverse=not ascending), ordered=True
        ),
        (YES_OR_NO, COUNTS),
    ),
    "sortByKey": Operator(
        lambda rdd, ascending, count: rdd.sortByKey(ascending, count, rank),
        sort_by_key,
        (YES_OR_NO, COUNTS),
        suits=pairs,
    ),
    "repartitionAndSortWithinPartitions": Operator(
        lambda rdd, count: rdd.repartitionAndSortWithinPartitions(
            count, keyfunc=rank
        ).mapPartitions(sorted_by_key, True),
        lambda plain, count: Plain(plain.rows),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    # By key
    "distinct": Operator(
        lambda rdd, count: rdd.distinct(count),
        lambda plain, count: Plain(distinct_rows(plain.rows)),
        (SOME_COUNTS,),
    ),
    "reduceByKey": Operator(
        lambda rdd, name, count: rdd.reduceByKey(REDUCERS[name], count),
        lambda plain, name, count: reduced(plain, lambda vs: reduce_all(REDUCERS[name], vs)),
        (tuple(REDUCERS), SOME_COUNTS),
        suits=pairs,
    ),
    "countsByKey": Operator(
        lambda rdd, count: rdd.mapValues(one).reduceByKey(add, count),
        lambda plain, count: reduced(plain, len),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    "groupByKey": Operator(
        lambda rdd, count: rdd.groupByKey(count).mapValues(in_order),
        lambda plain, count: reduced(plain, in_order),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    "groupBy": Operator(
        lambda rdd, count: rdd.groupBy(key_of, count).mapValues(in_order),
        lambda plain, count: reduced(Plain((key_of(x), x) for x in plain.rows), in_order),
        (SOME_COUNTS,),
    ),
    "aggregateByKey": Operator(
        lambda rdd, count: rdd.aggregateByKey((0, 0), count_in, add_counts, count),
        lambda plain, count: reduced(plain, lambda vs: (len(vs), sum(map(digest, vs)))),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    "foldByKey": Operator(
        lambda rdd, count: rdd.mapValues(digest).foldByKey(0, add, count),
        lambda plain, count: reduced(plain, lambda vs: sum(map(digest, vs))),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    "combineByKey": Operator(
        lambda rdd, count: rdd.combineByKey(alone, with_one_more, add, count).mapValues(in_order),
        lambda plain, count: reduced(plain, in_order),
        (SOME_COUNTS,),
        suits=pairs,
    ),
    # Two parents
    "union": Operator(
        lambda left, right: left.union(right),
        lambda left, right: (
            Plain.laid(left.parts + right.parts)
            if left.parts is not None and right.parts is not None
            else Plain(left.rows + right.rows)
        ),
        parents=2,
    ),
    "anyJoin": Operator(
        lambda left, right, kind, count: getattr(left, kind)(right, count),
        joined,
        (JOINS, SOME_COUNTS),
        parents=2,
        suits=pairs,
    ),
    "cogroup": Operator(
        lambda left, right, count: left.cogroup(right, count).mapValues(groups_in_order),
        cogrouped,
        (SOME_COUNTS,),
        parents=2,
        suits=pairs,
    ),
    "subtract": Operator(
        lambda left, right, count: left.subtract(right, count),
        lambda left, right, count: without(left, right, lambda row: row),
        (SOME_COUNTS,),
        parents=2,
    ),
    "subtractByKey": Operator(
        lambda left, right, count: left.subtractByKey(right, count),
        lambda left, right, count: without(left, right, lambda row: row[0]),
        (SOME_COUNTS,),
        parents=2,
        suits=pairs,
    ),
    "intersection": Operator(
        lambda left, right: left.intersection(right),
        intersected,
        parents=2,
    ),
    "cartesian": Operator(
        lambda left, right: left.cartesian(right),
        lambda left, right: Plain((x, y) for x in left.rows for y in right.rows),
        parents=2,
        suits=is_small,
    ),
    # Kept
    "persist": Operator(persisted, lambda plain, level: plain, (LEVELS,)),
    "checkpoint": Operator(checkpointed, lambda plain, local: plain, (YES_OR_NO,)),
}
