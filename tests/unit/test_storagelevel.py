import pickle

import pytest

from pyrite.storagelevel import StorageLevel

# As PySpark 4 prints them.
PYSPARK = {
    "DISK_ONLY": ("True, False, False, False, 1", "Disk Serialized 1x Replicated"),
    "DISK_ONLY_2": ("True, False, False, False, 2", "Disk Serialized 2x Replicated"),
    "DISK_ONLY_3": ("True, False, False, False, 3", "Disk Serialized 3x Replicated"),
    "MEMORY_AND_DISK": ("True, True, False, False, 1", "Disk Memory Serialized 1x Replicated"),
    "MEMORY_AND_DISK_2": ("True, True, False, False, 2", "Disk Memory Serialized 2x Replicated"),
    "MEMORY_AND_DISK_DESER": (
        "True, True, False, True, 1",
        "Disk Memory Deserialized 1x Replicated",
    ),
    "MEMORY_ONLY": ("False, True, False, False, 1", "Memory Serialized 1x Replicated"),
    "MEMORY_ONLY_2": ("False, True, False, False, 2", "Memory Serialized 2x Replicated"),
    "NONE": ("False, False, False, False, 1", "Serialized 1x Replicated"),
    "OFF_HEAP": ("True, True, True, False, 1", "Disk Memory OffHeap Serialized 1x Replicated"),
}


@pytest.mark.parametrize("name", PYSPARK)
def test_levels_read_as_pysparks(name):
    level = getattr(StorageLevel, name)
    assert (repr(level), str(level)) == (f"StorageLevel({PYSPARK[name][0]})", PYSPARK[name][1])


def test_there_are_no_other_levels():
    assert {name for name in dir(StorageLevel) if name.isupper()} == set(PYSPARK)


def test_levels_of_equal_parts_are_equal_and_hash_equal():
    level = StorageLevel(False, True, False, False)
    assert level == StorageLevel.MEMORY_ONLY == pickle.loads(pickle.dumps(level))
    assert {level: 1}[StorageLevel.MEMORY_ONLY] == 1
    assert level != StorageLevel.MEMORY_ONLY_2
    assert level != "MEMORY_ONLY"
