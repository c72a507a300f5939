"""Storage levels, caching, checkpoints."""

from tests.pyspark.api import api
from tests.pyspark.registry import case, outcome

LEVELS = """
NONE DISK_ONLY DISK_ONLY_2 DISK_ONLY_3 MEMORY_ONLY MEMORY_ONLY_2 MEMORY_AND_DISK MEMORY_AND_DISK_2
OFF_HEAP MEMORY_AND_DISK_DESER
"""


def counted(sc):
    """An RDD of two partitions, and how often its partitions were computed."""
    seen = sc.accumulator(0)

    def see(rows):
        seen.add(1)
        return rows

    return sc.parallelize([1, 2], 2).mapPartitions(see), seen


@case("StorageLevel", context="none")
def levels_show_themselves():
    return {name: repr(getattr(api.StorageLevel, name)) for name in LEVELS.split()}


@case("StorageLevel", context="none")
def levels_in_words():
    return {name: str(getattr(api.StorageLevel, name)) for name in LEVELS.split()}


@case("StorageLevel", context="none")
def level_fields():
    level = api.StorageLevel(True, False, True, False, replication=4)
    return (
        level.useDisk,
        level.useMemory,
        level.useOffHeap,
        level.deserialized,
        level.replication,
        api.StorageLevel(False, False, False, False).replication,
    )


@case("StorageLevel", context="none")
def levels_compare():
    same = api.StorageLevel(False, True, False, False, 1)
    return same == api.StorageLevel.MEMORY_ONLY, same == api.StorageLevel.DISK_ONLY, same == 1


@case("getStorageLevel")
def level_of_a_plain_rdd(sc):
    rdd = sc.parallelize([1], 1)
    return str(rdd.getStorageLevel()), repr(rdd.getStorageLevel()), rdd.is_cached


@case("cache", "unpersist")
def cache_returns_the_rdd(sc):
    rdd = sc.parallelize([1], 1)
    cached = rdd.cache()
    level = str(rdd.getStorageLevel())
    state = rdd.is_cached
    dropped = rdd.unpersist()
    return cached is rdd, level, state, dropped is rdd, rdd.is_cached, str(rdd.getStorageLevel())


@case("persist")
def persist_levels(sc):
    result = {}
    for name in LEVELS.split()[1:]:
        rdd = sc.parallelize([1, 2], 2).map(str)
        rdd.persist(storageLevel=getattr(api.StorageLevel, name))
        result[name] = (str(rdd.getStorageLevel()), rdd.collect(), rdd.collect())
        rdd.unpersist(blocking=True)
    return result


@case("persist")
def persist_by_default(sc):
    rdd = sc.parallelize([1], 1).persist()
    return str(rdd.getStorageLevel())


@case("persist")
def persist_at_another_level_fails(sc):
    rdd = sc.parallelize([1], 1).persist(api.StorageLevel.MEMORY_ONLY)
    return outcome(lambda: rdd.persist(api.StorageLevel.DISK_ONLY)), outcome(
        lambda: rdd.persist(api.StorageLevel.MEMORY_ONLY) is rdd
    )


@case("persist", "unpersist")
def persist_at_another_level_after_unpersist(sc):
    rdd = sc.parallelize([1], 1).cache().unpersist()
    return str(rdd.persist(api.StorageLevel.DISK_ONLY).getStorageLevel())


@case("cache")
def cached_partitions_are_computed_once(sc):
    rdd, seen = counted(sc)
    rdd.cache()
    rdd.count()
    rdd.count()
    return seen.value


@case("cache")
def plain_partitions_are_computed_for_each_action(sc):
    rdd, seen = counted(sc)
    rdd.count()
    rdd.count()
    return seen.value


@case("unpersist")
def unpersisted_partitions_are_computed_again(sc):
    rdd, seen = counted(sc)
    rdd.cache()
    rdd.count()
    rdd.unpersist(True)
    rdd.count()
    return seen.value


@case("cache", "take")
def caching_only_what_was_computed(sc):
    rdd, seen = counted(sc)
    rdd.cache()
    rdd.take(1)
    first = seen.value
    rdd.collect()
    return first, seen.value


@case("cache")
def cache_of_a_parent_serves_children(sc):
    rdd, seen = counted(sc)
    rdd.cache()
    rdd.count()
    return rdd.map(lambda x: x * 2).collect(), seen.value


