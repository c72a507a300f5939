"""What is learnt of single tasks, from records of a story told by hand."""

import pytest

from pyrite.forecast.costs import CostModel
from pyrite.forecast.storymodel import Learner
from pyrite.story import records as rec

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
        learner.read(rec.ExecutorAdded(self.at_s, 0, "a"))
        rdds = [{"id": rdd, "partitions": 3, "inputs": [], "operators": []}]
        learner.read(rec.StageMade(self.at_s, 0, "it", 3, (), writes, rdds=rdds))
        learner.read(rec.JobBegan(self.at_s, 0, 0, 3))

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
        inputs = [{"shuffle": 4, "outputs": 2, "bytes": 0}]
        divided = {"place": 0, "shuffle": 4, "maps": [0, 1], "blocks": 0} if piece else None
        start = rec.TaskStarted(
            self.at_s, self.attempts, 0, 0, partitions, 0, 0, inputs, divided=divided
        )
        self.learner.read(start)
        self.at_s += seconds
        if stored:
            kept = [
                {"rdd": KEPT, "partition": index, "bytes": 10, "blocks": []} for index in stored
            ]
            self.learner.read(rec.PartitionsKept(self.at_s, self.attempts, kept))
        made = [0] * len(partitions)
        made[0] = output or 0
        self.learner.read(rec.TaskEnded(self.at_s, self.attempts, rec.SUCCEEDED, made))


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
    learner.read(rec.RddKept(story.at_s, KEPT))
    story.run(1.0, 1, stored=(1,))
    learner.ran.clear()
    story.run(6.0, 0, 1, 2, stored=(0, 2))
    assert [len(learner.ran[0, index].missing) for index in range(3)] == [1, 0, 1]
    learner.read(rec.JobEnded(story.at_s, 0))
    workload = learner.recorded_run("by hand").workload
    assert workload.kept[KEPT].making_s == pytest.approx({0: 2.0, 2: 2.0})
    assert workload.stages[0].cpu_s == pytest.approx([0.0, 2.0, 0.0])
