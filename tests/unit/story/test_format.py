"""What is written is read back; a cut end is passed over, and any damage is said with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storytelling import HEADER, records_of, write_story

from pyrite.story.columns import decode_column, encode_column
from pyrite.story.format import (
    HEADLINE,
    BadStory,
    DamagedStory,
    compress_records,
    dictionary,
    frame,
)
from pyrite.story.read import StoryReader
from pyrite.story.records import (
    ApplicationEnded,
    JobBegan,
    JobEnded,
    NodeAdded,
    PoolSampled,
    Record,
    ResultDelivered,
    StageMade,
    TaskEnded,
    TaskStarted,
    Told,
    fields_of,
    kind_of,
)
from pyrite.story.write import StoryWriter


def few_records() -> list[Record]:
    """A small run with records of many kinds."""
    rdds = [{"id": 3, "partitions": 2, "inputs": [{"shuffle": 1}], "operators": []}]
    found: list[Record] = [
        NodeAdded(0.5, "node-0", 1 << 30),
        StageMade(1.0, 0, "map at x.py:1", 2, (), None, rdds=rdds),
        JobBegan(1.0, 0, 0, 2, "collect", "x.py:1", tags=("a", "b")),
        Told(1.0, "SizesForeseen", {"shuffle": 1, "predicted_bytes": [1, 2], "how": "sample"}),
    ]
    for attempt in range(20):
        at_s = 1.0 + attempt / 8
        found.append(TaskStarted(at_s, attempt, attempt % 2, 0, (attempt,), 0, 0))
        found.append(TaskEnded(at_s, attempt, "succeeded", (attempt,), run_s=0.125, rows_read=7))
    found.append(TaskStarted(4.0, 20, 0, 0, (1, 2, 3), 0, 0))
    found.append(PoolSampled(4.5, "node-0", 1 << 30, 5, 0, 0, {"3": 5}))
    found += [JobEnded(5.0, 0, "TaskFailed", "KeyError"), ApplicationEnded(6.0)]
    return found


def as_told(record: Record) -> tuple[str, float, dict[str, Any]]:
    """A record as it is equal after its tuples became lists."""

    def plain(value: Any) -> Any:
        return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value

    fields = {name: plain(value) for name, value in fields_of(record).items()}
    return kind_of(record), record.at_s, fields


def test_records_come_back_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    write_story(path, few_records())
    assert list(map(as_told, records_of(path))) == list(map(as_told, few_records()))
    with StoryReader(path) as reader:
        assert reader.header == HEADER


def test_more_records_than_a_frame_takes_are_all_there(tmp_path: Path) -> None:
    many = [TaskStarted(n / 50_000, n, n % 3, 0, (n,), 0, 0) for n in range(20_000)]
    path = tmp_path / "run.story"
    write_story(path, many)
    assert list(map(as_told, records_of(path))) == list(map(as_told, many))
    assert path.stat().st_size < 4 * len(many)


def test_a_growing_story_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    writer = StoryWriter(str(path), HEADER, threaded=False)
    with StoryReader(path) as reader:
        assert list(reader.records()) == []
        for record in few_records():
            writer.add([record])
            writer.flush()
            assert [as_told(each) for each in reader.records()] == [as_told(record)]
        writer.close()
        assert (list(reader.records()), reader.rest_bytes) == ([], 0)


def test_blobs_are_found_by_their_numbers(tmp_path: Path) -> None:
    writer = StoryWriter(str(tmp_path / "run.story"), HEADER, threaded=False)
    numbers = [writer.add_blob(bytes([each]) * 1000) for each in range(3)]
    writer.close()
    with StoryReader(tmp_path / "run.story") as reader:
        with pytest.raises(BadStory, match="no blob 1"):
            reader.blob(1)
        assert list(reader.records()) == []
        assert [reader.blob(each)[:2] for each in numbers] == [b"\0\0", b"\1\1", b"\2\2"]


def read_all(path: Path) -> tuple[list[Record], str | None]:
    """The records that can be read, and what is said of the rest."""
    found: list[Record] = []
    try:
        with StoryReader(path) as reader:
            for record in reader.records():
                found.append(record)
    except BadStory as error:
        return found, str(error)
    return found, None


def test_a_story_cut_anywhere_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    writer = StoryWriter(str(path), HEADER, threaded=False)
    begun = path.stat().st_size
    for record in few_records():
        writer.add([record])
        writer.flush()
    writer.close()
    data, whole = path.read_bytes(), [as_told(each) for each in few_records()]
    before = -1
    for end in range(len(data)):
        path.write_bytes(data[:end])
        found, said = read_all(path)
        if end < begun:
            assert found == []
        else:
            assert said is None
            assert [as_told(each) for each in found] == whole[: len(found)]
            assert len(found) >= before
            before = len(found)


def test_each_flipped_byte_is_said_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    write_story(path, few_records())
    data, whole = path.read_bytes(), [as_told(each) for each in few_records()]
    for place in range(len(data)):
        for bits in (0x01, 0x80, 0xFF):
            spoilt = bytearray(data)
            spoilt[place] ^= bits
            path.write_bytes(spoilt)
            found, said = read_all(path)
            told = [as_told(each) for each in found]
            assert told == whole[: len(told)], f"byte {place}"
            if said is None:
                assert told == whole, f"byte {place}"
            else:
                assert str(path) in said
                assert "\n" not in said
                if place >= len(HEADLINE):
                    assert "damaged at byte" in said, f"byte {place}: {said}"


def test_damage_in_the_middle_comes_after_what_is_before_it(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    writer = StoryWriter(str(path), HEADER, threaded=False)
    sizes = []
    for record in few_records()[:3]:
        writer.add([record])
        writer.flush()
        sizes.append(path.stat().st_size)
    writer.close()
    spoilt = bytearray(path.read_bytes())
    spoilt[sizes[1] + 20] ^= 1
    path.write_bytes(spoilt)
    found: list[Record] = []
    with pytest.raises(DamagedStory) as caught, StoryReader(path) as reader:
        found.extend(reader.records())
    assert caught.value.at_byte == sizes[1]
    assert len(found) <= 2
    found, said = read_all(path)
    assert len(found) == 2 and said == str(caught.value)


@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b"[]", b'{"kinds":["A"],"order":[1],"fields":[{}]}', b"\xff",
     b'{"kinds":["JobEnded"],"order":[0],"fields":[{"at_s":[1.0]}]}',
     b'{"kinds":["JobEnded"],"order":[0],"fields":[{"at_s":{"odd":1},"job":[1]}]}'],
)  # fmt: skip
def test_frames_that_make_no_sense_are_said(tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "run.story"
    write_story(path, [])
    size = path.stat().st_size
    packed = compress_records(payload.decode("latin-1"), dictionary())
    path.write_bytes(path.read_bytes() + frame(b"r", packed))
    _, said = read_all(path)
    assert said is not None and f"damaged at byte {size}" in said


def test_fields_of_another_pyrite_are_passed_over_or_have_their_default(tmp_path: Path) -> None:
    import json

    path = tmp_path / "run.story"
    write_story(path, [])
    fields = {"at_s": {"same": 2.0}, "job": [4], "mood": ["good"]}
    told = {"kinds": ["JobEnded"], "order": [0], "fields": [fields]}
    packed = compress_records(json.dumps(told), dictionary())
    path.write_bytes(path.read_bytes() + frame(b"r", packed))
    assert records_of(path) == [JobEnded(2.0, 4)]


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.integers(), max_size=3)
)


@given(st.sampled_from(["at_s", "partitions", "attempt", "name"]), st.lists(values, min_size=1))
def test_a_column_gives_its_values_back(name: str, column: list[Any]) -> None:
    if name == "at_s":
        column = [each if type(each) is int and abs(each) < 1 << 40 else 0 for each in column]
    assert list(decode_column(encode_column(name, column), len(column))) == column


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_times_keep_microseconds(column: list[float]) -> None:
    found = decode_column(encode_column("run_s", column), len(column))
    assert found == pytest.approx(column, abs=1e-6)


def test_frames_of_few_records_are_small(tmp_path: Path) -> None:
    path = tmp_path / "run.story"
    write_story(path, [])
    begun = path.stat().st_size
    # A task a second: each is in a frame of its own.
    write_story(
        path,
        [
            record
            for n in range(100)
            for record in (
                TaskStarted(n + 0.1234, n, n % 2, 0, (n,), 0, 0),
                TaskEnded(n + 0.2345, n, "succeeded", (56,), 56, run_s=0.1, cpu_s=0.1),
                ResultDelivered(n + 0.2345, 0, n, 56),
            )
        ],
    )
    assert path.stat().st_size - begun < 120 * 100
