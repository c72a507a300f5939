"""The story on disk tells every event and command, and no rows."""

import json
from pathlib import Path

from pyrite.driver.log.storyfile import StoryFile
from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.rdd.dependency import SAME, Groups
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.timer import SpeculationCheck


def test_lines_are_json_with_names_and_sizes(tmp_path: Path) -> None:
    story = StoryFile(str(tmp_path / "stories"), "app-1")
    stage = StageSpec(StageId(3), "map at x.py:1", 2, Shape([]), {})
    story.record(1.5, ev.JobSubmitted(JobSpec(JobId(0), stage, (0, 1))), [])
    done = ev.TaskSucceeded(
        AttemptId(1), (ev.TaskOutput(b"secret rows", BlockRef(NodeId("node-0"), "e0-1", 0, 8)),)
    )
    story.record(2.0, done, [do.FinishJob(JobId(0), ValueError("bad"))])
    story.close()
    text = (tmp_path / "stories" / "app-1.story").read_text()
    submitted, succeeded = map(json.loads, text.splitlines())
    assert submitted["event"]["kind"] == "JobSubmitted"
    assert submitted["event"]["job"]["stage"]["name"] == "map at x.py:1"
    assert succeeded["at_s"] == 2.0
    assert succeeded["event"]["made"][0][0] == {"bytes": 11}
    assert succeeded["event"]["made"][0][1] == ["node-0", "e0-1", 0, 8, "memory"]
    assert succeeded["commands"] == [{"kind": "FinishJob", "job": 0, "error": "ValueError: bad"}]
    assert "secret" not in text


def test_each_stage_behind_a_job_is_told_whole_and_once(tmp_path: Path) -> None:
    source = PlanStep(RddId(0), (), 4)
    first = StageSpec(StageId(0), "first", 4, Shape([source]), {}, ShuffleId(0))
    nodes = [
        PlanStep(RddId(1), (ShuffleInput(ShuffleId(0)),), 4),
        PlanStep(RddId(2), (NarrowInput(0, Groups([0, 2, 4])),), 2),
        PlanStep(RddId(3), (NarrowInput(1, SAME),), 2),
    ]
    parents = {ShuffleId(0): first}
    second = StageSpec(StageId(1), "second", 2, Shape(nodes), parents, ShuffleId(1))
    last = StageSpec(StageId(2), "last", 2, Shape([]), {ShuffleId(1): second})
    other = StageSpec(StageId(3), "other", 2, Shape([]), {ShuffleId(1): second})
    story = StoryFile(str(tmp_path), "app-1")
    for id, stage in enumerate((last, other)):
        story.record(0.0, ev.JobSubmitted(JobSpec(JobId(id), stage, (0, 1))), [])
    story.close()
    lines = [json.loads(line) for line in Path(story.path).read_text().splitlines()]
    assert [[each["id"] for each in line["stages"]] for line in lines] == [[0, 1, 2], [3]]
    assert lines[0]["stages"][1] == {
        "id": 1,
        "name": "second",
        "partitions": 2,
        "parents": [0],
        "writes": 1,
        "barrier": False,
        "replayable": True,
        "rdds": [
            {"id": 1, "partitions": 4, "inputs": [{"shuffle": 0}]},
            {
                "id": 2,
                "partitions": 2,
                "inputs": [{"place": 0, "mapping": "Groups", "bounds": [0, 2, 4]}],
            },
            {"id": 3, "partitions": 2, "inputs": [{"place": 1}]},
        ],
    }


def test_a_launch_tells_of_its_inputs_in_short(tmp_path: Path) -> None:
    story = StoryFile(str(tmp_path), "app-1")
    refs = tuple(BlockRef(NodeId("node-0"), "e0-1", place, 10) for place in range(1000))
    launch = do.LaunchTask(
        AttemptId(0), ExecutorId(0), StageId(1), (0,), 0, JobId(0),
        (do.Snapshot(ShuffleId(0), 2, refs),),
    )  # fmt: skip
    story.record(0.0, ev.TimerFired(SpeculationCheck()), [launch])
    story.close()
    [line] = Path(story.path).read_text().splitlines()
    [told] = json.loads(line)["commands"]
    assert told["inputs"] == [{"shuffle": 0, "epoch": 2, "outputs": 1000, "bytes": 10_000}]
