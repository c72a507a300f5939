"""Packed rows come back as they were, with the extension and without; corrupt ones are refused."""

import struct
from random import Random

import pytest

from pyrite.blocks.codec import CorruptBlock, decode_frames, encode_packed, frame_size
from pyrite.machine import packed
from pyrite.machine.packed import BadLayout, PackedRows, words_of

# Texts as values, too.
PAIRS = [(7, ("é", True, "")), (-7, ("", False, "a\0b"))]
PAIRS_LAYOUT = "(i(sbs))"
TEXTS = [("", 1), ("word", -2), ("Zoë", 3), ("\N{GRINNING FACE}\N{SNOWMAN}", 2**40)]
TEXT_LAYOUT = "(si)"
ROWS = [(1, (2.5, True)), (-(2**63), (float("inf"), False)), (2**63 - 1, (-0.0, True))]
LAYOUT = "(i(fb))"
WORDS = b"".join(struct.pack("<qdq", key, *state) for key, state in ROWS)


MANY = [(number % 300, (number - 70_000, number % 2 == 0)) for number in range(9000)]
MANY_LAYOUT = "(i(ib))"


def packed_many() -> PackedRows:
    words = b"".join(struct.pack("<qqq", key, *state) for key, state in MANY)
    return PackedRows(MANY_LAYOUT, words)


def packed_texts() -> PackedRows:
    words, heap = b"", b""
    for text, number in TEXTS:
        words += struct.pack("<IIq", len(heap), len(text.encode()), number)
        heap += text.encode()
    return PackedRows(TEXT_LAYOUT, words, heap)


def packed_pairs() -> PackedRows:
    words, heap = b"", b""
    for key, (first, flag, last) in PAIRS:
        words += struct.pack("<q", key)
        for text, more in ((first, struct.pack("<q", flag)), (last, b"")):
            words += struct.pack("<II", len(heap), len(text.encode())) + more
            heap += text.encode()
    return PackedRows(PAIRS_LAYOUT, words, heap)


@pytest.fixture(params=["native", "pure"])
def unpacking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(packed, "_native", lambda: None)
    elif packed._native() is None:
        pytest.skip("the extension is not built")


@pytest.mark.usefixtures("unpacking")
def test_rows_come_back() -> None:
    assert repr(PackedRows(LAYOUT, WORDS).rows()) == repr(ROWS)
    lists = PackedRows("[i(b)[f]]", struct.pack("<qqd", 4, 1, 0.5))
    assert lists.rows() == [[4, (True,), [0.5]]]


@pytest.mark.usefixtures("unpacking")
def test_texts_come_back() -> None:
    rows = packed_texts()
    assert rows.rows() == TEXTS
    assert rows.part(1, 3).rows() == TEXTS[1:3]
    frame = b"".join(encode_packed(rows))
    assert list(decode_frames(memoryview(b"x" + frame)[1:])) == [TEXTS]
    assert packed_pairs().rows() == PAIRS
    assert list(decode_frames(b"".join(encode_packed(packed_pairs())))) == [PAIRS]


@pytest.mark.usefixtures("unpacking")
@pytest.mark.parametrize(
    ("word", "heap"),
    [
        ((0, 2), b"a"),
        ((5, 0), b"a"),
        ((2**32 - 1, 2**32 - 1), b"abc"),
        ((0, 1), "é".encode()),
        ((1, 1), "é".encode()),
        ((0, 3), b"\xed\xa0\x80"),
        ((0, 1), b"\xff"),
    ],
)
def test_a_text_that_is_none_is_a_lost_block(word: tuple[int, int], heap: bytes) -> None:
    frame = encode_packed(PackedRows(TEXT_LAYOUT, struct.pack("<IIq", *word, 7), heap))
    with pytest.raises(CorruptBlock):
        list(decode_frames(b"".join(frame)))


@pytest.mark.usefixtures("unpacking")
def test_a_frame_need_not_lie_at_a_word() -> None:
    frame = b"".join(encode_packed(PackedRows(LAYOUT, WORDS)))
    shifted = memoryview(b"x" + frame)[1:]
    assert repr(list(decode_frames(shifted))) == repr([ROWS])


