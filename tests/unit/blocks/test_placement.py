"""Where a segment goes, rule by rule, as R3S places partitions (3.2)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.placement import Eviction, Knowledge, Place, Placement, RoomRequest
from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")
DRIVER_NODE = NodeId("driver")
OLD, NEW = RddId(1), RddId(2)
NOTHING_KNOWN = Knowledge()


class Cluster:
    """Pools to be filled by hand, and a question of where more would go."""

    def __init__(self, **capacities: int) -> None:
        self.ledger = Ledger()
        self.count = 0
        for node, capacity in capacities.items():
            self.ledger.join(NodeId(node), capacity)

    def lay(
        self,
        place: NodeId,
        size: int,
        owner: NodeId | None = None,
        rdd: RddId = OLD,
        sealed: bool = True,
        to_disk: bool = True,
    ) -> Segment:
        """A segment of one kept partition lies somewhere."""
        self.count += 1
        name = f"e{self.count}-1"
        segment = Segment(name, place, owner or place, size, kept=True, to_disk=to_disk)
        self.ledger.grant(ExecutorId(self.count), segment, packs=False)
        self.ledger.pin(self.ref(segment), ExecutorId(self.count), rdd)
        if sealed:
            self.ledger.settle(ExecutorId(self.count))
        self.ledger.check()
        return segment

    def lay_output(self, place: NodeId, size: int) -> None:
        """A map output lies somewhere."""
        self.count += 1
        segment = Segment(f"e{self.count}-1", place, place, size)
        self.ledger.grant(ExecutorId(self.count), segment, packs=True)

    def ref(self, segment: Segment) -> BlockRef:
        return BlockRef(segment.place, segment.name, 0, segment.bytes)

    def place(
        self,
        node: NodeId,
        size: int,
        rdd: RddId | None = NEW,
        knowledge: Knowledge = NOTHING_KNOWN,
        is_copy: bool = False,
    ) -> Place:
        before = [(each.name, each.bytes) for each in self.ledger.segments.values()]
        request = RoomRequest(node, size, rdd, is_copy)
        place = Placement(self.ledger, request, knowledge).decide()
        assert before == [(each.name, each.bytes) for each in self.ledger.segments.values()]
        return place


def reads(*sooner: Segment) -> Knowledge:
    """Those will be read, in this order, and no others."""
    turns = {segment.name: (0, turn) for turn, segment in enumerate(sooner)}
    return Knowledge(next_use=lambda segment: turns.get(segment.name))


def reserves(sizes: Mapping[NodeId, int]) -> Knowledge:
    return Knowledge(reserved_bytes=lambda node: sizes.get(node, 0))


# Case 1: the own pool


def test_a_partition_lies_at_home_while_there_is_room() -> None:
    cluster = Cluster(a=100, b=1000)
    cluster.lay(A, 60)
    assert cluster.place(A, 40) == Place(A)


def test_own_data_pushes_out_what_others_have_laid_there() -> None:
    cluster = Cluster(a=100, b=100, c=100)
    lent = cluster.lay(A, 60, owner=B)
    cluster.lay(B, 100)
    assert cluster.place(A, 50) == Place(A, (Eviction(lent, C),))


def test_what_is_pushed_out_goes_home_if_there_is_room() -> None:
    cluster = Cluster(a=100, b=100, c=1000)
    lent = cluster.lay(A, 60, owner=B)
    assert cluster.place(A, 50) == Place(A, (Eviction(lent, B),)), "although c has more room"


def test_what_is_pushed_out_goes_to_disk_where_all_pools_are_full() -> None:
    cluster = Cluster(a=100, b=100, c=100)
    lent = cluster.lay(A, 60, owner=B)
    cluster.lay(B, 50)
    cluster.lay(C, 50)
    assert cluster.place(A, 50) == Place(A, (Eviction(lent, None),))


def test_two_that_are_pushed_out_are_not_given_the_same_room() -> None:
    cluster = Cluster(a=100, b=60, c=90)
    first = cluster.lay(A, 50, owner=B)
    second = cluster.lay(A, 50, owner=C)
    cluster.lay(B, 60)
    place = cluster.place(A, 100)
    assert place == Place(A, (Eviction(first, C), Eviction(second, None)))


def test_no_more_is_pushed_out_than_is_needed() -> None:
    cluster = Cluster(a=100, b=0, c=100)
    first = cluster.lay(A, 40, owner=B)
    cluster.lay(A, 40, owner=B)
    assert cluster.place(A, 60) == Place(A, (Eviction(first, C),))


def test_own_data_that_fills_the_pool_pushes_nothing_out() -> None:
    cluster = Cluster(a=100, b=100)
    cluster.lay(A, 60)
    cluster.lay(A, 40, owner=B)
    assert cluster.place(A, 50) == Place(B), "60 + 50 is more than a pool, without b's 40 too"


# Case 2: the pool with the most room (equation 5)


def test_beyond_the_own_pool_it_goes_where_there_is_most_room() -> None:
    cluster = Cluster(a=100, b=100, c=120)
    cluster.lay(A, 100)
    cluster.lay(B, 10)
    cluster.lay(C, 40)
    assert cluster.place(A, 50) == Place(B)


def test_a_pool_twice_as_large_has_more_room_though_more_is_used() -> None:
    cluster = Cluster(a=100, b=100, c=400)
    cluster.lay(A, 100)
    cluster.lay(C, 250)
    assert cluster.place(A, 50) == Place(C)


def test_room_elsewhere_comes_before_evicting_older_data_of_the_same_node() -> None:
    cluster = Cluster(a=100, b=100)
    cluster.lay(A, 100, rdd=OLD)
    assert cluster.place(A, 50, rdd=NEW) == Place(B)


def test_a_second_copy_lies_on_another_node_if_one_has_room() -> None:
    cluster = Cluster(a=100, b=60)
    assert cluster.place(A, 50, is_copy=True) == Place(B)
    assert cluster.place(A, 70, is_copy=True) == Place(A)


# Case 3: all pools are full (equation 6)


def test_when_all_are_full_the_largest_gives_up_what_it_has_borrowed() -> None:
    cluster = Cluster(a=100, b=100, c=100)
    cluster.lay(A, 100, rdd=NEW)
    cluster.lay(B, 100)
    borrowed = cluster.lay(C, 100, owner=B)
    assert cluster.place(A, 90) == Place(C, (Eviction(borrowed, None),))


def test_the_largest_gives_nothing_up_to_one_who_would_then_have_more() -> None:
    cluster = Cluster(a=100, b=100, c=100)
    cluster.lay(A, 100, rdd=NEW)
    cluster.lay(B, 50)
    cluster.lay(B, 50, owner=C)
    cluster.lay(C, 50)
    cluster.lay(C, 50, owner=B)
    assert cluster.place(A, 50) == Place(None), "a would have 150, and both others have 100"


def test_the_largest_gives_up_only_what_lies_with_others() -> None:
    cluster = Cluster(a=100, b=300)
    cluster.lay(A, 100, rdd=NEW)
    cluster.lay(B, 300)
    assert cluster.place(A, 50) == Place(None), "b's data at b is b's own affair"


def test_who_is_the_largest_itself_takes_from_nobody() -> None:
    cluster = Cluster(a=100, b=100, c=50)
    cluster.lay(A, 100, rdd=NEW)
    cluster.lay(B, 60, owner=A, rdd=NEW)
    cluster.lay(B, 40)
    cluster.lay(C, 50, owner=B)
    assert cluster.place(A, 40) == Place(None)


# Older data of the same node


def test_older_rdds_of_the_same_node_give_way() -> None:
    cluster = Cluster(a=100)
    old = cluster.lay(A, 60, rdd=OLD)
    assert cluster.place(A, 50, rdd=NEW) == Place(A, (Eviction(old, None),))


def test_the_rdd_that_is_stored_never_gives_way_to_itself() -> None:
    cluster = Cluster(a=100)
    cluster.lay(A, 60, rdd=NEW)
    assert cluster.place(A, 50, rdd=NEW) == Place(None)


def test_a_segment_that_holds_a_block_of_the_same_rdd_among_others_stays() -> None:
    cluster = Cluster(a=100)
    mixed = cluster.lay(A, 60, rdd=OLD)
    cluster.ledger.pin(BlockRef(A, mixed.name, 0, 5), mixed.writer, NEW)
    assert cluster.place(A, 50, rdd=NEW) == Place(None)


def test_older_data_gives_way_where_it_lies_with_others_too() -> None:
    cluster = Cluster(a=50, b=100)
    cluster.lay(A, 50, rdd=NEW)
    old = cluster.lay(B, 60, owner=A, rdd=OLD)
    cluster.lay(B, 40)
    assert cluster.place(A, 50, rdd=NEW) == Place(B, (Eviction(old, None),))


# Who goes first


def test_the_owner_with_the_largest_footprint_goes_first() -> None:
    cluster = Cluster(a=100, b=100, c=100, d=1000)
    cluster.lay(A, 30, owner=B)
    largest = cluster.lay(A, 30, owner=C)
    cluster.lay(B, 80)
    cluster.lay(C, 90)
    assert cluster.place(A, 60) == Place(A, (Eviction(largest, NodeId("d")),))


def test_of_an_owner_the_least_recently_used_goes_first() -> None:
    cluster = Cluster(a=100, b=0, c=100)
    first = cluster.lay(A, 50, owner=B)
    second = cluster.lay(A, 50, owner=B)
    assert cluster.place(A, 50) == Place(A, (Eviction(first, C),))
    ref = cluster.ref(first)
    cluster.ledger.use(ref.segment)
    cluster.ledger.end_use(ref.segment)
    assert cluster.place(A, 50) == Place(A, (Eviction(second, C),))


def test_an_owner_that_has_gone_has_the_smallest_footprint() -> None:
    cluster = Cluster(a=100, b=100, c=200)
    cluster.lay(A, 50, owner=B)
    borrowed = cluster.lay(A, 50, owner=C)
    cluster.ledger.lose(B)
    assert cluster.place(A, 50) == Place(A, (Eviction(borrowed, C),))


def test_what_an_owner_that_has_gone_left_behind_gives_way_too() -> None:
    cluster = Cluster(a=100, b=100, c=200)
    left = cluster.lay(A, 100, owner=B)
    cluster.ledger.lose(B)
    assert cluster.place(A, 50) == Place(A, (Eviction(left, C),))


# Who never goes


def test_what_a_running_task_reads_stays() -> None:
    cluster = Cluster(a=100, b=0)
    read = cluster.lay(A, 60, owner=B)
    cluster.ledger.use(read.name)
    assert cluster.place(A, 50) == Place(None)
    cluster.ledger.end_use(read.name)
    assert cluster.place(A, 50) == Place(A, (Eviction(read, None),))


def test_what_is_moving_already_moves_no_more() -> None:
    cluster = Cluster(a=100, b=0, c=60)
    moving = cluster.lay(A, 60, owner=B)
    cluster.ledger.move(moving, C, "memory")
    assert cluster.place(A, 50) == Place(None)


def test_what_is_still_written_stays() -> None:
    cluster = Cluster(a=100, b=0)
    cluster.lay(A, 60, owner=B, sealed=False)
    assert cluster.place(A, 50) == Place(None)


# Map outputs and other blocks that are not kept


def test_map_outputs_lie_at_home_or_on_disk() -> None:
    cluster = Cluster(a=100, b=1000)
    cluster.lay_output(A, 80)
    assert cluster.place(A, 20, rdd=None) == Place(A)
    assert cluster.place(A, 50, rdd=None) == Place(None)


def test_map_outputs_push_out_what_others_have_laid_there() -> None:
    cluster = Cluster(a=100, b=100)
    lent = cluster.lay(A, 60, owner=B)
    assert cluster.place(A, 50, rdd=None) == Place(A, (Eviction(lent, B),))


def test_map_outputs_push_kept_partitions_into_other_pools() -> None:
    cluster = Cluster(a=100, b=100)
    own = cluster.lay(A, 60)
    assert cluster.place(A, 50, rdd=None) == Place(A, (Eviction(own, B),))


def test_map_outputs_push_no_kept_partition_of_the_same_node_to_disk() -> None:
    cluster = Cluster(a=100, b=100)
    cluster.lay(A, 60)
    cluster.lay(B, 60)
    assert cluster.place(A, 50, rdd=None) == Place(None)


def test_map_outputs_are_no_victims() -> None:
    cluster = Cluster(a=100)
    cluster.lay_output(A, 60)
    assert cluster.place(A, 50) == Place(None)


# What is known of the work under way


def test_what_will_be_read_goes_after_what_will_not() -> None:
    cluster = Cluster(a=100, b=0, c=100)
    read = cluster.lay(A, 50, owner=B)
    unread = cluster.lay(A, 50, owner=B)
    place = cluster.place(A, 50, knowledge=reads(read))
    assert place == Place(A, (Eviction(unread, C),)), "although it was used later"


def test_of_what_will_be_read_that_goes_first_which_is_read_last() -> None:
    cluster = Cluster(a=100, b=0, c=100)
    soon = cluster.lay(A, 50, owner=B)
    late = cluster.lay(A, 50, owner=B)
    place = cluster.place(A, 50, knowledge=reads(soon, late))
    assert place == Place(A, (Eviction(late, C),))
    place = cluster.place(A, 50, knowledge=reads(late, soon))
    assert place == Place(A, (Eviction(soon, C),))


def test_what_will_be_read_comes_before_the_footprint() -> None:
    cluster = Cluster(a=100, b=200, c=200, d=100)
    small = cluster.lay(A, 50, owner=B)
    large = cluster.lay(A, 50, owner=C)
    cluster.lay(C, 200)
    cluster.lay(B, 170)
    place = cluster.place(A, 50, knowledge=reads(large))
    assert place == Place(A, (Eviction(small, NodeId("d")),))


def test_own_older_data_that_will_be_read_stays() -> None:
    cluster = Cluster(a=100)
    old = cluster.lay(A, 60, rdd=OLD)
    assert cluster.place(A, 50, knowledge=reads(old)) == Place(None)


def test_room_that_is_reserved_is_not_given_to_others() -> None:
    cluster = Cluster(a=100, b=100, c=100)
    cluster.lay(A, 100)
    cluster.lay(C, 40)
    assert cluster.place(A, 50, knowledge=reserves({B: 30})) == Place(B)
    assert cluster.place(A, 50, knowledge=reserves({B: 45})) == Place(C)
    assert cluster.place(A, 50, OLD, knowledge=reserves({B: 60, C: 60})) == Place(None)


def test_a_reservation_keeps_out_what_is_pushed_away_too() -> None:
    cluster = Cluster(a=100, b=0, c=100)
    lent = cluster.lay(A, 60, owner=B)
    knowledge = reserves({C: 50})
    assert cluster.place(A, 50, knowledge=knowledge) == Place(A, (Eviction(lent, None),))


def test_a_reservation_does_not_keep_a_node_out_of_its_own_pool() -> None:
    cluster = Cluster(a=100, b=100)
    assert cluster.place(A, 50, knowledge=reserves({A: 100})) == Place(A)


# Sizes


@pytest.mark.parametrize("rdd", [NEW, None])
def test_what_is_larger_than_every_pool_goes_nowhere(rdd: RddId | None) -> None:
    cluster = Cluster(a=100, b=100)
    cluster.lay(A, 100, owner=B)
    assert cluster.place(A, 101, rdd) == Place(None)


def test_what_is_larger_than_the_own_pool_goes_into_a_larger_one() -> None:
    cluster = Cluster(a=10, b=100)
    cluster.lay(A, 10, rdd=OLD)
    assert cluster.place(A, 100) == Place(B)


def test_a_node_without_a_pool_uses_those_of_others() -> None:
    cluster = Cluster(a=0, b=100)
    assert cluster.place(A, 50) == Place(B)
    assert cluster.place(A, 50, rdd=None) == Place(None)


def test_a_cluster_without_pools_takes_nothing() -> None:
    assert Cluster(a=0, b=0).place(A, 1) == Place(None)
    assert Cluster(a=0).place(A, 1) == Place(None)
    assert Cluster(a=0).place(A, 0) == Place(A)


# Pools that take nothing


def test_a_node_that_leaves_takes_nothing() -> None:
    cluster = Cluster(a=100, b=100, c=200)
    cluster.lay(A, 100)
    leaving = cluster.ledger.pools[C]
    leaving.leaves, leaving.lends = True, False
    assert cluster.place(A, 50) == Place(B)
    assert cluster.place(C, 50) == Place(B)


def test_a_node_that_leaves_takes_back_nothing_that_is_its_own() -> None:
    cluster = Cluster(a=100, b=100, c=50)
    lent = cluster.lay(A, 60, owner=B)
    leaving = cluster.ledger.pools[B]
    leaving.leaves, leaving.lends = True, False
    assert cluster.place(A, 50) == Place(A, (Eviction(lent, None),))


def test_the_drivers_pool_takes_nothing_of_others() -> None:
    cluster = Cluster(a=100)
    cluster.ledger.join(DRIVER_NODE, 1000, lends=False)
    cluster.lay(A, 100, rdd=NEW)
    assert cluster.place(A, 50) == Place(None)
    assert cluster.place(DRIVER_NODE, 50, rdd=None) == Place(DRIVER_NODE)


def test_room_that_a_writer_waits_for_is_given_to_nobody_else() -> None:
    cluster = Cluster(a=100, b=100)
    cluster.lay(A, 100)
    cluster.ledger.pools[B].promised_bytes = 60
    assert cluster.place(A, 50, OLD) == Place(None)
    assert cluster.place(A, 40, OLD) == Place(B)
