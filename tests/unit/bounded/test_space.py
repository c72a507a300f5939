"""A space knows when a task holds too much, and forgets nothing that it wrote."""

from pathlib import Path

import pytest

from pyrite.bounded.space import Space

MEBIBYTE = 1 << 20


class Memory:
    """A measure of memory that the test sets."""

    level = 0

    def __call__(self) -> int:
        return self.level


@pytest.fixture
def memory() -> Memory:
    return Memory()


def test_a_task_is_over_beyond_its_limit(tmp_path: Path, memory: Memory) -> None:
    space = Space(100 * MEBIBYTE, str(tmp_path), measure=memory)
    memory.level = 100 * MEBIBYTE
    assert not space.over()
    memory.level += 1
    assert space.over()


def test_others_free_memory_before_a_task_spills(tmp_path: Path, memory: Memory) -> None:
    asked: list[str] = []

    def give(name: str, size: int) -> bool:
        asked.append(name)
        memory.level -= size
        return size > 0

    space = Space(
        100 * MEBIBYTE, str(tmp_path), lambda: give("kept rows", 50 * MEBIBYTE), measure=memory
    )
    sizes = [20 * MEBIBYTE, 0]
    space.relieve_by(lambda: give("a map output", sizes.pop(0) if sizes else 0))
    memory.level = 110 * MEBIBYTE
    assert not space.over() and asked == ["a map output"]
    memory.level = 140 * MEBIBYTE
    assert not space.over() and asked == ["a map output"] * 2 + ["kept rows"]


def test_memory_that_does_not_come_back_raises_the_limit(tmp_path: Path, memory: Memory) -> None:
    space = Space(160 * MEBIBYTE, str(tmp_path), measure=memory)
    memory.level = 200 * MEBIBYTE
    assert space.over()
    space.relieved()
    assert not space.over()
    memory.level = 210 * MEBIBYTE
    assert not space.over()
    memory.level = 210 * MEBIBYTE + 1
    assert space.over()


def test_memory_that_comes_back_leaves_the_limit(tmp_path: Path, memory: Memory) -> None:
    space = Space(160 * MEBIBYTE, str(tmp_path), measure=memory)
    memory.level = 200 * MEBIBYTE
    space.relieved()
    memory.level = 20 * MEBIBYTE
    space.relieved()
    memory.level = 161 * MEBIBYTE
    assert space.over()


def test_rows_that_were_given_on_raise_the_limit_a_little(tmp_path: Path, memory: Memory) -> None:
    space = Space(160 * MEBIBYTE, str(tmp_path), measure=memory)
    memory.level = 165 * MEBIBYTE
    space.given_on()
    memory.level = 175 * MEBIBYTE
    assert not space.over()
    memory.level = 175 * MEBIBYTE + 1
    assert space.over()
    memory.level = 185 * MEBIBYTE
    space.given_on()
    assert space.over()


def test_a_process_full_from_the_start_may_still_hold_a_little(
    tmp_path: Path, memory: Memory
) -> None:
    memory.level = 500 * MEBIBYTE
    space = Space(160 * MEBIBYTE, str(tmp_path), measure=memory)
    assert not space.over()
    memory.level += 11 * MEBIBYTE
    assert space.over()


def test_large_rows_are_counted_more_often_than_small_ones(tmp_path: Path, memory: Memory) -> None:
    space = Space(160 * MEBIBYTE, str(tmp_path), measure=memory)
    for _ in range(20):
        space.over()
    assert space.stride_rows == 8192
    for _ in range(20):
        memory.level += 30 * MEBIBYTE
        space.over()
    assert space.stride_rows == 1


def test_a_batch_is_small_beside_the_limit(tmp_path: Path, memory: Memory) -> None:
    memory.level = 512 * MEBIBYTE
    space = Space(512 * MEBIBYTE, str(tmp_path), measure=memory)
    assert space.batch_rows(100) == 1
    assert space.batch_rows(512 * 100) == 100
    assert space.batch_rows(10**9) == 4096


def test_every_spill_path_is_new_and_close_removes_them(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    space = Space(0, str(folder))
    paths = [Path(space.spill_path()) for _ in range(3)]
    assert len(set(paths)) == 3
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in paths[:2]:
        path.write_text("rows")
    space.close()
    assert list(folder.iterdir()) == []
    space.close()