@pytest.mark.parametrize("layout", ["", "(", "(i", ")", "i)", "x", "(i]", "()", "i" * 2, "(" * 40])
def test_a_layout_of_nothing_is_refused(layout: str) -> None:
    with pytest.raises(BadLayout):
        words_of(layout)


def test_words_that_end_in_a_row_are_refused() -> None:
    with pytest.raises(BadLayout):
        PackedRows(LAYOUT, WORDS[:-8])


@pytest.mark.skipif(packed._native() is None, reason="only the extension narrows")
@pytest.mark.parametrize("kind", ["native", "pure"])
def test_small_ints_take_less_room(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = b"".join(encode_packed(packed_many()))
    assert len(frame) < 9000 * 6
    key, number = "<qq", 2**63 - 1
    spans = [0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**63]
    wide = []
    for span in spans:
        for least in (0, -5, -(2**63), number - min(span, number)):
            rows = [(1, least), (2, least + span if least + span <= number else least)] * 40
            words = b"".join(struct.pack(key, *row) for row in rows)
            wide.append((rows, b"".join(encode_packed(PackedRows("(ii)", words)))))
    if kind == "pure":
        monkeypatch.setattr(packed, "_native", lambda: None)
    assert list(decode_frames(frame)) == [MANY]
    for rows, encoded in wide:
        assert list(decode_frames(encoded)) == [rows]


@pytest.mark.usefixtures("unpacking")
def test_columns_that_are_none_are_refused() -> None:
    random = Random(7)
    whole = packed_many().narrowed() or bytes(64)
    for _ in range(2000):
        changed = bytearray(whole[: random.choice([30, 48, 64, len(whole)])])
        for _ in range(random.randrange(1, 4)):
            changed[random.randrange(min(len(changed), 48))] = random.choice([0, 1, 3, 8, 255])
        try:
            assert len(packed.widened(MANY_LAYOUT, bytes(changed))) % 24 == 0
        except BadLayout:
            continue


@pytest.mark.parametrize(
    "rows",
    [PackedRows(LAYOUT, WORDS), packed_texts(), packed_many().part(0, 50), packed_pairs()],
    ids=["i", "s", "n", "values"],
)
def test_spoilt_frames_are_lost_blocks(rows: PackedRows) -> None:
    frame = bytearray(b"".join(encode_packed(rows)))
    random = Random(5)
    for _ in range(3000):
        spoilt = bytearray(frame)
        for _ in range(random.randrange(1, 4)):
            spoilt[random.randrange(len(spoilt))] = random.randrange(256)
        if random.random() < 0.3:
            del spoilt[random.randrange(1, len(spoilt)) :]
        end = 16 + int.from_bytes(frame[8:16], "little")
        if len(spoilt) == len(frame) and spoilt[:1] + spoilt[4:end] == frame[:1] + frame[4:end]:
            # Three bytes of a frame's header, and those behind its payload, mean nothing.
            continue
        with pytest.raises(CorruptBlock):
            list(decode_frames(bytes(spoilt)))


@pytest.mark.usefixtures("unpacking")
def test_sealed_nonsense_is_a_lost_block() -> None:
    """A checksum that fits by chance, or was made by another version, must not crash either."""
    from pyrite.blocks import codec

    random = Random(6)
    for _ in range(3000):
        payload = random.randbytes(random.randrange(64))
        if random.random() < 0.7:
            text = "".join(random.choices("()[]ifbsx", k=random.randrange(12))).encode()
            padding = bytes(-len(text) % 8)
            payload = struct.pack("<Q", len(text)) + text + padding + payload
        elif random.random() < 0.5:
            # Words and texts whose places are wrong.
            whole = b"".join(encode_packed(random.choice([packed_texts(), packed_pairs()])))
            changed = bytearray(whole[16:])
            for _ in range(random.randrange(1, 5)):
                changed[random.randrange(16, len(changed))] = random.choice([0, 1, 9, 127, 255])
            payload = bytes(changed[: random.choice([len(changed), random.randrange(16, 99)])])
        frame = b"".join(codec._seal(random.choice([b"w", b"n"]), [payload]))
        try:
            for batch in decode_frames(frame):
                repr(batch)
        except CorruptBlock:
            continue


def test_a_packed_frame_is_as_large_as_its_words() -> None:
    assert frame_size(encode_packed(PackedRows(LAYOUT, WORDS))) == 16 + 16 + len(WORDS)
