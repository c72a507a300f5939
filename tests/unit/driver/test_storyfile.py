"""The story on disk tells every event and command, and no rows."""

import json
from pathlib import Path

from pyrite.driver.storyfile import StoryFile
from pyrite.ids import AttemptId, BlockRef, JobId, NodeId, StageId
from pyrite.plan.program import Shape
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev


def test_lines_are_json_with_names_and_sizes(tmp_path: Path) -> None:
    story = StoryFile(str(tmp_path / "stories"), "app-1")
    stage = StageSpec(StageId(3), "map at x.py:1", 2, Shape([]), {})
    story.tell(1.5, ev.JobSubmitted(JobSpec(JobId(0), stage, (0, 1))), [])
    done = ev.TaskSucceeded(AttemptId(1), b"secret rows", BlockRef(NodeId("node-0"), "m-1", 0, 8))
    story.tell(2.0, done, [do.FinishJob(JobId(0), ValueError("bad"))])
    story.close()
    text = (tmp_path / "stories" / "app-1.story").read_text()
    submitted, succeeded = map(json.loads, text.splitlines())
    assert submitted["event"]["kind"] == "JobSubmitted"
    assert submitted["event"]["job"]["stage"]["name"] == "map at x.py:1"
    assert succeeded["at_s"] == 2.0
    assert succeeded["event"]["result"] == {"bytes": 11}
    assert succeeded["event"]["output"] == ["node-0", "m-1", 0, 8]
    assert succeeded["commands"] == [{"kind": "FinishJob", "job": 0, "error": "ValueError: bad"}]
    assert "secret" not in text
