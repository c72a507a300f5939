"""What is learnt of single tasks, from lines of a story told by hand."""

from typing import Any

import pytest

from pyrite.forecast.costs import CostModel
from pyrite.forecast.storymodel import Learner

# Only what is written, and the tasks' own work, takes time.
MODEL = CostModel(
    driver_event_s=0.0,
    driver_launch_s=0.0,
    task_overhead_s=0.0,
    encode_bytes_per_s=2e6,
    copy_bytes_per_s=2e6,
    decode_bytes_per_s=1e12,
)
KEPT = 7


class Story:
    """A job of one stage on an executor, whose tasks are launched and end as they are told to."""

    def __init__(self, learner: Learner, writes: int | None = None, rdd: int = 1) -> None:
        self.learner = learner
        self.at_s = 1.0
        self.attempts = 0
        self.tell({"kind": "ExecutorJoined", "executor": 0, "node": "a"})
        stage = {"id": 0, "name": "it", "partitions": 3, "parents": [], "writes": writes}
        stage["rdds"] = [{"id": rdd, "partitions": 3, "inputs": []}]
        job = {"id": 0, "stage": stage, "partitions": 3}
        self.tell({"kind": "JobSubmitted", "job": job}, stages=[stage])

    def tell(self, event: dict[str, Any], *commands: dict[str, Any], **more: Any) -> None:
        self.learner.read({"at_s": self.at_s, "event": event, "commands": commands, **more})

    def run(
        self,
        seconds: float,
        *partitions: int,
        output: int | None = None,
        stored: tuple[int, ...] = (),
        piece: bool = False,
    ) -> None:
        """A task from its launch to its end."""
        self.attempts += 1
        launch = {"kind": "LaunchTask", "attempt": self.attempts, "stage": 0, "executor": 0}
        launch |= {"job": 0, "partitions": list(partitions)}
        launch["inputs"] = [{"shuffle": 4, "outputs": 2, "bytes": 0}]
        launch["divided"] = [0, 4, [0, 1], []] if piece else None
        self.tell({"kind": "TimerFired"}, launch)
        self.at_s += seconds
        done = {"kind": "TaskSucceeded", "attempt": self.attempts}
        made = [[{"bytes": 0}, None, None, None] for _ in partitions]
        made[0][1] = None if output is None else ["a", "e0-1", 0, output, "memory"]
        done["made"] = made
        done["kept"] = [[[[KEPT, index], None, 10] for index in stored], []]
        self.tell(done)


def test_what_pieces_took_is_added_to_their_own_reducer_only() -> None:
    learner = Learner(MODEL)
    story = Story(learner)
    story.run(5.0, 0, piece=True)
    story.run(6.0, 0, piece=True)
    story.run(3.0, 0, 1, 2)
    assert [learner.ran[0, index].cpu_s for index in range(3)] == pytest.approx([12.0, 1.0, 1.0])


def test_each_partition_of_a_group_makes_its_own_kept_rows() -> None:
    learner = Learner(MODEL)
    story = Story(learner, rdd=KEPT)
    story.tell({"kind": "RddPersisted", "rdd": KEPT})
    story.run(1.0, 1, stored=(1,))
    learner.ran.clear()
    story.run(6.0, 0, 1, 2, stored=(0, 2))
    assert [len(learner.ran[0, index].missing) for index in range(3)] == [1, 0, 1]
    story.tell({"kind": "TimerFired"}, {"kind": "FinishJob", "job": 0, "error": None})
    workload = learner.recorded_run("by hand").workload
    assert workload.kept[KEPT].making_s == pytest.approx({0: 2.0, 2: 2.0})
    assert workload.stages[0].cpu_s == pytest.approx([0.0, 2.0, 0.0])
