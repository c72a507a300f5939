"""What executors are told, and what their words mean."""

from __future__ import annotations

import marshal
import pickle
from typing import Any, get_args

import pytest

from pyrite.cluster.conversation import Conversation, Message, Peer, decode
from pyrite.execute.task import Task
from pyrite.ids import (
    DRIVER,
    AttemptId,
    BlockRef,
    BroadcastId,
    ExecutorId,
    JobId,
    Medium,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.metrics import TaskMetrics
from pyrite.plan.program import OperatorRun, PlanStep, Program, ProgramLayout
from pyrite.rdd.frozen import Frozen, Pipeline
from pyrite.rdd.sources import Slices
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.taskinputs import Divided, InputBlock, Snapshot
from pyrite.schedule.timer import SpeculationCheck

NODE = NodeId("node-0")
REF = BlockRef(NODE, "e0-1", 8, 40)
OTHER_REF = BlockRef(NODE, "e1-2", 0, 10, "disk")
LOST = [((6, 3), tuple(OTHER_REF))]
# What an executor says at the end of its words on a task; and with nothing to say.
METRICS = TaskMetrics(1.5, rows_read=7)
REPORT: list[Any] = [
    [((4, 1), [tuple(REF), tuple(OTHER_REF)], 50, 0.5), ((4, 2), [], 70, 0.25)],
    [(5, 0)],
    LOST,
    [1, 2, 3, 4],
    [(4, 1), (4, 2)],
    10,
    [(8, tuple(REF), False), (9, tuple(OTHER_REF), True)],
    tuple(METRICS),
]
NOTHING: list[Any] = [[], [], [], [0, 0, 0, 0], [], 0, [], ()]
NEWS = ev.KeptNews(
    (
        ev.Stored(Partition(RddId(4), 1), (REF, OTHER_REF), 50, 0.5),
        ev.Stored(Partition(RddId(4), 2), (), 70, 0.25),
    ),
    (Partition(RddId(5), 0),),
    (1, 2, 3, 4),
    (Partition(RddId(4), 1), Partition(RddId(4), 2)),
    10,
    (ev.InputNews(8, REF), ev.InputNews(9, OTHER_REF, True)),
)
BLOCK_LOST = ev.BlockLost(Partition(RddId(6), 3), OTHER_REF)


SLICES = Slices([b"zero", b"one", b"two", b"three", b"four", b"five", b"six"])


class Source:
    """Stages with a program of one operator, which has slices."""

    def program(self, stage: StageId) -> Program:
        frozen = Frozen(Pipeline((SLICES,), ()), f"link {stage}".encode())
        return Program([PlanStep(RddId(4), (), 7)], [OperatorRun(0, 0, 1)], [frozen])

    def header(self, stage: StageId, job: JobId) -> bytes:
        return f"header {stage} {job}".encode()


class Listener(Peer):
    """Keeps what it is told."""

    def __init__(self, id: int) -> None:
        super().__init__(ExecutorId(id), NODE)
        self.told: list[Message] = []
        self.flushed = 0

    def put(self, message: Message) -> None:
        self.told.append(message)

    def flush(self) -> None:
        self.flushed = len(self.told)

    def take(self) -> list[Message]:
        taken, self.told = self.told, []
        return taken


@pytest.fixture
def peers() -> list[Listener]:
    return [Listener(0), Listener(1)]


@pytest.fixture
def conversation(peers: list[Listener]) -> Conversation:
    made = Conversation(Source())
    made.peers.update({peer.id: peer for peer in peers})
    return made


def launch(attempt: int, executor: int = 0, epoch: int = 0, job: int = 0) -> do.LaunchTask:
    return do.LaunchTask(
        AttemptId(attempt),
        ExecutorId(executor),
        StageId(3),
        partitions=(2,),
        number=1,
        job=JobId(job),
        inputs=(Snapshot(ShuffleId(9), epoch, (REF,)),),
        blocks=((Partition(RddId(4), 2), OTHER_REF),),
    )


def words(peer: Listener) -> list[str]:
    return [message[0] for message in peer.take()]


def test_a_task_comes_with_all_that_it_needs(
    conversation: Conversation, peers: list[Listener]
) -> None:
    assert conversation.send(launch(7))
    layout, slices = peers[0].told[0][2], peers[0].told[-1][-1][0]
    assert peers[0].told == [
        ("stage", 3, layout, [b"link 3"], b"header 3 0"),
        ("snapshot", 9, [tuple(REF)]),
        ("task", 7, 3, (2,), 1, [9], [(4, 2, [tuple(OTHER_REF)])], [], None, [], [slices]),
    ]
    assert pickle.loads(layout) == ProgramLayout(
        [PlanStep(RddId(4), (), 7)], [OperatorRun(0, 0, 1)]
    )
    assert pickle.loads(slices) == {0: {0: {2: b"two"}}}
    assert peers[0].flushed == 3
    assert peers[1].told == []


def test_partitions_that_are_computed_together_are_told_together(
    conversation: Conversation, peers: list[Listener]
) -> None:
    conversation.send(launch(7)._replace(partitions=(2, 4, 6)))
    *first, partitions, _ = peers[0].told[-1][:5]
    rest = peers[0].told[-1]
    assert (*first, partitions) == ("task", 7, 3, (2, 4, 6))
    assert [pickle.loads(each)[0][0] for each in rest[-1]] == [
        {2: b"two"},
        {4: b"four"},
        {6: b"six"},
    ]


def test_stages_and_snapshots_are_told_once_to_each(
    conversation: Conversation, peers: list[Listener]
) -> None:
    for attempt, executor in enumerate((0, 0, 1, 1)):
        conversation.send(launch(attempt, executor))
    for peer in peers:
        assert words(peer) == ["stage", "snapshot", "task", "task"]


def test_a_snapshot_of_another_epoch_is_told_again(
    conversation: Conversation, peers: list[Listener]
) -> None:
    conversation.send(launch(0, epoch=0))
    peers[0].take()
    conversation.send(launch(1, epoch=1))
    conversation.send(launch(2, epoch=1))
    assert words(peers[0]) == ["snapshot", "task", "task"]


def test_a_stage_is_told_again_for_another_job(
    conversation: Conversation, peers: list[Listener]
) -> None:
    conversation.send(launch(0))
    peers[0].take()
    conversation.send(launch(1, job=1))
    assert words(peers[0]) == ["stage", "task"]


def test_only_who_knows_a_stage_or_a_shuffle_hears_of_its_end(
    conversation: Conversation, peers: list[Listener]
) -> None:
    conversation.send(launch(0))
    peers[0].take()
    for _ in range(2):
        assert conversation.send(do.ForgetStage(StageId(3)))
        assert conversation.send(do.DropShuffle(ShuffleId(9)))
    assert peers[0].take() == [("end", 3), ("end_shuffle", 9)]
    assert peers[1].told == []
    conversation.send(launch(1))
    assert words(peers[0]) == ["stage", "snapshot", "task"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (do.DropSegments(NODE, ("e0-1", "e0-2")), ("forget", ["e0-1", "e0-2"])),
        (do.DropRdd(RddId(4)), ("drop", 4)),
        (do.DropBroadcast(BroadcastId(5)), ("broadcast", 5)),
    ],
)
def test_what_all_are_told(
    conversation: Conversation, peers: list[Listener], command: do.Command, message: Message
) -> None:
    assert conversation.send(command)
    assert [peer.told for peer in peers] == [[message], [message]]


