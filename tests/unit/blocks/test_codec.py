"""Every row comes back as it was written, or not at all."""

import enum
import math
import pickle
import subprocess
import sys
from array import array
from collections import namedtuple
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_frame import encode_bytes

from pyrite.blocks import codec
from pyrite.blocks.codec import (
    CorruptBlock,
    Encoder,
    decode,
    decode_frames,
    detached,
    encode,
    frame_size,
)

Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    pass


class Raw(bytes):
    pass


@dataclass(frozen=True)
class User:
    name: str


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True, 0.0 from -0.0, and a subclass from its base."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray | np.generic):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, set | frozenset):
        return bool(left == right) and set(map(type, left)) == set(map(type, right))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return math.copysign(1, left) == math.copysign(1, right) and (
            left == right or (left != left and right != right)
        )
    return bool(left == right)


hashables = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**300, max_value=2**310),
    st.text(st.characters()),
    st.just("\ud800 alone"),
    st.binary(),
    st.sampled_from([Colour.RED, Word("w"), Raw(b"r"), Point(1, 2), User("u"), np.int64(3)]),
)
leaves = st.one_of(
    hashables,
    st.floats(),
    st.just(-0.0),
    st.complex_numbers(allow_nan=False),
    st.builds(bytearray, st.binary()),
    st.builds(array, st.just("i"), st.lists(st.integers(0, 9))),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.lists(st.integers(0, 9)).map(np.array),
    st.just(datetime(2020, 1, 2)),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(hashables, inner),
        st.sets(hashables),
        st.frozensets(hashables),
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.lists(values, max_size=6))
def test_rows_come_back_with_their_exact_types(rows: list[Any]) -> None:
    frame = encode_bytes(rows)
    assert same(decode(frame), rows)
    assert len(frame) % 8 == 0
    assert len(frame) == frame_size(encode(rows))


@settings(max_examples=30)
@given(st.lists(st.lists(values, max_size=3), max_size=4))
def test_an_encoder_writes_frames_that_can_be_concatenated(batches: list[list[Any]]) -> None:
    encoder = Encoder()
    data = b"".join(b"".join(encoder.encode(rows)) for rows in batches)
    assert same(list(decode_frames(memoryview(data))), batches)


@pytest.mark.parametrize(
    ("row_bytes", "counts"),
    [
        (1, [4, 32, 256, 2048, 4096, 4096]),
        (4 << 10, [4, 32, 32, 32]),
        (1 << 20, [4, 2, 1, 1, 1]),
    ],
)
def test_batches_have_fewer_rows_where_they_are_large(row_bytes: int, counts: list[int]) -> None:
    rows = [b"x" * row_bytes + bytes(each % 2) for each in range(sum(counts))]
    batches = list(Encoder().batches(iter(rows)))
    assert [len(batch) for batch, _ in batches] == counts
    assert all(decode(b"".join(frame)) == batch for batch, frame in batches)


def test_frames_are_decoded_one_at_a_time() -> None:
    frames = decode_frames(memoryview(encode_bytes([1]) + b"no frame"))
    assert next(frames) == [1]
    with pytest.raises(CorruptBlock, match="8 bytes are left"):
        next(frames)


def test_a_large_array_is_neither_copied_nor_misaligned() -> None:
    big = np.arange(10_000, dtype=np.float64)
    buffers = encode([("a", big), ("b", big[:1000].copy())])
    assert any(isinstance(each, memoryview) and each.obj is big.data.obj for each in buffers)

    start = np.empty(frame_size(buffers) + 64, dtype=np.uint8)
    shift = -start.ctypes.data % 64
    frame = memoryview(start[shift : shift + frame_size(buffers)])
    frame[:] = b"".join(buffers)
    for _, decoded in decode(frame):
        assert np.shares_memory(decoded, start)
        assert decoded.ctypes.data % 64 == 0


def test_a_fortran_ordered_array_comes_back() -> None:
    grid = np.asfortranarray(np.arange(10_000.0).reshape(100, 100))
    (decoded,) = decode(encode_bytes([grid]))
    assert decoded.flags.f_contiguous
    assert (decoded == grid).all()


