"""The ledger grants up to its capacity and drops a segment exactly when nothing needs it."""

from hypothesis import given
from hypothesis import strategies as st

from pyrite.blocks.pool import Pool
from pyrite.ids import BlockRef, NodeId

NODE = NodeId("node-0")


def test_a_segment_is_granted_while_there_is_room() -> None:
    pool = Pool(100)
    assert pool.want("e0", "m-e0-1", 60)
    assert not pool.want("e1", "m-e1-1", 60)
    assert pool.want("e1", "m-e1-2", 40)
    assert pool.used_bytes == 100


def test_a_filled_segment_goes_once_all_its_blocks_are_known_and_none_lives() -> None:
    pool = Pool(100)
    pool.want("e0", "m-e0-1", 30)
    pool.want("e0", "m-e0-2", 30)
    pool.want("e0", "m-e0-3", 30)
    assert set(pool.segments) == {"m-e0-1", "m-e0-2", "m-e0-3"}, "who knows what lies there"
    ref = BlockRef(NODE, "m-e0-1", 0, 10)
    pool.pin(ref)
    assert pool.settle("e0") == ["m-e0-2"]
    assert pool.release(ref) == ["m-e0-1"]
    assert pool.settle("e0") == [], "the last one is still written to"


def test_a_sealed_segment_lives_as_long_as_its_blocks() -> None:
    pool = Pool(100)
    pool.want("e0", "m-e0-1", 60)
    first, second = BlockRef(NODE, "m-e0-1", 0, 10), BlockRef(NODE, "m-e0-1", 64, 10)
    pool.pin(first)
    pool.pin(second)
    assert pool.seal("e0") == []
    assert pool.release(first) == []
    assert pool.release(second) == ["m-e0-1"]
    assert pool.used_bytes == 0


def test_an_open_segment_stays_although_its_blocks_are_gone() -> None:
    pool = Pool(100)
    pool.want("e0", "m-e0-1", 60)
    ref = BlockRef(NODE, "m-e0-1", 0, 10)
    pool.pin(ref)
    assert pool.release(ref) == []
    assert pool.seal("e0") == ["m-e0-1"]


def test_blocks_on_disk_take_no_room() -> None:
    pool = Pool(0)
    ref = BlockRef(NODE, "d-e0-1", 0, 1000)
    pool.pin(ref)
    assert pool.used_bytes == 0
    assert pool.release(ref) == ["d-e0-1"]


def test_releasing_what_is_not_known_does_nothing() -> None:
    assert Pool(0).release(BlockRef(NODE, "m-x-1", 0, 1)) == []


kinds = st.sampled_from(["want", "pin", "release", "seal", "settle"])
actions = st.lists(st.tuples(kinds, st.integers(0, 3)), max_size=60)


@given(actions)
def test_the_ledger_agrees_with_itself_whatever_happens(steps: list[tuple[str, int]]) -> None:
    pool = Pool(100)
    pinned: list[BlockRef] = []
    dropped: list[str] = []
    for number, (step, which) in enumerate(steps):
        owner = f"e{which}"
        if step == "want":
            pool.want(owner, f"m-{owner}-{number}", 40)
        elif step == "settle":
            dropped += pool.settle(owner)
        elif step == "seal":
            dropped += pool.seal(owner)
        elif step == "pin" and owner in pool.open:
            ref = BlockRef(NODE, pool.open[owner], number, 1)
            pool.pin(ref)
            pinned.append(ref)
        elif step == "release" and pinned:
            dropped += pool.release(pinned.pop(which % len(pinned)))
        pool.check()
        assert pool.used_bytes <= 100
    for owner in dict.fromkeys([*pool.open, *pool.filled]):
        dropped += pool.seal(owner)
    for ref in pinned:
        dropped += pool.release(ref)
    assert pool.segments == {} and pool.used_bytes == 0
    assert len(dropped) == len(set(dropped))
