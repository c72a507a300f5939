"""One seed, one story: whatever the process hashes, and no two seeds alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys

# The last ones have errors that tell of files.
SEEDS = [*range(22), 121, 154, 181]
TELL = f"""
import json
from cases import random_case
from trial import Chapters, run_case

stories = []
for seed in {SEEDS}:
    story = Chapters()
    run_case(random_case(seed), story)
    stories.append("\\n".join(story.lines))
print(json.dumps(stories))
"""


def start_telling(hash_seed: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen(
        [sys.executable, "-c", TELL], stdout=subprocess.PIPE, env=environment, text=True
    )


def test_a_seed_tells_one_story_in_every_process() -> None:
    first, second = (start_telling(hash_seed) for hash_seed in ("1", "2"))
    told = [json.loads(process.communicate()[0]) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    for seed, one, other in zip(SEEDS, *told, strict=True):
        assert one.splitlines() == other.splitlines(), f"seed {seed}: scripts/sim {seed}"
    assert all(told[0])
    assert len(set(told[0])) == len(SEEDS)