@case("cache")
def cached_rows_are_not_changed_by_tasks(sc):
    rdd = sc.parallelize([[1], [2]], 1).map(lambda row: row).cache()
    rdd.count()

    def grow(row):
        row.append(0)
        return len(row)

    return rdd.map(grow).collect(), rdd.collect()


@case("checkpoint", "isCheckpointed", "getCheckpointFile", "sc.setCheckpointDir", context="fresh")
def checkpoint_at_the_first_action(sc, folder):
    before = sc.getCheckpointDir()
    sc.setCheckpointDir(str(folder / "checkpoints"))
    rdd = sc.parallelize(range(4), 2).map(lambda x: x + 1)
    states = [(rdd.isCheckpointed(), rdd.getCheckpointFile())]
    returned = rdd.checkpoint()
    states.append((rdd.isCheckpointed(), rdd.getCheckpointFile()))
    counted = rdd.count()
    path = rdd.getCheckpointFile()
    return (
        before,
        returned,
        states,
        counted,
        rdd.isCheckpointed(),
        str(folder) in path,
        rdd.collect(),
        rdd.isLocallyCheckpointed(),
    )


@case("checkpoint", context="fresh")
def checkpoint_cuts_the_lineage(sc, folder):
    sc.setCheckpointDir(str(folder / "checkpoints"))
    rdd, seen = counted(sc)
    rdd.checkpoint()
    rdd.count()
    first = seen.value
    rdd.count()
    return first > 0, seen.value == first


@case("sc.getCheckpointDir", "sc.setCheckpointDir", context="fresh")
def checkpoint_folder(sc, folder):
    sc.setCheckpointDir(dirName=str(folder / "checkpoints"))
    return str(folder / "checkpoints") in sc.getCheckpointDir()


@case("checkpoint", context="fresh")
def checkpoint_without_a_folder_fails(sc):
    return outcome(lambda: sc.parallelize([1], 1).checkpoint(), lambda _: "reached")


@case("checkpoint", context="fresh")
def checkpoint_after_an_action_is_too_late_or_not(sc, folder):
    sc.setCheckpointDir(str(folder / "checkpoints"))
    rdd = sc.parallelize(range(4), 2).map(str)
    rdd.count()
    rdd.checkpoint()
    rdd.count()
    return rdd.isCheckpointed(), rdd.collect()


@case("localCheckpoint", "isLocallyCheckpointed", "isCheckpointed")
def local_checkpoint(sc):
    rdd = sc.parallelize(range(5), 2).map(lambda x: x * x)
    before = rdd.isLocallyCheckpointed()
    returned = rdd.localCheckpoint()
    marked = rdd.isLocallyCheckpointed(), rdd.isCheckpointed()
    rows = rdd.collect()
    return before, returned, marked, rows, rdd.isCheckpointed(), rdd.getCheckpointFile()


@case("cleanShuffleDependencies")
def clean_shuffle_dependencies(sc):
    rdd = sc.parallelize([(1, 1), (1, 2)], 2).reduceByKey(max)
    first = rdd.collect()
    result = rdd.cleanShuffleDependencies()
    return first, result, rdd.collect(), rdd.cleanShuffleDependencies(blocking=True)


@case("cleanShuffleDependencies")
def clean_shuffle_dependencies_of_a_narrow_rdd(sc):
    return outcome(lambda: sc.parallelize([1], 1).map(str).cleanShuffleDependencies())


@case("checkpoint", "isCheckpointed", "getCheckpointFile", "toDebugString", context="fresh")
def checkpoints_are_there_when_the_job_returns(sc, folder):
    sc.setCheckpointDir(str(folder / "checkpoints"))
    rdd = sc.parallelize(range(1000), 2).map(lambda x: x + 1)
    before = rdd.is_checkpointed, rdd.isCheckpointed()
    rdd.checkpoint()
    marked = rdd.is_checkpointed, rdd.isCheckpointed(), rdd.getCheckpointFile()
    rdd.count()
    lines = rdd.toDebugString().decode().splitlines()
    file = rdd.getCheckpointFile().replace(str(folder), "FOLDER")
    cut = "parallelize" not in lines[-1].lower()
    return before, marked, rdd.isCheckpointed(), file.split("/")[:2], cut


@case("localCheckpoint")
def local_checkpoints_are_no_checkpoints(sc):
    rdd = sc.parallelize([1], 1)
    rdd.localCheckpoint()
    return rdd.is_checkpointed, rdd.isLocallyCheckpointed()
