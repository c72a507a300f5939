"""Operators of collections in random lineages; drawn apart, so that other draws stay."""

from __future__ import annotations

from lineage_operators import OPERATORS, Operator, Rdd, pairs
from plain_rows import Plain

PARTITIONS = (2, 4, 5, 8)
GROUPS = (0, 1, 2, 3)


def localized(rdd: Rdd, count: int, groups: int) -> Rdd:
    """Each namespace has one partitioner, named by it."""
    from pyrite import ExtendablePartitioner, HashPartitioner

    hashed = HashPartitioner(count)
    partitioner = ExtendablePartitioner(hashed, min(groups, count)) if groups else hashed
    return rdd.localityPartitionBy(partitioner, f"{count} partitions, {groups} groups")


def forced(rdd: Rdd) -> Rdd:
    if rdd.is_cached:
        rdd.forceCheckpoint()
    return rdd


def reported(rdd: Rdd) -> Rdd:
    if rdd._namespace is not None:
        rdd.context.reportRDD(rdd)
    return rdd


COLLECTION_OPERATORS = {
    "localityPartitionBy": Operator(
        localized, lambda plain, count, groups: Plain(plain.rows), (PARTITIONS, GROUPS), suits=pairs
    ),
    "forceCheckpoint": Operator(forced, lambda plain: plain),
    "reportRDD": Operator(reported, lambda plain: plain),
}
ALL_OPERATORS = {**OPERATORS, **COLLECTION_OPERATORS}
