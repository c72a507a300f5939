"""The book of an exchange, by conversation."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.exchange.book import (
    PAGE_BYTES,
    BadRequest,
    ClientId,
    Command,
    Remove,
    SendAnswer,
    ShuffleBook,
    share,
)
from pyrite.ids import Medium

KB = 1 << 10
G1, G2, R, S, OWNER = map(ClientId, range(1, 6))


class Talk:
    """A book, and what clients say to it."""

    def __init__(self, capacity_bytes: int = 64 * KB, segment_bytes: int = 4 * KB) -> None:
        self.book = ShuffleBook(capacity_bytes, segment_bytes)
        self.commands: list[Command] = []

    def send(self, client: ClientId, *message: Any, now_s: float = 0.0) -> list[Any]:
        """The answer to the client itself; all commands are in `commands`."""
        self.commands = self.book.handle(client, list(message), now_s)
        self.book.check()
        return next(
            (c.message for c in self.commands if isinstance(c, SendAnswer) and c.client == client),
            [],
        )

    def removed(self) -> list[str]:
        return [name for c in self.commands if isinstance(c, Remove) for name in c.segments]

    def answers(self) -> dict[ClientId, list[Any]]:
        return {c.client: c.message for c in self.commands if isinstance(c, SendAnswer)}

    def register(self, maps: int, reducers: int) -> int:
        id: int = self.send(OWNER, "register", maps, reducers)[1]
        return id

    def put(
        self,
        client: ClientId,
        shuffle: int,
        map: int,
        *,
        block: tuple[str, int, int, Medium],
        checks: tuple[int, ...] = (1, 2),
        replace: bool = False,
    ) -> list[Any]:
        end = block[2]
        return self.send(client, "put", shuffle, map, list(block), [8, end], list(checks), replace)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_parts_are_found_where_they_were_put(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=3)
    talk.send(G1, "lease", 1, 4 * KB)
    message = ["put", id, 0, ["e1-1", 64, 21, "memory"], [3, 8, 21], [7, 0, 9], False]
    assert talk.send(G1, *message) == ["put", True]
    assert talk.send(R, "find", id, 0, 0, 0) == ["found", [["e1-1", 64, 3, 7, "memory"]]]
    assert talk.send(R, "find", id, 2, 0, 0) == ["found", [["e1-1", 72, 13, 9, "memory"]]]


def test_a_reducer_waits_for_the_map_that_is_next(talk: Talk) -> None:
    id = talk.register(maps=3, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    assert talk.send(R, "find", id, 1, 0, None) == []
    talk.put(G1, id, 1, block=("e1-1", 0, 20, "memory"))
    assert talk.answers() == {G1: ["put", True]}
    talk.put(G1, id, 0, block=("e1-1", 64, 20, "memory"))
    assert talk.answers()[R] == [
        "found",
        [["e1-1", 72, 12, 2, "memory"], ["e1-1", 8, 12, 2, "memory"]],
    ]
    assert talk.send(R, "find", id, 1, 2, None) == []


def test_who_waits_too_long_is_told_what_is_missing(talk: Talk) -> None:
    id = talk.register(maps=3, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    talk.put(G1, id, 1, block=("e1-1", 0, 20, "memory"))
    assert talk.send(R, "find", id, 1, 0, 5.0, now_s=10.0) == []
    assert talk.book.next_expiry_s() == 15.0
    assert talk.book.expire(14.9) == []
    [answer] = talk.book.expire(15.0)
    assert answer == SendAnswer(R, ["refused", "MapsMissing", id, 1, [0, 2]])
    assert talk.book.next_expiry_s() is None
    talk.book.check()


def test_who_would_not_wait_is_told_at_once(talk: Talk) -> None:
    id = talk.register(maps=2, reducers=2)
    assert talk.send(R, "find", id, 0, 0, 0) == ["refused", "MapsMissing", id, 0, [0, 1]]


def test_the_same_output_again_is_ignored(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    for client in (G1, G2):
        talk.send(client, "lease", 1, 4 * KB)
    assert talk.put(G1, id, 0, block=("e1-1", 0, 20, "memory")) == ["put", True]
    assert talk.put(G2, id, 0, block=("e2-1", 0, 20, "memory")) == ["put", False]
    assert talk.book.shuffles[id].outputs[0].block.segment == "e1-1"


def test_another_output_is_refused_unless_it_replaces(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    for client in (G1, G2):
        talk.send(client, "lease", 1, 4 * KB)
    talk.put(G1, id, 0, block=("e1-1", 0, 20, "memory"))
    message = talk.put(G2, id, 0, block=("e2-1", 0, 20, "memory"), checks=(1, 3))
    assert message == ["refused", "AlreadyPut", id, 0]
    talk.book.leave(G1)
    talk.put(G2, id, 0, block=("e2-1", 64, 30, "memory"), checks=(1, 3), replace=True)
    assert talk.removed() == ["e1-1"]
    assert talk.send(R, "sizes", id) == ["sizes", [8, 22]]


def test_a_lost_map_is_missing_once(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    talk.put(G1, id, 0, block=("e1-1", 0, 20, "memory"))
    assert talk.send(R, "lost", id, 0, 1, "e1-1", 8) == ["lost", True]
    assert talk.send(R, "missing", id) == ["missing", [0]]
    assert talk.send(R, "sizes", id) == ["sizes", [0, 0]]
    talk.put(G1, id, 0, block=("e1-1", 64, 20, "memory"))
    # A reader that found the first one reports late.
    assert talk.send(S, "lost", id, 0, 1, "e1-1", 8) == ["lost", False]
    assert talk.send(R, "missing", id) == ["missing", []]


def test_a_forgotten_shuffle_frees_its_segments_and_ends_waits(talk: Talk) -> None:
    id = talk.register(maps=2, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    talk.put(G1, id, 0, block=("e1-1", 0, 20, "memory"))
    talk.book.leave(G1)
    talk.send(R, "find", id, 0, 1, None)
    assert talk.send(OWNER, "forget", id) == ["forgotten"]
    assert talk.answers()[R] == ["refused", "UnknownShuffle", id]
    assert talk.removed() == ["e1-1"]
    assert talk.book.ledger.pools["exchange"].used_bytes == 0  # type: ignore[index]
    assert talk.send(OWNER, "forget", id) == ["forgotten"]
    assert talk.send(R, "missing", id) == ["refused", "UnknownShuffle", id]


def test_who_goes_takes_along_what_nobody_knows(talk: Talk) -> None:
    id = talk.register(maps=2, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    talk.put(G1, id, 0, block=("e1-1", 0, 20, "memory"))
    talk.send(G1, "lease", 2, 4 * KB)
    talk.send(G1, "spill", 3)
    [gone] = talk.book.leave(G1)
    assert gone == Remove(["e1-2", "e1-3"])
    talk.book.check()
    assert list(talk.book.ledger.segments) == ["e1-1"]


def test_a_full_pool_leases_nothing_and_disk_takes_it(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    assert talk.send(G1, "lease", 1, 65 * KB) == ["leased", 0]
    talk.send(G1, "spill", 2)
    assert talk.put(G1, id, 0, block=("e1-2", 0, 20, "disk")) == ["put", True]
    talk.send(OWNER, "forget", id)
    assert talk.removed() == ["e1-2"]


def test_a_file_on_disk_that_is_not_taken_goes(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    for client in (G1, G2):
        talk.send(client, "spill", 1)
        talk.put(client, id, 0, block=(f"e{client}-1", 0, 20, "disk"))
    assert talk.removed() == ["e2-1"]
    # Who failed to write one announces another.
    talk.send(G2, "spill", 2)
    talk.send(G2, "spill", 3)
    assert talk.removed() == ["e2-2"]


@pytest.mark.parametrize(
    "message",
    [
        ["nonsense"],
        ["register", 1, 0],
        ["register", 1, 10**9],
        ["lease", 1, 10],
        ["lease", -2, 10],
        ["lease", 2, -1],
        ["lease", "2/../x", 10],
        ["spill", -2],
        ["spill", "2"],
        ["put", 1, 0, ["e1-1", 0, 20, "memory"], [8, 20], [1, 2], 0],
        ["put", 1, 2, ["e1-1", 0, 20, "memory"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20, "memory"], [20], [1], False],
        ["put", 1, 0, ["e1-1", 0, 20, "memory"], [8, 21], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20, "memory"], [20, 8], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20, "memory"], [8, -1], [1, 2], False],
        ["put", 1, 0, ["e1-1", 4096, 20, "memory"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-2", 0, 20, "memory"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-2", 0, 20, "disk"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e2-1", 0, 20, "memory"], [8, 20], [1, 2], False],
        ["put", 1, 0, "e1-1", [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20, "tape"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, 20, "disk"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", -1, 20, "memory"], [8, 20], [1, 2], False],
        ["put", 1, 0, ["e1-1", 0, -20, "memory"], [0, 0], [1, 2], False],
        ["find", 1, 2, 0, None],
        ["find", 1, 0, 1, None],
        ["find", 1, 0, 0, -1],
        ["find", 1, 0, 0, math.inf],
        ["find", 1, 0, 0, math.nan],
        ["find", 1, 0, 0, "1"],
        ["find", 1, 0, 0, [1]],
        ["lost", 1, 0, 2, "e1-1", 0],
    ],
)
def test_bad_requests_change_nothing(talk: Talk, message: list[Any]) -> None:
    talk.register(maps=1, reducers=2)
    talk.send(G1, "lease", 1, 4 * KB)
    talk.send(G2, "lease", 1, 4 * KB)
    with pytest.raises(BadRequest):
        talk.send(G1, *message)
    talk.book.check()
    assert talk.send(G1, "missing", 1) == ["missing", [0]]


@pytest.mark.parametrize("wait_s", [3e6, 1.7e308, 10**400])
def test_who_would_wait_very_long_does_so(talk: Talk, wait_s: float) -> None:
    id = talk.register(maps=1, reducers=2)
    assert talk.send(R, "find", id, 0, 0, wait_s, now_s=10.0) == []
    assert talk.book.expire(3e6) == []
    expiry_s = talk.book.next_expiry_s()
    assert expiry_s is not None and math.isfinite(expiry_s)
    [answer] = talk.book.expire(expiry_s)
    assert isinstance(answer, SendAnswer) and answer.message[:2] == ["refused", "MapsMissing"]


def test_many_who_write_a_little_find_room() -> None:
    talk = Talk(capacity_bytes=64 << 20, segment_bytes=1 << 20)
    granted = [talk.send(ClientId(k), "lease", 1, 100)[1] for k in range(500)]
    assert granted[0] == 1 << 20
    assert 0 < granted[-1] < 1 << 20
    assert granted == sorted(granted, reverse=True)


def test_one_who_writes_much_has_few_segments() -> None:
    talk = Talk(capacity_bytes=64 << 20, segment_bytes=1 << 20)
    granted = [talk.send(G1, "lease", k, 100)[1] for k in range(100)]
    assert sum(granted) > 63 << 20


sizes = st.integers(0, 1 << 30)


@given(size=sizes, segment_bytes=sizes, unused_bytes=sizes, writers=st.integers(0, 1000))
def test_segments_shrink_with_the_room_for_them(
    size: int, segment_bytes: int, unused_bytes: int, writers: int
) -> None:
    granted = share(size, segment_bytes, unused_bytes, writers)
    shares = max(8, writers)
    if size > unused_bytes:
        assert granted == 0
    else:
        assert size <= granted <= unused_bytes
        # Nobody takes much more than it needs.
        assert granted <= max(size, segment_bytes, PAGE_BYTES)
        assert granted <= max(size, unused_bytes // shares, PAGE_BYTES)
        # And nobody takes less than it can have.
        assert granted >= min(segment_bytes, unused_bytes // shares)
        assert granted >= min(PAGE_BYTES, unused_bytes)


def test_who_waits_asks_nothing_else(talk: Talk) -> None:
    id = talk.register(maps=1, reducers=2)
    talk.send(R, "find", id, 0, 0, None)
    with pytest.raises(BadRequest):
        talk.send(R, "missing", id)
