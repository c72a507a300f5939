"""Bugs that the simulator found, each as a small case and with the mutation that brings it back."""

from __future__ import annotations

from typing import NamedTuple

from cases import Case
from lineage import Ask, Cancel, Program, Source, Step

from pyrite.cluster.sim.world import Fault, NodePlan, World

LARGE = 1 << 30
FOUR_FAILURES = (("spark.task.maxFailures", "4"),)
TWO_FAILURES = (("spark.task.maxFailures", "2"),)
EIGHT_PAIRS = tuple((number, number) for number in range(8))


class Kept(NamedTuple):
    """What was wrong, how to bring it back, and a case that shows it with some seed or other."""

    mutation: str
    wrong: str
    case: Case


KEPT = (
    Kept(
        "a barrier goes on with some of its tasks",
        "After a node was lost a barrier stage ran only the tasks that were missing, and those "
        "waited for, or met, nobody.",
        Case(
            Program(
                (Source("parallelize", (), 2),),
                (Step("barrier", (0,), (1,)),),
                ((Ask("count", 1),),),
            ),
            World(
                0,
                (NodePlan(2, 0),),
                (Fault("flap node", 8, delay_s=0.1, lasting_s=0.2),),
                latency_s=0.02,
            ),
            TWO_FAILURES,
        ),
    ),
    Kept(
        "a barrier forgets what some of its tasks made",
        "When an executor died with a task of a barrier stage, what the others had written before "
        "stayed for ever.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 2),),
                (Step("barrier", (0,), (1,)), Step("partitionBy", (1,), (3,))),
                ((Ask("count", 2),),),
            ),
            World(
                0,
                (NodePlan(1, LARGE), NodePlan(1, LARGE, 0.2)),
                (Fault("kill executor", 9, 1),),
            ),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "the story keeps the frames of an error",
        "The error of a job, which the story keeps, held the frames that it was raised through, "
        "and they held RDDs, shuffles and kept rows for ever.",
        Case(
            Program(
                (Source("parallelize", (), 7),),
                (Step("persist", (0,), ("MEMORY_ONLY",)),),
                ((Ask("collect", 1), Ask("mapSide", 1, (1,), "first")),),
                (Cancel("first", 31),),
            ),
            World(0, (NodePlan(3, 0, speed=0.5),)),
            TWO_FAILURES,
        ),
    ),
    Kept(
        "a lost executor gets space",
        "An executor that had been given up still got the segment that it had asked for, which "
        "nobody sealed or dropped any more.",
        Case(
            Program(
                (Source("parallelize", (), 1),),
                (
                    Step("partitionBy", (0,), (3,)),
                    Step("sortByKey", (1,), (False, 2)),
                    Step("persist", (2,), ("MEMORY_ONLY",)),
                ),
                ((Ask("collect", 3),),),
            ),
            World(
                0,
                (NodePlan(2, LARGE, speed=0.5), NodePlan(2, 1 << 17, speed=0.5)),
                (Fault("lose node", 16, 1, lasting_s=0.02),),
                segment_bytes=1024,
                latency_s=0.02,
                task_s=0.001,
            ),
            (("pyrite.cache.liveRows", "false"), *FOUR_FAILURES),
        ),
    ),
    Kept(
        "lost results are not made again",
        "A large result that went with its node before the driver had read it failed the job.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 1),),
                (Step("checkpoint", (0,), (False,)), Step("combineByKey", (1,), (4,))),
                ((Ask("sample", 0, (0.0,)), Ask("collect", 2)),),
            ),
            World(
                0,
                (NodePlan(2, 0), NodePlan(2, 4096, speed=0.5)),
                (Fault("flap node", 20, delay_s=0.0001, lasting_s=0.2),),
            ),
            (("pyrite.inline.bytes", "16"), *TWO_FAILURES),
        ),
    ),
    Kept(
        "a map output made again counts again",
        "Accumulators counted a map output twice when it was lost and made again.",
        Case(
            Program(
                (Source("parallelize", ((-1.0, 0),), 1),),
                (),
                ((Ask("mapSide", 0, (1,)),),),
            ),
            World(
                0,
                (NodePlan(3, LARGE),),
                (Fault("flap node", 20, delay_s=0.001, lasting_s=0.02),),
            ),
            (
                ("spark.speculation", "true"),
                ("spark.speculation.interval", "5ms"),
                *FOUR_FAILURES,
            ),
        ),
    ),
    Kept(
        "a failed task leaves its counts to the next",
        "What a task had added to accumulators before it failed counted with the executor's next "
        "task.",
        Case(
            Program(
                (Source("parallelize", (("", "b"),), 4),),
                (Step("combineByKey", (0,), (3,)),),
                ((Ask("count", 1), Ask("ends", 0, (1,)), Ask("mapSide", 1, (1,))),),
            ),
            World(
                0,
                (NodePlan(1, 4096),),
                (
                    Fault("lose node", 14, delay_s=0.0001, lasting_s=0.2),
                    Fault("lose node", 38, lasting_s=0.2),
                    Fault("fill disk", 52, lasting_s=0.2),
                ),
            ),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "a kept block that ends early is taken as it is",
        "A kept partition whose file had been cut off was read up to the cut, and its rows behind "
        "that were missing without a word.",
        Case(
            Program(
                (Source("parallelize", tuple(range(10)), 4),),
                (Step("persist", (0,), ("DISK_ONLY",)),),
                ((Ask("foreach", 0), Ask("numbers", 0)),),
            ),
            World(
                0,
                (NodePlan(3, 0, speed=2.0),),
                (Fault("truncate segment", 19, delay_s=0.0001),),
                chunk_rows=1,
            ),
            (("pyrite.inline.bytes", "16"), *TWO_FAILURES),
        ),
    ),
    Kept(
        "a failed task leaves its files",
        "A task that was cancelled after it had written a block to disk, and before it had told "
        "of it, left the file behind.",
        Case(
            Program(
                (Source("parallelize", tuple((x, "x" * 60) for x in range(200)), 2),),
                (),
                ((Ask("collect", 0, group="first"),),),
                (Cancel("first", 20),),
            ),
            World(
                0,
                (NodePlan(2, 0),),
                segment_bytes=256,
                chunk_rows=1,
                latency_s=0.0001,
                task_s=0.001,
            ),
            (("pyrite.inline.bytes", "16"), *FOUR_FAILURES),
        ),
    ),
    Kept(
        "a loss is not believed after another",
        "A fetch failure was ignored when another output of the same shuffle had been lost since "
        "the task was launched, so that an output known to be lost was promised again.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 4),),
                (Step("partitionBy", (0,), (4,)),),
                ((Ask("collect", 1),),),
            ),
            World(
                0,
                (NodePlan(2, 0), NodePlan(2, 0), NodePlan(2, 0)),
                (
                    Fault("delete segment", 18, 1, delay_s=0.001),
                    Fault("delete segment", 19),
                    Fault("delete segment", 20, 2),
                ),
                task_s=0.01,
            ),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "a checkpoint is cancelled with a group",
        "The thread that wrote a checkpoint took over the job group of the thread that asked, so "
        "whoever cancelled the group failed the asks of others that waited for the checkpoint.",
        Case(
            Program(
                (Source("parallelize", (), 2),),
                (Step("checkpoint", (0,), (False,)),),
                ((Ask("count", 1, group="first"),), (Ask("collect", 1), Ask("collect", 1))),
                (Cancel("first", 10),),
            ),
            World(0, (NodePlan(1, LARGE),)),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "a failed checkpoint keeps the frames of its error",
        "The error of a checkpoint held, by the frames that it was raised through, the RDD that "
        "held the error, and nobody could let go of either.",
        Case(
            Program(
                (Source("parallelize", (), 2),),
                (Step("partitionBy", (0,), (None,)), Step("checkpoint", (1,), (False,))),
                ((Ask("collect", 2),),),
            ),
            World(0, (NodePlan(1, LARGE),), (Fault("kill executor", 11),)),
            (("spark.task.maxFailures", "1"),),
        ),
    ),
    Kept(
        "a done task of a barrier runs again alone",
        "When a node went that had no part in a barrier stage, those of its tasks that were done "
        "were launched again, alone.",
        Case(
            Program(
                (Source("parallelize", (), 2),),
                (Step("barrier", (0,), (1,)),),
                ((Ask("collect", 1),),),
            ),
            World(
                0,
                (NodePlan(1, LARGE), NodePlan(1, LARGE), NodePlan(1, LARGE)),
                (Fault("crash node", 12, 2, lasting_s=0.2),),
            ),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "a dead writer waits for room",
        "A writer died while it waited for others' partitions to make way, and its room stayed "
        "promised to nobody.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 6),),
                (Step("persist", (0,), ("OFF_HEAP",)),),
                ((Ask("count", 1), Ask("collect", 1)),),
            ),
            World(
                0,
                (NodePlan(1, 256, 2.0), NodePlan(1, 0, 2.0)),
                tuple(Fault("kill executor", event) for event in (14, 18, 22)),
                segment_bytes=1024,
                latency_s=0.02,
                task_s=0.001,
            ),
            (("spark.task.maxFailures", "20"),),
        ),
    ),
    Kept(
        "what is written to a node that is back stays",
        "Room was granted on a node that went and came back before the partition was written "
        "there: nobody knew of it, and nobody removed it.",
        Case(
            Program(
                (Source("parallelize", tuple((n, n) for n in range(24)), 8),),
                (Step("persist", (0,), ("OFF_HEAP",)),),
                ((Ask("count", 1), Ask("collect", 1)),),
            ),
            World(
                0,
                (NodePlan(1, 256, 2.0), NodePlan(1, 256), NodePlan(1, 0, 2.0), NodePlan(0, 1024)),
                (
                    Fault("crash node", 20, 3, lasting_s=0.02),
                    Fault("crash node", 21, 0, lasting_s=0.02),
                ),
                segment_bytes=1024,
                latency_s=0.02,
                task_s=0.001,
            ),
            (("spark.task.maxFailures", "8"),),
        ),
    ),
    Kept(
        "what is given up is still promised",
        "A partition that was given up for another was still looked for.",
        Case(
            Program(
                (Source("range", 325, 2),),
                (
                    Step("lookUp", (0,)),
                    Step("persist", (1,), ("MEMORY_ONLY",)),
                    Step("mapValues", (2,)),
                    Step("persist", (3,), ("MEMORY_ONLY",)),
                ),
                ((Ask("count", 4),),),
            ),
            World(0, (NodePlan(2, 1024, 2.0), NodePlan(0, 4096))),
            (("pyrite.cache.liveRows", "false"), *TWO_FAILURES),
        ),
    ),
    Kept(
        "a failed move is taken for done",
        "A segment did not arrive, and its partitions were looked for where it should be.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 8),),
                (Step("persist", (0,), ("OFF_HEAP",)),),
                ((Ask("count", 1), Ask("collect", 1)),),
            ),
            World(
                0,
                (NodePlan(1, 256, 2.0), NodePlan(1, 0, 2.0)),
                (
                    Fault("add storage", 11, 177),
                    Fault("add storage", 12, 763),
                    Fault("fill memory", 17, 2, lasting_s=10.0),
                    Fault("fill memory", 17, 3, lasting_s=10.0),
                ),
                segment_bytes=1024,
                latency_s=0.001,
                task_s=0.001,
            ),
            FOUR_FAILURES,
        ),
    ),
    Kept(
        "a spoilt prefetched segment is left in the middle",
        "A map output was made again with its rows in other frames. A reducer had read some frames "
        "from what was fetched of the first one, found the next spoilt, and went on with the "
        "second one behind as many frames: some rows came twice, and others never.",
        Case(
            Program(
                (Source("parallelize", tuple((n % 37, n) for n in range(240)), 6),),
                (Step("distinct", (0,), (7,)), Step("partitionBy", (1,), (3,))),
                ((Ask("collect", 2),),),
            ),
            World(
                0,
                (NodePlan(1, LARGE),) * 3,
                (Fault("crash node", 48, 1, lasting_s=0.02),),
                chunk_rows=1,
                spill_chance=0.5,
                spoilt_prefetched=0.8,
            ),
            (("pyrite.shuffle.inFlight", "1k"), ("pyrite.shuffle.small", "0"), *FOUR_FAILURES),
        ),
    ),
    Kept(
        "a node leaves with results beside lost outputs",
        "The outputs of a leaving node could not be copied, and it was let go with a result in the "
        "same segment that the driver had not read yet.",
        Case(
            Program(
                (Source("parallelize", ((-1, (0.0, -1.0)), (-(2**69), 0.0)), 2),),
                (
                    Step("localityPartitionBy", (0,), (2, 0)),
                    Step("persist", (1,), ("MEMORY_ONLY",)),
                    Step("forceCheckpoint", (1,)),
                ),
                ((Ask("collect", 0), Ask("count", 1)),),
            ),
            World(
                0,
                (NodePlan(1, 4096, 2.0), NodePlan(1, 2048, 0.5)),
                (
                    Fault("drain node", 27, 56, lasting_s=1.0),
                    Fault("fill disk", 7, 681, lasting_s=2.0),
                ),
                segment_bytes=4096,
            ),
            (
                ("pyrite.inline.bytes", "16"),
                ("pyrite.shuffle.inFlight", "64"),
                ("pyrite.shuffle.small", "0"),
                *FOUR_FAILURES,
            ),
        ),
    ),
    Kept(
        "a node leaves with outputs that can not be made alike",
        "Allocation dismissed a node while the other disks were full: its outputs were given up, "
        "and with them the job, since repartition may deal its rows out otherwise. It stays.",
        Case(
            Program(
                (Source("parallelize", EIGHT_PAIRS, 6),),
                (
                    Step("distinct", (0,), (6,)),
                    Step("repartition", (1,), (6,)),
                    Step("repartition", (2,), (1,)),
                ),
                ((Ask("count", 3),),),
            ),
            World(
                0,
                (NodePlan(1, 8192, 0.2), NodePlan(1, 8192), NodePlan(1, 8192, 2.0)),
                (Fault("fill disk", 32, 5, lasting_s=10.0),),
                segment_bytes=4096,
            ),
            (
                ("spark.dynamicAllocation.enabled", "true"),
                ("spark.dynamicAllocation.executorIdleTimeout", "5ms"),
                ("spark.dynamicAllocation.initialExecutors", "3"),
                ("spark.dynamicAllocation.maxExecutors", "4"),
                ("spark.dynamicAllocation.minExecutors", "0"),
                ("spark.dynamicAllocation.schedulerBacklogTimeout", "1ms"),
                *FOUR_FAILURES,
            ),
        ),
    ),
)
