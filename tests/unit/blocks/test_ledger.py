"""The ledger keeps account of every segment, and drops it exactly when nothing needs it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrite.blocks.ledger import Ledger
from pyrite.blocks.names import segment_name
from pyrite.blocks.pool import Content, Segment
from pyrite.ids import BlockRef, ExecutorId, NodeId, RddId

A, B = NodeId("a"), NodeId("b")
RDD = RddId(7)
E0, E1, E11 = ExecutorId(0), ExecutorId(1), ExecutorId(11)


def ledger_of(**capacities: int) -> Ledger:
    ledger = Ledger()
    for node, capacity in capacities.items():
        ledger.join(NodeId(node), capacity)
    return ledger


def ref_to(segment: Segment, offset: int = 0, length: int = 10) -> BlockRef:
    return BlockRef(segment.place, segment.name, offset, length)


def want(ledger: Ledger, writer: ExecutorId, number: int, size: int = 30) -> Segment:
    """The writer gets a segment for map outputs on the first node, in place of its last."""
    segment = Segment(segment_name(writer, number), A, A, size)
    ledger.grant(writer, segment, packs=True)
    return segment


def keep(ledger: Ledger, place: NodeId = A, owner: NodeId | None = None, size: int = 60) -> Segment:
    """A sealed segment with one kept block lies on a node."""
    number = len(ledger.segments) + 1
    writer = ExecutorId(100 + number)
    segment = Segment(segment_name(writer, 1), place, owner or place, size, kept=True)
    ledger.grant(writer, segment, packs=False)
    ledger.pin(ref_to(segment), writer, RDD)
    assert ledger.settle(writer) == []
    ledger.check()
    return segment


def quantities(ledger: Ledger, node: NodeId) -> tuple[int, int, int]:
    """What is used, of which its own, and what it has borrowed."""
    pool = ledger.pools[node]
    return pool.used_bytes, pool.own_bytes, pool.borrowed_bytes


class TestWriters:
    """What is granted to a writer stays until all its blocks are known."""

    def test_a_filled_segment_goes_once_all_its_blocks_are_known_and_none_lives(self) -> None:
        ledger = ledger_of(a=100)
        first, _, _ = (want(ledger, E0, number) for number in (1, 2, 3))
        names = {"e0-1", "e0-2", "e0-3"}
        assert set(ledger.segments) == names, "who knows what lies there"
        ledger.pin(ref_to(first), E0)
        assert ledger.settle(E0) == [(A, "e0-2")]
        assert ledger.release(ref_to(first)) == [(A, "e0-1")]
        assert ledger.settle(E0) == [], "the last one is still written to"

    def test_a_sealed_segment_lives_as_long_as_its_blocks(self) -> None:
        ledger = ledger_of(a=100)
        segment = want(ledger, E0, 1)
        ledger.pin(ref_to(segment), E0)
        ledger.pin(ref_to(segment, 64), E0)
        assert ledger.seal(E0) == []
        assert ledger.release(ref_to(segment)) == []
        assert ledger.release(ref_to(segment, 64)) == [(A, segment.name)]
        assert quantities(ledger, A) == (0, 0, 0)

    def test_an_open_segment_stays_although_its_blocks_are_gone(self) -> None:
        ledger = ledger_of(a=100)
        segment = want(ledger, E0, 1)
        ledger.pin(ref_to(segment), E0)
        assert ledger.release(ref_to(segment)) == []
        assert ledger.seal(E0) == [(A, segment.name)]

    def test_kept_and_other_blocks_have_an_open_segment_each(self) -> None:
        ledger = ledger_of(a=100)
        outputs = want(ledger, E0, 1)
        pack = Segment("e0-2", A, A, 10, kept=True)
        ledger.grant(E0, pack, packs=True)
        assert ledger.writers[E0].open == {False: outputs, True: pack}
        ledger.fill(E0, kept=True)
        assert ledger.settle(E0) == [(A, "e0-2")]
        assert ledger.writers[E0].open == {False: outputs}

    def test_a_segment_that_is_not_packed_is_known_with_the_task(self) -> None:
        ledger = ledger_of(a=100)
        ledger.grant(E0, Segment("e0-1", A, A, 10, kept=True), packs=False)
        assert ledger.settle(E0) == [(A, "e0-1")]
        assert ledger.writers == {}

    def test_those_that_a_writer_made_on_a_node_are_found(self) -> None:
        ledger = ledger_of(a=100, b=100)
        want(ledger, E1, 1)
        want(ledger, E11, 1)
        ledger.grant(E1, Segment("e1-2", B, A, 10, kept=True), packs=False)
        ledger.pin(BlockRef(A, "e1-3", 0, 5, "disk"), E1)
        assert ledger.written_by(A, E1) == ("e1-1", "e1-3")
        assert ledger.written_by(B, E1) == ("e1-2",)


class TestBlocks:
    """A segment lives as long as a block in it, or one who reads it."""

    def test_blocks_on_disk_take_no_room(self) -> None:
        ledger = ledger_of(a=0)
        ref = BlockRef(A, "e0-1", 0, 1000, "disk")
        ledger.pin(ref, E0)
        assert quantities(ledger, A) == (0, 0, 0)
        assert ledger.release(ref) == [(A, "e0-1")]

    def test_releasing_what_is_not_known_does_nothing(self) -> None:
        ledger = ledger_of(a=0)
        assert ledger.release(BlockRef(A, "x-1", 0, 1)) == []
        assert ledger.end_use("x-1") == []

    def test_a_block_on_a_node_that_has_gone_is_not_known(self) -> None:
        ledger = ledger_of(a=0)
        ledger.pin(BlockRef(B, "e0-1", 0, 1, "disk"), E0)
        assert ledger.segments == {}

    def test_the_bytes_of_each_rdd_are_known(self) -> None:
        ledger = ledger_of(a=100)
        segment = keep(ledger)
        ledger.pin(ref_to(segment, 64, 7), E0, RddId(8))
        ledger.pin(ref_to(segment, 128, 3), E0, RddId(8))
        assert segment.rdds == {RDD: Content(1, 10), 8: Content(2, 10)}
        assert segment.kept_bytes == 20
        assert ledger.release(ref_to(segment, 64, 7), RddId(8)) == []
        assert ledger.release(ref_to(segment), RDD) == []
        assert segment.rdds == {8: Content(1, 3)}

    def test_a_block_without_bytes_lives_and_goes_like_others(self) -> None:
        ledger = ledger_of(a=100)
        segment = keep(ledger)
        empty = ref_to(segment, 64, 0)
        ledger.pin(empty, E0, RDD)
        assert ledger.release(ref_to(segment), RDD) == []
        ledger.check()
        assert ledger.release(empty, RDD) == [(A, segment.name)]

    def test_a_block_is_held_while_its_segment_is(self) -> None:
        ledger = ledger_of(a=100)
        segment = keep(ledger)
        on_disk = BlockRef(A, "e0-1", 0, 5, "disk")
        assert ledger.holds(ref_to(segment)) and ledger.holds(on_disk)
        ledger.lose(A)
        ledger.join(A, 100)
        assert not ledger.holds(ref_to(segment)), "the node is back without it"
        assert not ledger.holds(BlockRef(B, "e0-1", 0, 5, "disk"))

    def test_a_reader_delays_the_drop(self) -> None:
        ledger = ledger_of(a=100)
        segment = keep(ledger)
        ledger.use(segment.name)
        ledger.use(segment.name)
        assert ledger.release(ref_to(segment), RDD) == []
        assert ledger.end_use(segment.name) == []
        ledger.check()
        assert quantities(ledger, A) == (60, 60, 0)
        assert ledger.end_use(segment.name) == [(A, segment.name)]
        assert quantities(ledger, A) == (0, 0, 0)


class TestOwners:
    """What a node has laid into the pools of others counts as borrowed."""

    def test_lent_is_the_ones_and_borrowed_the_others(self) -> None:
        ledger = ledger_of(a=100, b=100)
        keep(ledger, A, owner=B)
        assert quantities(ledger, A) == (60, 0, 0)
        assert quantities(ledger, B) == (0, 0, 60)
        assert ledger.pools[B].footprint_bytes == 60

    def test_an_owner_that_comes_back_has_borrowed_what_still_lies_with_others(self) -> None:
        ledger = ledger_of(a=100, b=100)
        segment = keep(ledger, A, owner=B)
        keep(ledger, A, owner=B, size=20)
        assert ledger.lose(B) == []
        assert ledger.absent == {B: 80}
        assert ledger.release(ref_to(segment), RDD) == [(A, segment.name)]
        assert ledger.absent == {B: 20}
        ledger.join(B, 100)
        assert (quantities(ledger, B), ledger.absent) == ((0, 0, 20), {})
        ledger.check()

    def test_nothing_is_remembered_of_an_owner_that_has_gone_for_good(self) -> None:
        ledger = ledger_of(a=100, b=100)
        segment = keep(ledger, A, owner=B)
        ledger.lose(B)
        assert ledger.release(ref_to(segment), RDD) == [(A, segment.name)]
        assert ledger.absent == {}

    def test_a_lender_that_goes_is_owed_nothing(self) -> None:
        ledger = ledger_of(a=100, b=100)
        keep(ledger, A, owner=B)
        assert ledger.lose(A) == []
        assert quantities(ledger, B) == (0, 0, 0)
        ledger.check()

    def test_a_lost_node_takes_open_segments_with_it(self) -> None:
        ledger = ledger_of(a=100, b=100)
        want(ledger, E0, 1)
        ledger.grant(E0, Segment("e0-2", B, A, 10, kept=True), packs=False)
        ledger.lose(A)
        ledger.check()
        assert list(ledger.segments) == ["e0-2"]
        assert ledger.seal(E0) == [(B, "e0-2")]

    def test_what_is_written_to_a_node_that_is_back_is_dropped_there(self) -> None:
        ledger = ledger_of(a=100, b=100)
        ledger.grant(E0, Segment("e0-1", B, A, 10, kept=True), packs=False)
        ledger.lose(B)
        ledger.join(B, 100)
        ledger.check()
        assert ledger.settle(E0) == [(B, "e0-1")], "it may have been written after all"
        assert ledger.writers == {}

    def test_what_was_granted_on_a_node_that_stays_away_is_forgotten(self) -> None:
        ledger = ledger_of(a=100, b=100)
        ledger.grant(E0, Segment("e0-1", B, A, 10, kept=True), packs=False)
        ledger.lose(B)
        assert ledger.settle(E0) == []
        assert ledger.writers == {}


class TestMoves:
    """Both copies of a segment count until it is known where its blocks lie."""

    def test_room_is_taken_at_once(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        ledger.check()
        assert not source.movable and not move.target.movable
        assert quantities(ledger, A) == (60, 60, 60)
        assert quantities(ledger, B) == (60, 0, 0)
        assert ledger.pools[A].outgoing_bytes == 60

    def test_a_move_that_arrives_leaves_nothing_behind(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        assert ledger.arrive(move) == [(A, source.name)]
        ledger.check()
        assert quantities(ledger, A) == (0, 0, 60)
        assert (move.target.live, move.target.rdds) == (1, {RDD: Content(1, 10)})
        assert (move.target.owner, move.target.movable) == (A, True)
        assert ledger.moves == {} and ledger.pools[A].outgoing_bytes == 0

    def test_a_move_home_is_no_loan(self) -> None:
        ledger = ledger_of(a=100, b=100)
        move = ledger.move(keep(ledger, A, owner=B), B, "memory")
        ledger.arrive(move)
        assert quantities(ledger, A) == (0, 0, 0)
        assert quantities(ledger, B) == (60, 60, 0)

    def test_disk_takes_no_room(self) -> None:
        ledger = ledger_of(a=100, b=0)
        source = keep(ledger)
        move = ledger.move(source, B, "disk")
        assert move.target.medium == "disk"
        assert ledger.arrive(move) == [(A, source.name)]
        ledger.check()
        assert (quantities(ledger, A), quantities(ledger, B)) == ((0, 0, 0), (0, 0, 0))

    def test_who_reads_the_old_copy_keeps_it(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        ledger.use(source.name)
        assert ledger.arrive(move) == []
        ledger.check()
        assert not source.kept or source.live == 0
        assert ledger.end_use(source.name) == [(A, source.name)]

    def test_a_move_that_fails_leaves_all_as_it_was(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        assert ledger.fail(move) == [(B, move.target.name)]
        ledger.check()
        assert (quantities(ledger, A), quantities(ledger, B)) == ((60, 60, 0), (0, 0, 0))
        assert source.movable

    def test_what_is_released_on_its_way_is_dropped_when_it_arrives(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        assert ledger.release(ref_to(source), RDD) == [], "its bytes are being read"
        assert ledger.arrive(move) == [(A, source.name), (B, move.target.name)]
        assert ledger.segments == {}

    def test_what_is_released_on_its_way_is_dropped_when_it_does_not_arrive(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        move = ledger.move(source, B, "memory")
        ledger.release(ref_to(source), RDD)
        assert ledger.fail(move) == [(B, move.target.name), (A, source.name)]
        assert ledger.segments == {}

    def test_where_the_source_goes_the_half_of_a_copy_goes(self) -> None:
        ledger = ledger_of(a=100, b=100)
        move = ledger.move(keep(ledger), B, "memory")
        assert ledger.lose(A) == [(B, move.target.name)]
        ledger.check()
        assert ledger.segments == {} and ledger.absent == {}

    def test_where_the_target_goes_the_source_stays(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        ledger.move(source, B, "memory")
        assert ledger.lose(B) == []
        ledger.check()
        assert source.movable and quantities(ledger, A) == (60, 60, 0)

    def test_where_the_target_goes_what_nobody_needs_goes_too(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        ledger.move(source, B, "memory")
        ledger.release(ref_to(source), RDD)
        assert ledger.lose(B) == [(A, source.name)]
        assert ledger.segments == {}


kinds = st.sampled_from(["want", "pin", "release", "seal", "settle"])
actions = st.lists(st.tuples(kinds, st.integers(0, 3)), max_size=60)


@given(actions)
def test_the_ledger_agrees_with_itself_whatever_happens(steps: list[tuple[str, int]]) -> None:
    ledger = ledger_of(a=100)
    pinned: list[BlockRef] = []
    dropped: list[tuple[NodeId, str]] = []
    for number, (step, which) in enumerate(steps):
        owner = f"e{which}"
        granted = ledger.writers.get(owner)
        if step == "want" and ledger.pools[A].unused_bytes >= 40:
            want(ledger, owner, number, 40)
        elif step == "settle":
            dropped += ledger.settle(owner)
        elif step == "seal":
            dropped += ledger.seal(owner)
        elif step == "pin" and granted is not None and granted.open:
            ref = ref_to(granted.open[False], number, 1)
            ledger.pin(ref, E0)
            pinned.append(ref)
        elif step == "release" and pinned:
            dropped += ledger.release(pinned.pop(which % len(pinned)))
        ledger.check()
    for owner in list(ledger.writers):
        dropped += ledger.seal(owner)
    for ref in pinned:
        dropped += ledger.release(ref)
    assert ledger.segments == {} and ledger.writers == {} and ledger.pools[A].used_bytes == 0
    assert len(dropped) == len(set(dropped))


class TestMedia:
    """What lies on disk takes no room in a pool, whatever it is called."""

    def test_a_block_that_is_pinned_lies_where_its_ref_says(self) -> None:
        ledger = ledger_of(a=100)
        ledger.pin(BlockRef(A, "e0-1", 0, 50, "memory"), E0)
        ledger.pin(BlockRef(A, "e0-2", 0, 500, "disk"), E0)
        assert [each.medium for each in ledger.segments.values()] == ["memory", "disk"]
        assert quantities(ledger, A) == (50, 50, 0)
        ledger.check()

    def test_what_a_fetch_makes_is_known_as_such_and_has_no_writer(self) -> None:
        ledger = ledger_of(a=100)
        fetched = ledger.begin_fetched(A, "fetched-1", 40, "memory")
        copies = ledger.begin_fetched(A, "fetched-2", 400, "disk")
        assert fetched.fetched and copies.fetched and not want(ledger, E0, 1).fetched
        assert ledger.written_by(A, E0) == ("e0-1",)
        assert quantities(ledger, A) == (70, 70, 0)

    def test_what_is_moved_has_no_writer_any_more(self) -> None:
        ledger = ledger_of(a=100, b=100)
        source = keep(ledger)
        writer = source.writer
        assert writer is not None
        ledger.arrive(ledger.move(source, B, "disk"))
        assert ledger.written_by(A, writer) == ledger.written_by(B, writer) == ()