def test_strings_longer_than_a_pickle_frame_do_not_outlive_their_memory() -> None:
    rows = ["é" * 100_000, "x" * 100_000, "\ud800" * 70_000]
    buffers = encode([str(row) for row in rows])
    assert all(type(each) is bytes for each in buffers)
    assert decode(b"".join(buffers)) == rows


@pytest.mark.parametrize("wrap", [list, lambda rows: [rows]], ids=["rows", "one row"])
def test_a_long_list_that_all_rows_share_is_written_once(wrap: Any) -> None:
    shared = list(range(5_000))
    rows = wrap([(index, shared) for index in range(1000)])
    frame = encode_bytes(rows)
    assert len(frame) < 100_000
    assert decode(frame) == rows


def test_large_rows_that_share_nothing_come_back() -> None:
    rows = [(f"key {index}", [f"{index}-{each}" for each in range(50)]) for index in range(5000)]
    assert decode(encode_bytes(rows)) == rows


def test_a_list_within_itself_comes_back() -> None:
    knot: list[Any] = []
    knot.append(knot)
    ((decoded,),) = decode(encode_bytes([knot]))
    assert decoded[0] is decoded


def test_an_object_referred_to_twice_in_a_row_stays_one() -> None:
    user = User("u")
    ((first, second),) = decode(encode_bytes([(user, user)]))
    assert first is second


def test_every_changed_byte_of_header_and_payload_is_noticed() -> None:
    frame = encode_bytes([("some", "rows"), 12])
    payload_end = 16 + int.from_bytes(frame[8:16], "little")
    for position in [0, *range(4, payload_end)]:
        broken = bytearray(frame)
        broken[position] ^= 0x15
        with pytest.raises(CorruptBlock):
            decode(bytes(broken))


@pytest.mark.parametrize("cut", [1, 8, 20])
def test_a_frame_cut_short_or_too_long_is_refused(cut: int) -> None:
    frame = encode_bytes(["row"])
    with pytest.raises(CorruptBlock):
        decode(frame[:-cut])
    with pytest.raises(CorruptBlock, match="lies in a block"):
        decode(frame + bytes(cut))


FROM_MAIN = """
import sys
from pyrite.blocks.codec import Encoder, encode
class Mine:
    def __init__(self, x): self.x = x
rows = [(Mine(7), lambda v: v + 1, "plain")]
encoder = Encoder()
encoder.encode(rows)
again = b"".join(encoder.encode(rows))
assert len(again) == len(b"".join(encode(rows)))
sys.stdout.buffer.write(again)
"""


def test_what_main_defines_can_be_read_in_another_process() -> None:
    made = subprocess.run([sys.executable, "-c", FROM_MAIN], capture_output=True, check=True)
    ((mine, plus_one, plain),) = decode(made.stdout)
    assert (mine.x, plus_one(1), plain) == (7, 2, "plain")


def test_what_cannot_be_pickled_says_so() -> None:
    with pytest.raises((TypeError, pickle.PicklingError), match="generator"):
        encode([(each for each in "abc")])


def test_an_encoder_returns_to_plain_rows_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[Any]] = []
    plain = codec.pickle_plain

    def spy(rows: list[Any]) -> Any:
        tried.append(rows)
        return plain(rows)

    monkeypatch.setattr(codec, "pickle_plain", spy)
    encoder = Encoder()
    first, second, third = [[User("u")] * 100], [[2] * 100], [[3] * 100]
    encoder.encode(*first)
    for _ in range(64):
        encoder.encode([1] * 100)
    assert tried == first
    encoder.encode(*second)
    encoder.encode(*third)
    assert tried == [*first, *second, *third]


def test_a_frame_that_is_kept_does_not_change_with_its_rows() -> None:
    row = np.zeros(10_000)
    read_only = np.zeros(10_000)
    read_only.flags.writeable = False
    frame = detached(encode([row, read_only]))
    row += 1
    first, second = decode(b"".join(frame))
    assert not first.any() and not second.any()
    assert any(isinstance(each, memoryview) for each in frame), "what can't change is not copied"
