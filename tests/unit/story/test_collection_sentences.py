"""What a story says of collections, replicas and checkpoints."""

from pyrite.ids import ExecutorId, Partition, RddId
from pyrite.schedule import commands as do
from pyrite.story.happenings import DECISIONS
from pyrite.story.plain import named_fields

P = Partition(RddId(7), 3)
SENTENCES = {
    do.GroupsResized("hours", 1, ((0, 4),), ((0, 2), (2, 4)), 2048): (
        "in hours, partitions 0 to 3 of 2 KiB are grouped as 0 to 1 and 2 to 3"
    ),
    do.GroupsResized(
        "hours", 1, ((0, 4),), ((0, 2), (2, 4)), 2048, ((ExecutorId(0), ExecutorId(3)), ())
    ): (
        "in hours, partitions 0 to 3 of 2 KiB are grouped as 0 to 1 (executors 0, 3) and 2 to 3 "
        "(held by none)"
    ),
    do.PartitionsStarted("hours", (0, 1, 2), ExecutorId(4), 6): (
        "in hours, partitions 0 to 2, which nobody holds, start at executor 4, beside "
        "6 collection partitions"
    ),
    do.PartitionsStarted("hours", (5,), ExecutorId(4), 1): (
        "in hours, partition 5, which nobody holds, starts at executor 4, beside "
        "1 collection partition"
    ),
    do.ReplicaMade(P, ExecutorId(2), 2, 5): (
        "partition 3 of RDD 7 has a replica at 2, one of 2 copies, beside 5 collection partitions"
    ),
    do.ReplicaDropped(P, ExecutorId(2), 61.5, 1): (
        "the replica of partition 3 of RDD 7 at 2 was idle for 61.5 s and is dropped"
    ),
    do.WriteCheckpoints((RddId(1), RddId(2)), 12.0, 10.0, 2048): (
        "recovery would take 12.00 s, above 10.00 s: RDDs 1, 2 are checkpointed, 2 KiB"
    ),
}


def test_decisions_are_told_with_their_numbers() -> None:
    for command, sentence in SENTENCES.items():
        told, _ = DECISIONS[type(command).__name__](named_fields(command))
        assert told == sentence
