"""Headers say what they mean, and nothing else is taken for one."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.blocks.names import fetched_name, moved_name, segment_name
from pyrite.ids import DRIVER, ExecutorId, Medium
from pyrite.remote.protocol import (
    MAGIC,
    MOST_BYTES,
    MOST_PARTS,
    REPLY,
    REQUEST,
    Kind,
    Malformed,
    Reason,
    Reply,
    Request,
    Status,
    is_segment,
    pack_parts,
    pack_reply,
    pack_request,
    unpack_parts,
    unpack_reply,
    unpack_request,
)

SIZES = st.integers(0, MOST_BYTES)
MEDIA = st.sampled_from(get_args(Medium))
NAMES = st.from_regex(r"(driver|e[0-9]{1,9}|fetched|moved)-[0-9]{1,20}", fullmatch=True)


@given(st.sampled_from([Kind.READ, Kind.WRITE]), NAMES, SIZES, SIZES, MEDIA, SIZES)
def test_requests_arrive_as_they_were(
    kind: Kind, name: str, offset: int, length: int, medium: Medium, total: int
) -> None:
    header = pack_request(kind, name, offset, length, medium, total)
    assert unpack_request(header) == Request(kind, name, offset, length, medium, total)


@given(st.sets(st.integers(0, (1 << 32) - 1), min_size=1), NAMES, SIZES, SIZES, MEDIA)
def test_parts_to_be_gathered_arrive_as_they_were(
    parts: set[int], name: str, offset: int, length: int, medium: Medium
) -> None:
    header = pack_request(Kind.GATHER, name, offset, length, medium, len(parts))
    request = Request(Kind.GATHER, name, offset, length, medium, len(parts))
    assert unpack_request(header) == request
    assert unpack_parts(pack_parts(sorted(parts))) == sorted(parts)


@pytest.mark.parametrize("parts", [[1, 1], [0, 2, 1]])
def test_numbers_of_parts_that_do_not_ascend(parts: list[int]) -> None:
    with pytest.raises(Malformed, match="ascend"):
        unpack_parts(pack_parts(parts))


@pytest.mark.parametrize("count", [0, MOST_PARTS + 1])
def test_a_server_takes_no_other_number_of_parts(count: int) -> None:
    with pytest.raises(Malformed, match="number of parts"):
        unpack_request(pack_request(Kind.GATHER, "e0-1", 0, 0, total=count))
    with pytest.raises(ValueError, match="at once"):
        pack_parts(range(count))


@given(st.sampled_from(Status), SIZES, st.sampled_from(Reason))
def test_replies_arrive_as_they_were(status: Status, length: int, reason: Reason) -> None:
    assert unpack_reply(pack_reply(status, length, reason)) == Reply(status, reason, length)


TRICKS = [
    b"",
    b"e0",
    b"e0-",
    b"-1",
    b"--1",
    b"m-e0-1",
    b"spill-12-34",
    b"cancel-1",
    b"lock",
    b"e0-1\n",
    b"e0-1/",
    b"../../etc/passwd-1",
    b"../e0-1",
    b"/etc/passwd",
    b"e0-1\0e0-2",
    b"\xc3\xa9-1",
    b"e0-\xd9\xa1",
    b"e" * 64 + b"-1",
]


def test_all_names_that_are_made_are_taken() -> None:
    for number in 0, 7, 10**12:
        writers = [segment_name(writer, number) for writer in (DRIVER, ExecutorId(3))]
        for name in [*writers, fetched_name(number), moved_name(number)]:
            assert is_segment(name.encode())


@pytest.mark.parametrize("name", TRICKS)
def test_only_names_of_segments_are_taken(name: bytes) -> None:
    assert not is_segment(name)
    with pytest.raises(Malformed):
        unpack_request(REQUEST.pack(MAGIC, Kind.READ, 1, 0, 1, 0, name))


@pytest.mark.parametrize("sizes", [(MOST_BYTES + 1, 0, 0), (0, 1 << 63, 0), (0, 0, MOST_BYTES + 1)])
def test_sizes_beyond_reason_are_not_taken(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(Malformed):
        unpack_request(REQUEST.pack(MAGIC, Kind.READ, 1, *sizes, b"e0-1"))


@pytest.mark.parametrize("kind", [Kind.READ, Kind.WRITE, Kind.GATHER])
@pytest.mark.parametrize("medium", [0, 3, 255])
def test_only_memory_and_disk_are_taken(kind: Kind, medium: int) -> None:
    for good in 1, 2:
        unpack_request(REQUEST.pack(MAGIC, kind, good, 0, 1, 1, b"e0-1"))
    with pytest.raises(Malformed, match="neither memory nor disk"):
        unpack_request(REQUEST.pack(MAGIC, kind, medium, 0, 1, 1, b"e0-1"))


def test_requests_of_the_version_before_are_not_taken() -> None:
    request = pack_request(Kind.READ, "e0-1", 0, 1)
    with pytest.raises(Malformed, match="no request"):
        unpack_request(b"pyr1" + request[4:])


def test_a_client_does_not_send_what_would_be_refused() -> None:
    with pytest.raises(ValueError, match="no name of a segment"):
        pack_request(Kind.READ, "../secrets", 0, 1)
    with pytest.raises(ValueError, match="can't be meant"):
        pack_request(Kind.READ, "e0-1", -1, 1)
    with pytest.raises(ValueError, match="in memory or on disk"):
        pack_request(Kind.READ, "e0-1", 0, 1, "tape")  # type: ignore[arg-type]


@given(st.binary(min_size=REQUEST.size, max_size=REQUEST.size))
def test_noise_is_no_request(noise: bytes) -> None:
    with pytest.raises(Malformed):
        unpack_request(noise)


@pytest.mark.parametrize("header", [b"\0" * 16, REPLY.pack(MAGIC, 9, 0, 0)])
def test_noise_is_no_reply(header: bytes) -> None:
    with pytest.raises(Malformed):
        unpack_reply(header)