@pytest.mark.parametrize("medium", get_args(Medium))
def test_a_ref_travels_with_its_medium(
    conversation: Conversation, peers: list[Listener], medium: Medium
) -> None:
    """By marshal, as over the socket, there and back."""
    ref = REF._replace(medium=medium)
    told = launch(0)._replace(
        inputs=(Snapshot(ShuffleId(9), 0, (ref,)),),
        blocks=((Partition(RddId(4), 2), ref),),
        divided=Divided(0, ShuffleId(9), None, (ref,)),
        cached=(InputBlock(8, ref), InputBlock(9, None)),
    )
    assert conversation.send(told)
    _, snapshot, task = marshal.loads(marshal.dumps(peers[0].take()))
    assert [BlockRef(*each) for each in snapshot[2]] == [ref]
    heard_task = Task(*task[1:])
    assert heard_task.blocks == [(4, 2, [tuple(ref)])]
    assert heard_task.cached == [(8, tuple(ref)), (9, None)]
    assert heard_task.divided is not None
    assert [BlockRef(*each) for each in heard_task.divided[-1]] == [ref]
    words = ("ok", 5, [([tuple(ref)], tuple(ref), None, None)], [((4, 1), [tuple(ref)], 40, 0.5)])
    report = [[], [((6, 3), tuple(ref))], [0, 0, 0, 0], [], 0, [(8, tuple(ref), False)]]
    answer = marshal.loads(marshal.dumps((*words, *report, tuple(METRICS))))
    lost, done = decode(peers[0], answer)
    assert isinstance(lost, ev.BlockLost) and lost.ref == ref
    assert isinstance(done, ev.TaskSucceeded) and done.kept.stored[0].blocks == (ref,)
    assert done.made == (ev.TaskOutput((ref,), ref),)


def test_no_executor_hears_what_is_granted_to_the_driver(
    conversation: Conversation, peers: list[Listener]
) -> None:
    assert conversation.send(do.GrantSpace(DRIVER, "driver-1", NODE))
    assert [peer.told for peer in peers] == [[], []]


