"""Packed records come back as they were, with the extension and without; they are sorted and dealt
as the interpreter does it."""

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pyrite.blocks.codec import CorruptBlock, Encoder, decode_frames, encode, open_frames
from pyrite.bounded import recordsort
from pyrite.bounded.recordranges import DealtRecords
from pyrite.bounded.recordsort import merged, sort_records
from pyrite.bounded.space import Space
from pyrite.machine import records
from pyrite.machine._rows import RecordLog, deal_records, pack_records, unpack_records
from pyrite.machine.framerows import AnyFrame, FrameRows
from pyrite.machine.packed import BadLayout
from pyrite.machine.recordkeys import LONGEST, KeySpan, span_of
from pyrite.machine.records import PackedRecords, RecordRows, packed_records

FIRST = 2
ALIKE = [b"%07d" % (number % 50) for number in range(300)]
VARIOUS = [b"ab\0\xff"[number % 4 :] * (number % 5) + b"%d" % number for number in range(300)]
WORLDS = {
    "one size": ALIKE,
    "sizes": VARIOUS,
    "empty": [b""] * 100,
    "first bytes": [b"", b"a"] * 90,
}


def frame_of(rows: list[bytes]) -> PackedRecords:
    packed = packed_records(rows)
    assert packed is not None
    return packed


@pytest.fixture(params=["native", "pure"])
def unpacking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(records, "_native", lambda: None)


