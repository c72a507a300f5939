"""Operators of collections in random lineages; drawn apart, so that other draws stay."""

from __future__ import annotations

from lineage_actions import ACTIONS, Action
from lineage_operators import OPERATORS, Operator, Rdd, pairs
from plain_rows import Plain, expect
from row_functions import digest

PARTITIONS = (2, 4, 5, 8)
GROUPS = (0, 1, 2, 3)
# Digests of rows are below this; bounds that are shifted make other ranges.
MOST_DIGEST = 1009
SHIFTS = (0, 40)


def localized(rdd: Rdd, count: int, groups: int) -> Rdd:
    """Each namespace has one partitioner, named by it."""
    from pyrite import ExtendablePartitioner, HashPartitioner

    hashed = HashPartitioner(count)
    partitioner = ExtendablePartitioner(hashed, min(groups, count)) if groups else hashed
    return rdd.localityPartitionBy(partitioner, f"{count} partitions, {groups} groups")


def ranged(rdd: Rdd, count: int, groups: int, shift: int) -> Rdd:
    """Each namespace has the ranges of its first RDD; one that is asked for others stays as it
    is."""
    from pyrite import ExtendablePartitioner, StaticRangePartitioner
    from pyrite.errors import UserError

    bounds = [MOST_DIGEST * place // count + shift for place in range(1, count)]
    ranges = StaticRangePartitioner(bounds)
    name = f"{count} ranges, {groups} groups"
    known = rdd.ctx._engine.namespaces.by_name.get(name)
    try:
        partitioner = ExtendablePartitioner(ranges, min(groups, count)) if groups else ranges
        return rdd.localityPartitionBy(partitioner, name)
    except UserError:
        if known is None or known.partitioner.partitionFunc.bounds == bounds:
            raise
        return rdd


def forced(rdd: Rdd) -> Rdd:
    if rdd.is_cached:
        rdd.forceCheckpoint()
    return rdd


def reported(rdd: Rdd) -> Rdd:
    if rdd._namespace is not None:
        rdd.context.reportRDD(rdd)
    return rdd


def has_digests(parent: Plain) -> bool:
    return parent.is_pairs and all(type(key) is int for key, _ in parent.rows)


def check_drop(rdd: Rdd, plain: Plain) -> None:
    """Ends the namespace, if somebody else has not; what is kept stays right."""
    if rdd._namespace is not None:
        rdd.context.dropNamespace(rdd._namespace.name)
    expect("count", rdd.count(), len(plain.rows))


def check_renew(rdd: Rdd, plain: Plain) -> None:
    """Ends the namespace, and uses its name again with another partitioner."""
    from pyrite import HashPartitioner

    old = rdd._namespace
    if old is not None:
        rdd.context.dropNamespace(old.name)
        other = HashPartitioner(old.partitioner.numPartitions % 5 + 1)
        again = rdd.localityPartitionBy(other, old.name).cache()
        expect("count", again.count(), len(plain.rows))
        again.unpersist()


COLLECTION_ACTIONS = {"dropNamespace": Action(check_drop), "renewNamespace": Action(check_renew)}
ALL_ACTIONS = {**ACTIONS, **COLLECTION_ACTIONS}
COLLECTION_OPERATORS = {
    "localityPartitionBy": Operator(
        localized, lambda plain, count, groups: Plain(plain.rows), (PARTITIONS, GROUPS), suits=pairs
    ),
    "keyByDigest": Operator(
        lambda rdd: rdd.keyBy(digest),
        lambda plain: plain.each(lambda rows: [(digest(row), row) for row in rows]),
    ),
    "localityByRanges": Operator(
        ranged,
        lambda plain, count, groups, shift: Plain(plain.rows),
        (PARTITIONS, GROUPS, SHIFTS),
        suits=has_digests,
    ),
    "forceCheckpoint": Operator(forced, lambda plain: plain),
    "reportRDD": Operator(reported, lambda plain: plain),
}
ALL_OPERATORS = {**OPERATORS, **COLLECTION_OPERATORS}
