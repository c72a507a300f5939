"""Ctrl-C, twice in a row and at any moment: the context goes on and nothing is left behind.

PYRITE_PRESSES=500 tries so many rounds, other ones each time.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest
from programs import start_program

from pyrite import SparkContext

ROUNDS = int(os.environ.get("PYRITE_PRESSES", "0"))
# Two keys within a moment, and as good as at once.
APART_S = (0.0, 0.0005, 0.002)


def press_twice(program: str, seed: int, rounds: int) -> None:
    """Presses Ctrl-C twice in each round, after a while that may be short or long."""
    dice = Random(f"keys {seed}")
    told: list[str] = []
    with start_program(program, stdin=-1, start_new_session=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in process.stdout:
            if line == "end\n":
                break
            told.append(line)
            # The moments are what is random here; nothing is waited for.
            time.sleep(10 ** dice.uniform(-4, -0.5))
            process.send_signal(signal.SIGINT)
            time.sleep(dice.choice(APART_S))
            process.send_signal(signal.SIGINT)
            process.stdin.write("k")
            process.stdin.flush()
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, len(told)) == (0, rounds), f"seed {seed}: {told[-1:]}\n{errors}"


@pytest.mark.timeout(0 if ROUNDS else 300)
@pytest.mark.parametrize(
    ("master", "processes", "share"), [("local[2]", 3, 1.0), ("local-cluster[2,1,512]", 9, 0.2)]
)
def test_two_keys_at_any_moment(tmp_path: Path, master: str, processes: int, share: float) -> None:
    seed = Random().randrange(10**6) if ROUNDS else 20
    rounds = round((ROUNDS or 60) * share)
    arguments = f"{str(tmp_path)!r}, {master!r}, {processes}, {seed}, {rounds}"
    press_twice(f"import pressed; pressed.main({arguments})", seed, rounds)


@pytest.mark.parametrize("presses", [1, 2])
def test_in_the_simulator_threads_keep_their_turns(no_context: None, presses: int) -> None:
    def work(x: int) -> int:
        for _ in range(presses if x == 3 else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return x

    with SparkContext("sim[seed=1,nodes=2,executors=1,faults=0]", "simulated") as sc:
        with pytest.raises(KeyboardInterrupt):
            sc.parallelize(range(100), 100).map(work).collect()
        assert sc.statusTracker().getActiveJobsIds() == []
        assert not sc._engine.waiters.by_job and not sc._engine.stages.result_stages
        assert sc.parallelize(range(4), 2).map(lambda x: x).sum() == 6
