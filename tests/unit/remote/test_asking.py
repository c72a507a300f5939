"""How far requests for parts run ahead of the replies."""

import pytest

from pyrite.remote.asking import WINDOW, WINDOW_BYTES, Asking, ByteRange, Enough
from pyrite.remote.protocol import MOST_BYTES, MOST_PARTS


def blocks_of(count: int, length: int = 1 << 20) -> list[ByteRange]:
    return [ByteRange("e0-1", number * length, length) for number in range(count)]


def converse(asking: Asking, size: int) -> tuple[int, int]:
    """Answers everything with so many bytes: how many answers, and the most on their way."""
    most = 0
    while True:
        asking.next_requests()
        most = max(most, asking.asked - asking.answered)
        if not asking.is_waiting:
            return asking.answered, most
        asking.came(asking.accept(size))


def test_a_window_of_requests_is_on_its_way() -> None:
    assert converse(Asking(blocks_of(100), [3], MOST_BYTES), 1000) == (100, WINDOW)


def test_a_request_is_a_header_and_the_parts() -> None:
    asking = Asking(blocks_of(2), [3, 4], MOST_BYTES)
    first, parts, second, same = asking.next_requests()
    assert first != second and parts == same and len(parts) == 8


def test_requests_with_many_parts_go_one_by_one() -> None:
    parts = range(WINDOW_BYTES)
    assert converse(Asking(blocks_of(5), parts, MOST_BYTES), 10) == (5, 1)


def test_no_more_is_asked_than_may_come() -> None:
    answered, most = converse(Asking(blocks_of(1000), [0], 1 << 20), 1 << 16)
    assert answered == 16 and most < 16


def test_before_anything_has_come_the_outputs_count_as_a_whole() -> None:
    assert len(Asking(blocks_of(9), [0], 5 << 20).next_requests()) == 2 * 4
    assert len(Asking(blocks_of(9), [0], 0).next_requests()) == 2


def test_one_comes_however_large() -> None:
    assert converse(Asking(blocks_of(9), [0], 0), 1 << 20) == (1, 1)


def test_the_first_is_not_longer_than_may_be_held() -> None:
    asking = Asking(blocks_of(9), [0], 5 << 20, longest_bytes=1000)
    asking.next_requests()
    with pytest.raises(Enough):
        asking.accept(1001)
    asking.came(asking.accept(1000))
    # Those behind it have to fit together.
    assert asking.accept(1001) == 1001


def test_far_more_than_expected_is_enough() -> None:
    asking = Asking(blocks_of(100), [0], 1 << 20)
    asking.next_requests()
    asking.came(10)
    asking.next_requests()
    assert asking.accept(1 << 20) == 1 << 20
    with pytest.raises(Enough):
        asking.accept(2 << 20)


def test_what_was_not_answered_is_asked_again() -> None:
    asking = Asking(blocks_of(3), [0], MOST_BYTES)
    requests = asking.next_requests()
    asking.came(10)
    asking.restart(1)
    assert not asking.is_waiting
    assert asking.next_requests() == requests[2:]


def test_more_parts_than_a_server_takes() -> None:
    for parts in range(0), range(MOST_PARTS + 1):
        with pytest.raises(ValueError, match="parts can't be had at once"):
            Asking(blocks_of(1), parts, MOST_BYTES)
