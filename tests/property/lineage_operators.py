"""The operators of random lineages, each as the engine has it and as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple

from hypothesis import strategies as st
from plain_rows import Plain
from row_functions import (
    FLAT_MAPS,
    KEYS,
    MAPS,
    add_counts,
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
    numbered,
    one,
    rank,
    repeated,
    reversed_rows,
    smaller,
    sorted_by_key,
    with_one_more,
)

from pyrite import RDD, StorageLevel

Rdd = RDD[Any]
MOST_PRODUCT_ROWS = 400


class Operator(NamedTuple):
    """One operator; `engine` and `plain` take the parents and then the arguments."""

    engine: Callable[..., Rdd]
    plain: Callable[..., Plain]
    arguments: st.SearchStrategy[tuple[Any, ...]] = st.just(())
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


def names(table: dict[str, Any]) -> st.SearchStrategy[tuple[str]]:
    return st.tuples(st.sampled_from(sorted(table)))


counts = st.integers(1, 4)
some_counts = st.tuples(st.none() | counts)
chosen_counts = st.tuples(counts)

REDUCERS = {"larger": larger, "smaller": smaller}
JOINS = ("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin")
LEVELS = {
    name: getattr(StorageLevel, name)
    for name in (
        "MEMORY_ONLY",
        "MEMORY_AND_DISK",
        "MEMORY_AND_DISK_2",
        "DISK_ONLY",
        "DISK_ONLY_2",
        "OFF_HEAP",
        "MEMORY_ONLY_2",
    )
}


def reduced(parent: Plain, reduce: Callable[[list[Any]], Any]) -> Plain:
    """One row per key."""
    return Plain((key, reduce(values)) for key, values in parent.groups().values())


def reduce_all(function: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


def distinct_rows(rows: list[Any]) -> list[Any]:
    return list({rank(row): row for row in rows}.values())


def joined(left: Plain, right: Plain, kind: str, count: int | None) -> Plain:
    """Rows of two sides by key; a side without the key gives None where the join is outer."""
    lefts, rights = left.groups(), right.groups()
    empty_left = [None] if kind in ("rightOuterJoin", "fullOuterJoin") else []
    empty_right = [None] if kind in ("leftOuterJoin", "fullOuterJoin") else []
    return Plain(
        (key, (v, w))
        for id, (key, _) in {**rights, **lefts}.items()
        for v in (lefts[id][1] if id in lefts else empty_left)
        for w in (rights[id][1] if id in rights else empty_right)
    )


def cogrouped(left: Plain, right: Plain, count: int | None) -> Plain:
    sides = left.groups(), right.groups()
    keys = {**sides[1], **sides[0]}
    return Plain(
        (key, groups_in_order(side[id][1] if id in side else () for side in sides))
        for id, (key, _) in keys.items()
    )


def without(left: Plain, right: Plain, of: Callable[[Any], Any]) -> Plain:
    there = {rank(of(row)) for row in right.rows}
    return Plain(row for row in left.rows if rank(of(row)) not in there)


def intersected(left: Plain, right: Plain) -> Plain:
    there = {rank(row) for row in right.rows}
    return Plain(row for row in distinct_rows(left.rows) if rank(row) in there)


def sort_by_key(parent: Plain, ascending: bool, count: int) -> Plain:
    rows = sorted(parent.rows, key=lambda row: rank(row[0]), reverse=not ascending)
    return Plain(rows, by_key=True)


def persisted(rdd: Rdd, level: str) -> Rdd:
    return rdd if rdd.is_cached else rdd.persist(LEVELS[level])


def checkpointed(rdd: Rdd, local: bool) -> Rdd:
    if local:
        rdd.localCheckpoint()
    else:
        rdd.checkpoint()
    return rdd


def looked_up(rdd: Rdd) -> Rdd:
    table = rdd.context.broadcast(dict(enumerate(KEYS)))
    return rdd.map(lambda row: (table.value[digest(row) % len(KEYS)], row))


def mapped_values(rows: list[Any]) -> list[Any]:
    return [(key, digest(value)) for key, value in rows]


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
        st.tuples(st.booleans()),
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
    # Layout
    "coalesce": Operator(
        lambda rdd, count: rdd.coalesce(count),
        lambda plain, count: Plain(plain.rows, ordered=plain.ordered),
        chosen_counts,
    ),
    "repartition": Operator(
        lambda rdd, count: rdd.repartition(count),
        lambda plain, count: Plain(plain.rows),
        chosen_counts,
    ),
    "partitionBy": Operator(
        lambda rdd, count: rdd.partitionBy(count),
        lambda plain, count: Plain(plain.rows),
        some_counts,
        suits=pairs,
    ),
    "partitionByDigest": Operator(
        lambda rdd, count: rdd.partitionBy(count, digest),
        lambda plain, count: Plain(plain.rows),
        chosen_counts,
        suits=pairs,
    ),
    "sortBy": Operator(
        lambda rdd, ascending, count: rdd.sortBy(rank, ascending, count),
        lambda plain, ascending, count: Plain(
            sorted(plain.rows, key=rank, reverse=not ascending), ordered=True
        ),
        st.tuples(st.booleans(), counts),
    ),
    "sortByKey": Operator(
        lambda rdd, ascending, count: rdd.sortByKey(ascending, count, rank),
        sort_by_key,
        st.tuples(st.booleans(), counts),
        suits=pairs,
    ),
    "repartitionAndSortWithinPartitions": Operator(
        lambda rdd, count: rdd.repartitionAndSortWithinPartitions(
            count, keyfunc=rank
        ).mapPartitions(sorted_by_key, True),
        lambda plain, count: Plain(plain.rows),
        some_counts,
        suits=pairs,
    ),
    # By key
    "distinct": Operator(
        lambda rdd, count: rdd.distinct(count),
        lambda plain, count: Plain(distinct_rows(plain.rows)),
        some_counts,
    ),
    "reduceByKey": Operator(
        lambda rdd, name, count: rdd.reduceByKey(REDUCERS[name], count),
        lambda plain, name, count: reduced(plain, lambda vs: reduce_all(REDUCERS[name], vs)),
        st.tuples(st.sampled_from(sorted(REDUCERS)), st.none() | counts),
        suits=pairs,
    ),
    "countsByKey": Operator(
        lambda rdd, count: rdd.mapValues(one).reduceByKey(add, count),
        lambda plain, count: reduced(plain, len),
        some_counts,
        suits=pairs,
    ),
    "groupByKey": Operator(
        lambda rdd, count: rdd.groupByKey(count).mapValues(in_order),
        lambda plain, count: reduced(plain, in_order),
        some_counts,
        suits=pairs,
    ),
    "groupBy": Operator(
        lambda rdd, count: rdd.groupBy(key_of, count).mapValues(in_order),
        lambda plain, count: reduced(Plain((key_of(x), x) for x in plain.rows), in_order),
        some_counts,
    ),
    "aggregateByKey": Operator(
        lambda rdd, count: rdd.aggregateByKey((0, 0), count_in, add_counts, count),
        lambda plain, count: reduced(plain, lambda vs: (len(vs), sum(map(digest, vs)))),
        some_counts,
        suits=pairs,
    ),
    "foldByKey": Operator(
        lambda rdd, count: rdd.mapValues(digest).foldByKey(0, add, count),
        lambda plain, count: reduced(plain, lambda vs: sum(map(digest, vs))),
        some_counts,
        suits=pairs,
    ),
    "combineByKey": Operator(
        lambda rdd, count: rdd.combineByKey(alone, with_one_more, add, count).mapValues(in_order),
        lambda plain, count: reduced(plain, in_order),
        some_counts,
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
        st.tuples(st.sampled_from(JOINS), st.none() | counts),
        parents=2,
        suits=pairs,
    ),
    "cogroup": Operator(
        lambda left, right, count: left.cogroup(right, count).mapValues(groups_in_order),
        cogrouped,
        some_counts,
        parents=2,
        suits=pairs,
    ),
    "subtract": Operator(
        lambda left, right, count: left.subtract(right, count),
        lambda left, right, count: without(left, right, lambda row: row),
        some_counts,
        parents=2,
    ),
    "subtractByKey": Operator(
        lambda left, right, count: left.subtractByKey(right, count),
        lambda left, right, count: without(left, right, lambda row: row[0]),
        some_counts,
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
    "persist": Operator(persisted, lambda plain, level: plain, names(LEVELS)),
    "checkpoint": Operator(checkpointed, lambda plain, local: plain, st.tuples(st.booleans())),
}
