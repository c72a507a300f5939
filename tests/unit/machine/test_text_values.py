"""Texts among the values of pairs: logged, dealt out, grouped, and joined."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_groups import expected

from pyrite.blocks.codec import CorruptBlock, decode_frames, encode_packed
from pyrite.bounded.dealing import DealtPairs
from pyrite.bounded.space import Space
from pyrite.bounded.traced import send_chain
from pyrite.bounded.vectors import Side, gather, group_packed
from pyrite.hashing import portable_hash
from pyrite.machine import packed
from pyrite.machine._rows import Groups, Table
from pyrite.machine.chain import Chain, Tracing
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.packed import PackedRows, Undealt
from pyrite.rdd.fuse import run_steps

LAYOUT = "(s(isb[s]))"
WORDS = ["", "a", "Zoë", "\N{SNOWMAN}", "nul\0", "x" * 3000]


def some_rows(size: int) -> list[Any]:
    random = Random(size)
    return [
        (random.choice(WORDS), (n, random.choice(WORDS) * 2, n % 2 == 0, [random.choice(WORDS)]))
        for n in range(size)
    ]


def log_of(rows: list[Any], layout: str = LAYOUT) -> Table:
    log = Table(packed.words_of(layout), layout[1] == "s", True, layout)
    assert all(log.put(layout, row) for row in rows)
    return log


def test_a_log_keeps_texts_and_deals_them_out() -> None:
    rows = some_rows(500)
    log = log_of(rows)
    assert log.rows(LAYOUT, 0, 500) == rows
    for part, (words, heap) in enumerate(log.deal(3, 100, 500)):
        wanted = [row for row in rows[100:] if portable_hash(row[0]) % 3 == part]
        assert PackedRows(LAYOUT, words, heap).rows() == wanted
        frame = b"".join(encode_packed(PackedRows(LAYOUT, words, heap)))
        assert list(decode_frames(frame)) == [wanted]


@pytest.mark.parametrize("odd", [("a", (1, "\ud800", True, ["b"])), ("a", (1, b"b", True, ["b"]))])
def test_texts_without_utf8_stay_with_the_interpreter(odd: Any) -> None:
    log, groups = log_of(some_rows(20)), Groups(LAYOUT)
    assert not log.put(LAYOUT, odd)
    assert log.rows(LAYOUT, 0, 100) == some_rows(20)
    assert groups.put(LAYOUT, [*some_rows(20), odd]) == 20
    assert groups.rows(LAYOUT[2:-1], 0, 100) == some_rows(20)


def test_a_log_is_full_of_text_before_it_is_large() -> None:
    log = Table(2, False, True, "(is)")
    rows = [(n, "x" * 1_000_000) for n in range(7)]
    assert [log.put("(is)", row) for row in rows] == [True] * 2 + [False] * 5
    assert log.nbytes < 10 << 20
    log.clear()
    assert log.put("(is)", (1, "y" * 9_000_000))
    assert not log.put("(is)", (1, "y"))


def test_more_text_than_a_log_holds_is_dealt_in_several(tmp_path: Path) -> None:
    rows = [(n % 5, str(n) * 100_000) for n in range(60)]
    steps = [("map", lambda row: row)]
    chain = Chain(iter(rows), steps, run_steps, Tracing("EAGER"), True)
    pairs = deal_chain_of(chain, tmp_path)
    found: list[list[Any]] = [[], []]
    for dealt in pairs.deal(2, 65_536):
        if isinstance(dealt, Undealt):
            for row in dealt.rows:
                found[portable_hash(row[0]) % 2].append(row)
        else:
            for part, frame in zip(found, dealt, strict=True):
                part.extend(frame.rows())
    assert found == [[row for row in rows if row[0] % 2 == part] for part in range(2)]


def deal_chain_of(chain: Chain, folder: Path) -> DealtPairs:
    pairs = send_chain(chain, Space(1 << 40, str(folder)))
    assert isinstance(pairs, DealtPairs)
    return pairs


@pytest.mark.parametrize("layout", ["(is)", "(ss)", "(i(sfs))", LAYOUT])
def test_groups_keep_texts(layout: str, tmp_path: Path) -> None:
    values = {"s": "Zoë \N{SNOWMAN}", "f": 0.5, "i": 7, "b": True}
    random = Random(layout)
    rows = []
    for _ in range(3000):
        key = random.choice(WORDS) if layout[1] == "s" else random.randrange(50)
        rows.append((key, made(layout[2:-1], values, random)))
    frames = [
        PackedRows(layout, *log_of(rows[n : n + 500], layout).deal(1, 0, 500)[0])
        for n in range(0, 3000, 500)
    ]
    grouped = group_packed(iter(frames), Space(1 << 40, str(tmp_path)))
    if "[" in layout:
        # A list of a group that is changed must be one and the same.
        assert not isinstance(grouped, GroupRows)
    else:
        assert isinstance(grouped, GroupRows)
    assert [(key, list(found)) for key, found in grouped] == expected(rows)


def made(layout: str, values: dict[str, Any], random: Random) -> Any:
    if layout in values:
        return values[layout] * random.randrange(4) if layout == "s" else values[layout]
    inner = layout[1:-1].replace("[s]", "l")
    items = [["Zoë"] if each == "l" else made(each, values, random) for each in inner]
    return tuple(items)


def test_short_memory_gives_texts_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(n % 7, f"é{n}") for n in range(3000)]
    space, answers = Space(1 << 40, str(tmp_path)), iter([False])
    monkeypatch.setattr(space, "has_room", lambda _: next(answers, True))
    words, heap = log_of(rows, "(is)").deal(1, 0, 3000)[0]
    grouped = group_packed(iter([PackedRows("(is)", words, heap)]), space)
    assert not isinstance(grouped, GroupRows)
    assert [(key, list(found)) for key, found in grouped] == expected(rows)


def test_a_text_that_lies_elsewhere_is_not_gathered(tmp_path: Path) -> None:
    words = struct.pack("<qIIqII", 1, 0, 1, 2, 5, 9)
    groups = Groups("(is)")
    assert groups.add("(is)", words, b"ab") == 1
    assert groups.rows("s", 0, 5) == [(1, "a")]
    with pytest.raises(CorruptBlock):
        list(decode_frames(b"".join(encode_packed(PackedRows("(is)", words, b"ab")))))
    side = gather(iter([PackedRows("(is)", words[:16], b"ab")]), Space(1 << 40, str(tmp_path)))
    assert isinstance(side, Side)


@pytest.mark.parametrize(
    "wrong", ["(si)", "(ii)", "(i(si))", "(iss)", "(i(is))", "is", "(i[s])x", "(if)"]
)
def test_other_layouts_are_refused(wrong: str) -> None:
    log, groups = Table(2, False, True, "(is)"), Groups("(is)")
    with pytest.raises(ValueError):
        log.put(wrong, (1, "a"))
    with pytest.raises(ValueError):
        log.rows(wrong, 0, 1)
    with pytest.raises(ValueError):
        groups.put(wrong, [(1, "a")])
    with pytest.raises(ValueError):
        groups.add(wrong, bytes(48), b"")
    if wrong != "is":
        with pytest.raises(ValueError):
            groups.rows(wrong, 0, 1)
