"""Memory is used again when nobody looks into it, and never before."""

import errno
import gc
from random import Random
from typing import NoReturn

import numpy as np
import pytest

from pyrite.remote import buffers
from pyrite.remote.buffers import WarmBuffers, rounded

SIZE = 1 << 20


def place(view: memoryview) -> int:
    return int(np.frombuffer(view, dtype=np.uint8).ctypes.data)


def test_a_buffer_is_used_again_when_its_views_are_gone() -> None:
    warm = WarmBuffers()
    view = warm.take(SIZE)
    first = place(view)
    del view
    view = warm.take(SIZE - 1000)
    assert place(view) == first
    assert len(view) == SIZE - 1000


@pytest.mark.parametrize(
    "hold",
    [
        lambda view: view,
        lambda view: view[5:6],
        lambda view: view.toreadonly(),
        lambda view: view[8:16].cast("d"),
        lambda view: np.frombuffer(view, dtype=np.uint8)[10:20],
        lambda view: view.obj,
    ],
)
def test_a_buffer_that_somebody_looks_into_is_not_used(hold: object) -> None:
    warm = WarmBuffers()
    view = warm.take(SIZE)
    first = place(view)
    held = hold(view)  # type: ignore[operator]
    del view
    view = warm.take(SIZE)
    assert place(view) != first
    del held
    again = {place(one) for one in [warm.take(SIZE), warm.take(SIZE)]}
    assert first in again


def test_views_taken_at_random_never_overlap() -> None:
    random, warm = Random(7), WarmBuffers(kept_bytes=4 << 20)
    held: list[tuple[memoryview, int]] = []
    for number in range(600):
        view = warm.take(random.choice([1000, 70_000, 300_000, SIZE, 5 << 20]))
        mark = number % 251
        view[0] = view[-1] = mark
        held.append((view, mark))
        if random.random() < 0.6:
            held.pop(random.randrange(len(held)))
        if len(held) > 20:
            del held[:10]
        del view
        assert all(one[0] == one[-1] == marked for one, marked in held)
        assert warm.known_bytes == sum(size * len(shelf) for size, shelf in warm.shelves.items())
        assert warm.known_bytes <= max(4 << 20, rounded(5 << 20))


def test_no_more_is_kept_than_allowed() -> None:
    warm = WarmBuffers(kept_bytes=3 << 20)
    held = [warm.take(SIZE) for _ in range(10)]
    assert warm.known_bytes <= 3 << 20
    del held
    gc.collect()
    assert len(warm.take(SIZE)) == SIZE


def test_no_memory_is_no_lost_block(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = WarmBuffers()
    place(warm.take(SIZE))

    def full(_size: int) -> NoReturn:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(buffers, "mapped", full)
    assert len(warm.take(SIZE)) == SIZE
    # What the process's limit does not count is taken first.
    assert len(warm.take(3 * SIZE)) == 3 * SIZE
    monkeypatch.setattr(buffers, "shared", full)
    with pytest.raises(MemoryError, match="no memory to receive"):
        warm.take(2 * SIZE)
    assert warm.known_bytes == 0


def test_what_no_limit_counts_is_not_taken_for_large_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warm = WarmBuffers(kept_bytes=2 * SIZE)

    def full(_size: int) -> NoReturn:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(buffers, "mapped", full)
    assert len(warm.take(2 * SIZE)) == 2 * SIZE
    with pytest.raises(MemoryError, match=r"block of \d+ bytes: .*spark\.executor\.memory"):
        warm.take(2 * SIZE + 1)


@pytest.mark.parametrize("length", [1 << 16, (1 << 16) + 1, 100_001, (1 << 20) + 1, 1 << 24])
def test_rounding_wastes_little(length: int) -> None:
    assert length <= rounded(length) <= length * 9 // 8 + 4096
