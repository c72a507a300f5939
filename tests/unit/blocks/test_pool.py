"""One node's pool counts what lies in it, and knows which of it was used last."""

from pyrite.blocks.pool import Pool, Segment
from pyrite.ids import NodeId

HERE, THERE = NodeId("node-0"), NodeId("node-1")


def segment(name: str, size: int, owner: NodeId = HERE, kept: bool = True) -> Segment:
    return Segment(name, HERE, owner, size, kept=kept)


def test_own_and_lent_bytes_are_told_apart() -> None:
    pool = Pool(HERE, 100)
    pool.add(segment("e0-1", 10))
    pool.add(segment("e0-2", 20, owner=THERE))
    pool.borrowed_bytes = 5
    assert (pool.used_bytes, pool.own_bytes, pool.unused_bytes) == (30, 10, 70)
    assert pool.footprint_bytes == 15, "Q is the sum of L and R"


def test_what_is_removed_counts_no_more() -> None:
    pool = Pool(HERE, 100)
    own, lent = segment("e0-1", 10), segment("e0-2", 20, owner=THERE)
    pool.add(own)
    pool.add(lent)
    pool.remove(lent)
    assert (pool.used_bytes, pool.own_bytes, list(pool.kept)) == (10, 10, [HERE])
    pool.remove(own)
    assert (pool.used_bytes, pool.own_bytes, pool.kept) == (0, 0, {})


def test_only_kept_partitions_are_listed_by_owner() -> None:
    pool = Pool(HERE, 100)
    pool.add(segment("e0-1", 10, kept=False))
    pool.add(segment("e0-2", 10))
    pool.add(segment("e0-3", 10, owner=THERE))
    assert {owner: list(kept) for owner, kept in pool.kept.items()} == {
        HERE: ["e0-2"],
        THERE: ["e0-3"],
    }


def test_the_least_recently_used_is_listed_first() -> None:
    pool = Pool(HERE, 100)
    segments = [segment(f"e0-{number}", 10) for number in range(3)]
    for each in segments:
        pool.add(each)
    pool.touch(segments[0])
    assert list(pool.kept[HERE]) == ["e0-1", "e0-2", "e0-0"]


def test_room_that_writers_wait_for_is_nobody_elses() -> None:
    pool = Pool(HERE, 100)
    pool.add(segment("e0-1", 90))
    pool.promised_bytes = 40
    pool.outgoing_bytes = 30
    assert pool.unused_bytes == 0, "30 of the 40 come into being, 10 are there"
    pool.outgoing_bytes = 50
    assert pool.unused_bytes == 10, "what goes out beyond what was promised is not free yet"


def test_a_node_that_leaves_has_no_room() -> None:
    pool = Pool(HERE, 100)
    pool.leaves = True
    assert pool.unused_bytes == 0