@pytest.mark.parametrize("kind", ["native", "pure"])
@pytest.mark.parametrize("name", WORLDS)
def test_records_come_back(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = WORLDS[name]
    frame = b"".join(encode(rows))
    assert frame[:1] == b"r"
    if kind == "pure":
        monkeypatch.setattr(records, "_native", lambda: None)
    made = list(decode_frames(memoryview(b"x" + frame)[1:]))
    assert made == [rows]
    assert {type(row) for row in made[0]} == {bytes}
    (opened,) = open_frames(frame)
    assert isinstance(opened, PackedRecords)
    assert len(opened) == len(rows)


class Bytes(bytes):
    """Bytes that are more than bytes."""


@pytest.mark.parametrize("odd", ["text", None, bytearray(b"a"), Bytes(b"a"), 5])
def test_other_rows_are_pickled(odd: Any) -> None:
    rows = [*ALIKE, odd]
    frame = b"".join(Encoder().encode_many(rows))
    assert frame[:1] == b"p"
    (made,) = decode_frames(frame)
    assert made == rows
    assert type(made[-1]) is type(odd)


def test_rows_that_are_one_object_are_not_copied() -> None:
    assert packed_records([b"x" * 1000] * 100) is None
    assert len(b"".join(encode([b"x" * 1000] * 100))) < 3000


def test_long_rows_are_referred_to() -> None:
    assert packed_records([b"%d" % number * 999 for number in range(100)]) is None


def test_spoilt_frames_are_lost_blocks() -> None:
    random = Random(5)
    for rows in WORLDS.values():
        frame = bytearray(b"".join(encode(rows)))
        end = 16 + int.from_bytes(frame[8:16], "little")
        for _ in range(800):
            spoilt = bytearray(frame)
            for _ in range(random.randrange(1, 4)):
                spoilt[random.randrange(len(spoilt))] = random.randrange(256)
            if spoilt[:1] + spoilt[4:end] == frame[:1] + frame[4:end]:
                continue
            with pytest.raises(CorruptBlock):
                list(decode_frames(bytes(spoilt)))


@pytest.mark.usefixtures("unpacking")
def test_sealed_nonsense_is_a_lost_block() -> None:
    from pyrite.blocks import codec

    random = Random(6)
    wholes = [b"".join(encode(rows))[16:] for rows in WORLDS.values()]
    for _ in range(3000):
        payload = bytearray(random.choice([*wholes, random.randbytes(random.randrange(40))]))
        for _ in range(random.randrange(1, 4)):
            if payload:
                payload[random.randrange(min(len(payload), 40))] = random.choice([0, 1, 7, 255])
        frame = b"".join(codec._seal(b"r", [bytes(payload[: random.randrange(3000)])]))
        try:
            for batch in decode_frames(frame):
                assert {type(row) for row in batch} <= {bytes}
        except CorruptBlock:
            continue


@pytest.mark.parametrize("sizes", [0, -1, 3, b"\1\0\0", b"\5\0\0\0", b"\1\0\0\0" * 9, 2**70])
def test_sizes_of_other_records_are_refused(sizes: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        unpack_records(sizes, b"abcd")
    with pytest.raises((ValueError, OverflowError)):
        RecordLog().add(sizes, b"abcd")
    if sizes != 2**70:
        with pytest.raises(BadLayout):
            PackedRecords(sizes, b"abcd").check()


FROM, TO = 3, 5


def own_part(row: bytes) -> bytes:
    return row[FROM:][: TO - FROM]


PIECES: dict[str, tuple[Callable[[bytes], Any] | None, KeySpan]] = {
    "itself": (None, KeySpan(0, LONGEST)),
    "named": (lambda row: row, KeySpan(0, LONGEST)),
    "from the start": (lambda row: row[:FIRST], KeySpan(0, FIRST)),
    "to the end": (lambda row: row[FIRST:], KeySpan(FIRST, LONGEST)),
    "of a piece": (own_part, KeySpan(3, 5)),
    "nothing": (lambda row: row[5:3], KeySpan(5, 3)),
}
OTHER_KEYS: dict[str, Callable[[Any], Any]] = {
    "a byte": lambda row: row[0],
    "from the end": lambda row: row[-3:],
    "with a step": lambda row: row[::2],
    "its length": len,
    "a tuple": lambda row: (row[:2],),
    "one of two": lambda row: row[:2] if row else row[2:],
    "a type": lambda row: row[:2] if isinstance(row, bytes) else row[2:],
    "comparison": lambda row: row[:2] if row == b"a" else row[2:],
    "a method": lambda row: row.lower(),
    "a constant": lambda row: b"a",
    "sum": lambda row: row[:2] + row[2:],
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_records_are_understood(name: str) -> None:
    key, span = PIECES[name]
    found = span_of(key)
    assert found == span
    for row in (key and VARIOUS) or []:
        assert key is not None
        assert row[found.first : found.last] == key(row)


@pytest.mark.parametrize("name", OTHER_KEYS)
def test_other_keys_are_left_to_python(name: str) -> None:
    assert span_of(OTHER_KEYS[name]) is None


def random_records(random: Random, count: int) -> list[bytes]:
    alphabet = random.choice([b"ab", b"\0\xff", bytes(range(256)), b"a"])
    longest = random.choice([3, 8, 20])
    before = random.choice([b"", b"that all have "])
    sizes = random.choice([range(longest), range(12, 13)])
    return [before + bytes(random.choices(alphabet, k=random.choice(sizes))) for _ in range(count)]


def framed(random: Random, rows: list[bytes]) -> Iterator[AnyFrame]:
    while rows:
        cut = random.randrange(1, 200)
        yield frame_of(rows[:cut])
        rows = rows[cut:]


class Tight(Space):
    """Says every now and then that memory is short."""

    random = Random(3)
    often = 0.0

    def over(self) -> bool:
        super().over()
        self.stride_rows = 100
        return self.random.random() < self.often


@pytest.mark.parametrize("often", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("seed", range(12))
def test_records_are_in_the_order_of_sorted(seed: int, often: float, tmp_path: Path) -> None:
    random = Random(seed)
    rows = random_records(random, random.choice([1, 5000]))
    first, reverse = random.choice([0, 2]), random.random() < 0.5
    span = KeySpan(first, random.choice([first + 1, first + 9, LONGEST]))
    space = Tight(1 << 40, str(tmp_path))
    space.often, space.stride_rows = often, 100

    def key(row: bytes) -> bytes:
        return row[span.first : span.last]

    # Each with its number, which no key reaches: equal ones are told apart.
    numbered = [b"%s|%d" % (row.ljust(30), number) for number, row in enumerate(rows)]
    span = KeySpan(span.first, min(span.last, 30))
    made = list(sort_records(framed(random, numbered), key, span, reverse, space))
    assert made == sorted(numbered, key=key, reverse=reverse)
    plain = list(sort_records(framed(random, rows), key, span, reverse, space))
    assert plain == sorted(rows, key=key, reverse=reverse)
    assert bool(space.spilled_bytes) == (often > 0 and len(rows) > 1)
    space.close()


def test_many_runs_are_merged_in_passes(tmp_path: Path) -> None:
    random = Random(1)
    rows = random_records(random, 9000)
    space = Tight(1 << 40, str(tmp_path))
    space.often, space.stride_rows = 1.0, 1
    frames = (frame_of(rows[start : start + 20]) for start in range(0, len(rows), 20))
    span = KeySpan(0, 3)
    made = list(sort_records(frames, lambda row: row[:3], span, False, space))
    assert made == sorted(rows, key=lambda row: row[:3])
    space.close()


@pytest.mark.parametrize("often", [0.0, 0.5])
def test_a_frame_of_other_rows_leaves_all_to_python(often: float, tmp_path: Path) -> None:
    random = Random(2)
    rows: list[Any] = random_records(random, 3000)
    odd = [bytearray(row) for row in rows[:500]]
    space = Tight(1 << 40, str(tmp_path))
    space.often, space.stride_rows = often, 100
    span = KeySpan(0, 3)

    def frames() -> Iterator[AnyFrame]:
        yield from framed(random, rows[:2000])
        yield odd
        yield from framed(random, rows[2000:])

    made = list(sort_records(frames(), lambda row: row[:3], span, True, space))
    wanted = sorted([*rows[:2000], *odd, *rows[2000:]], key=lambda row: row[:3], reverse=True)
    assert made == wanted
    assert list(map(type, made)) == list(map(type, wanted))
    with pytest.raises(TypeError):
        mixed = iter([*framed(random, rows), ["text"]])
        list(sort_records(mixed, lambda row: row[:3], span, False, space))
    space.close()


def test_a_few_records_that_were_pickled_are_sorted_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = random_records(Random(3), 3000)
    space = Tight(1 << 40, str(tmp_path))
    frames: list[AnyFrame] = [frame_of(rows[:1500]), [], rows[1500:1510], frame_of(rows[1510:])]
    # Nothing is left to the interpreter's sort.
    monkeypatch.delattr(recordsort, "sort_rows")
    made = list(sort_records(iter(frames), lambda row: row[:3], KeySpan(0, 3), False, space))
    assert made == sorted(rows, key=lambda row: row[:3])
    space.close()


@pytest.mark.parametrize("size", [50, 130])
def test_map_outputs_of_records_are_one_frame(size: int) -> None:
    rows = [Random(number).randbytes(size) for number in range(5000)]
    [frame] = open_frames(b"".join(Encoder().encode_many(rows)))
    assert isinstance(frame, PackedRecords) and frame.rows() == rows


def test_runs_are_merged_in_their_order() -> None:
    runs = [[b"aa1", b"ab1", b"ab2"], [b"aa2", b"ab3"], [b"ab4", b"ac1"], []]
    frames = [iter([frame_of([row]) for row in run]) for run in runs]
    logs = merged(frames, (0, 2, False))
    made = [row for log in logs for row in log.rows(0, len(log))]
    assert made == [b"aa1", b"aa2", b"ab1", b"ab2", b"ab3", b"ab4", b"ac1"]


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_records_fall_into_the_ranges_of_bisect(seed: int, ascending: bool, tmp_path: Path) -> None:
    random = Random(seed)
    alphabet = random.choice([b"ab", bytes(range(256))])
    rows = [bytes(random.choices(alphabet, k=11)) for _ in range(5000)]
    span = KeySpan(1, random.choice([3, 10, LONGEST]))
    keys = [row[span.first : span.last] for row in rows]
    bounds = sorted(random.choices([*keys, b"", b"\xff" * 12], k=random.choice([1, 7, 300])))
    wanted: list[list[bytes]] = [[] for _ in range(len(bounds) + 1)]
    for row, key in zip(rows, keys, strict=True):
        place = bisect_left(bounds, key)
        wanted[place if ascending else len(bounds) - place].append(row)
    data = b"".join(rows)
    source = RecordRows(lambda size: iter([data[:1100], data[1100:]]), 11, 1 << 20)
    dealt = DealtRecords(source, span, bounds, ascending, Space(1 << 40, str(tmp_path)))
    made: list[list[bytes]] = [[] for _ in wanted]
    for parts in dealt.deal(len(wanted), 1000):
        for part, packed in zip(made, parts, strict=True):
            part += packed.rows()
    assert made == wanted


def test_rows_of_frames_can_be_had_packed() -> None:
    rows = FrameRows(iter([frame_of(ALIKE), VARIOUS, frame_of(VARIOUS)]))
    assert [next(rows) for _ in range(5)] == ALIKE[:5]
    assert list(rows.rest()) == [ALIKE[5:], VARIOUS, VARIOUS]
    rows = FrameRows(iter([frame_of(ALIKE), frame_of(VARIOUS)]))
    kinds = [type(each) for each in rows.rest_with_records()]
    assert kinds == [PackedRecords, PackedRecords]


def test_wrong_arguments_are_refused() -> None:
    log = RecordLog()
    assert log.add(2, b"abcd")
    with pytest.raises(ValueError):
        log.sort(-1, 2, False)
    with pytest.raises(IndexError):
        log.rows(3, 2)
    with pytest.raises(IndexError):
        log.key(2)
    with pytest.raises(IndexError):
        log.packed(-1, 2)
    assert not log.take(log, 0, 2)
    with pytest.raises(TypeError):
        deal_records(2, b"abcd", 0, 1, ["a"], True)  # type: ignore[list-item]
    with pytest.raises(ValueError):
        deal_records(3, b"abcd", 0, 1, [b"a"], True)
    with pytest.raises(TypeError):
        pack_records((b"a",), 9)  # type: ignore[arg-type]
    assert struct.unpack("<2I", pack_records([b"", b"a"], 9)[0]) == (0, 1)  # type: ignore[index]
