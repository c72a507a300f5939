"""Live rows: least recently used RDD first, never the one being stored, priority above all."""

from typing import Any

import pytest

from pyrite.blocks.evict import LastUse, choose_victim
from pyrite.blocks.live import LiveStore
from pyrite.blocks.weight import deep_size, estimate_bytes
from pyrite.ids import Partition, RddId
from pyrite.storagelevel import StorageLevel

A, B, C = RddId(1), RddId(2), RddId(3)
LEVEL = StorageLevel.MEMORY_ONLY


def store_of(*rdds: RddId, priority: int = 0) -> LiveStore:
    store = LiveStore(1000, 500)
    for rdd in rdds:
        for index in (0, 1):
            store.put(Partition(rdd, index), [rdd], 100, LEVEL, priority)
    return store


def test_the_least_recently_used_rdd_goes_first_by_its_last_partition() -> None:
    store = store_of(A, B)
    store.get(Partition(A, 0))
    assert store.victim(C, 0) == Partition(B, 1)


def test_a_partition_of_the_rdd_being_stored_never_goes() -> None:
    assert store_of(A).victim(A, 0) is None


def test_a_higher_priority_is_not_evicted_for_a_lower_one() -> None:
    uses = {A: LastUse(5, 1), B: LastUse(0, 2)}
    assert choose_victim(uses, C, 0) == B
    assert choose_victim({A: LastUse(5, 1)}, C, 0) is None
    assert choose_victim({A: LastUse(5, 1)}, C, 5) == A


def test_bytes_are_counted_down_again() -> None:
    store = store_of(A, B)
    assert store.used_bytes == 400
    store.remove(Partition(A, 0))
    store.forget(B)
    assert store.used_bytes == 100
    assert store.get(Partition(B, 0)) is None
    assert store.has_room(900) and not store.has_room(901)


def test_an_rdd_without_partitions_is_no_victim() -> None:
    store = store_of(A)
    store.remove(Partition(A, 0))
    store.remove(Partition(A, 1))
    assert store.victim(B, 0) is None


@pytest.mark.parametrize(
    ("row", "least", "most"),
    [
        ("x" * 1000, 1000, 1200),
        ((1, "x" * 1000), 1000, 1300),
        ({"a": [1] * 1000}, 8000, 50_000),
        ([["x" * 100] * 10] * 10, 1000, 40_000),
    ],
)
def test_sizes_are_about_right(row: Any, least: int, most: int) -> None:
    assert least <= deep_size(row) <= most
    assert 1000 * least <= estimate_bytes([row] * 1000) <= 1000 * most + 8000


def test_sizes_of_objects_include_their_attributes() -> None:
    class Thing:
        def __init__(self) -> None:
            self.text = "x" * 10_000

    assert deep_size(Thing()) > 10_000


def test_a_value_that_holds_itself_has_a_size() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert deep_size(ring) > 0


def test_an_array_counts_the_buffer_that_it_looks_into():
    class Array:
        """As numpy's arrays do that were read in place."""

        nbytes = 1 << 20

    assert deep_size(Array()) >= 1 << 20
    assert estimate_bytes([Array()] * 4) >= 4 << 20