def test_answers_go_to_who_asked(conversation: Conversation, peers: list[Listener]) -> None:
    assert conversation.send(do.GrantSpace(ExecutorId(1), "e1-4", NODE))
    assert (peers[0].told, peers[1].take()) == ([], [("space", "e1-4", NODE)])
    together = ((AttemptId(5), ExecutorId(0)), (AttemptId(6), ExecutorId(1)))
    assert conversation.send(do.ReleaseBarrier(together, ("a", "b")))
    assert [peer.take() for peer in peers] == [
        [("barrier", 5, ["a", "b"])],
        [("barrier", 6, ["a", "b"])],
    ]
    assert [peer.flushed for peer in peers] == [1, 1]


@pytest.mark.parametrize(
    "command",
    [
        launch(0, executor=9),
        do.GrantSpace(ExecutorId(9), "e9-1", NODE),
        do.ReleaseBarrier(((AttemptId(5), ExecutorId(9)),), ("a",)),
    ],
)
def test_words_to_who_is_not_there_are_dropped(
    conversation: Conversation, peers: list[Listener], command: do.Command
) -> None:
    assert conversation.send(command)
    assert [peer.told for peer in peers] == [[], []]


@pytest.mark.parametrize(
    "command",
    [
        do.CancelTask(AttemptId(1), ExecutorId(0)),
        do.KillExecutor(ExecutorId(0), "no answer"),
        do.StartExecutor(ExecutorId(0), NODE),
        do.ClearExecutor(ExecutorId(0), NODE, ()),
        do.SetTimer(SpeculationCheck(), 1.0),
    ],
)
def test_what_is_not_for_executors(
    conversation: Conversation, peers: list[Listener], command: do.Command
) -> None:
    assert not conversation.send(command)
    assert [peer.told for peer in peers] == [[], []]


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (("ready", 7, "here"), [ev.ExecutorJoined(ExecutorId(0), NODE, "here", 7)]),
        (("space", "e0-3", 64), [ev.SpaceWanted(NODE, ExecutorId(0), "e0-3", 64)]),
        (
            ("space", "e0-3", 64, False, 4, False),
            [
                ev.SpaceWanted(
                    NODE, ExecutorId(0), "e0-3", 64, packs=False, rdd=RddId(4), to_disk=False
                )
            ],
        ),
        (("barrier", 5, "hello"), [ev.BarrierReached(AttemptId(5), "hello")]),
        (
            ("ok", 5, [(b"rows", None, None, b"counts")], *REPORT),
            [
                BLOCK_LOST,
                ev.TaskSucceeded(
                    AttemptId(5), (ev.TaskOutput(b"rows", None, b"counts"),), NEWS, METRICS
                ),
            ],
        ),
        (
            ("ok", 5, [([tuple(REF), tuple(OTHER_REF)], None, None, None)], *NOTHING),
            [ev.TaskSucceeded(AttemptId(5), (ev.TaskOutput((REF, OTHER_REF)),))],
        ),
        (
            ("ok", 5, [(None, tuple(REF), b"sizes", None)], *NOTHING),
            [ev.TaskSucceeded(AttemptId(5), (ev.TaskOutput(None, REF, sizes=b"sizes"),))],
        ),
        (
            (
                *("ok", 5),
                [
                    (b"rows", None, None, None),
                    ([tuple(REF)], None, None, b"counts"),
                    (None, tuple(REF), b"sizes", None),
                ],
                *NOTHING,
            ),
            [
                ev.TaskSucceeded(
                    AttemptId(5),
                    (
                        ev.TaskOutput(b"rows"),
                        ev.TaskOutput((REF,), None, b"counts"),
                        ev.TaskOutput(None, REF, None, b"sizes"),
                    ),
                )
            ],
        ),
        (
            ("failed", 5, "KeyError", "KeyError: 1", "in f", b"pickled", "KeyError", "f", *REPORT),
            [
                BLOCK_LOST,
                ev.TaskRaised(
                    AttemptId(5),
                    ev.Failure("KeyError", "KeyError: 1", "in f", b"pickled", "KeyError", "f"),
                    NEWS,
                    METRICS,
                ),
            ],
        ),
        (
            ("cancelled", 5, *REPORT),
            [BLOCK_LOST, ev.TaskCancelled(AttemptId(5), NEWS, METRICS)],
        ),
        (
            ("fetch", 5, 9, [(2, tuple(REF))], "gone", *REPORT),
            [
                BLOCK_LOST,
                ev.FetchFailed(AttemptId(5), ShuffleId(9), ((2, REF),), "gone", NEWS, METRICS),
            ],
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_is_heard(peers: list[Listener], message: Message, events: list[ev.Event]) -> None:
    found = list(decode(peers[0], message))
    assert found == events
    # Tuples are equal whatever their names are.
    assert list(map(type, found)) == list(map(type, events))


def test_an_unknown_word_is_an_error(peers: list[Listener]) -> None:
    with pytest.raises(AssertionError, match="unknown message"):
        list(decode(peers[0], ("hum",)))
