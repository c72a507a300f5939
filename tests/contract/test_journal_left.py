"""A driver that dies leaves its journal, from which the scheduler is restored."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from programs import run_program

from pyrite.driver.log.journal import restore
from pyrite.ids import JobId

PROGRAM = """
import os, signal
from pyrite import SparkConf, SparkContext
conf = SparkConf().setMaster({master!r}).set("pyrite.journal.dir", {folder!r})
driver = os.getpid()
sc = SparkContext(conf=conf)
pairs = sc.parallelize([(n % 3, n) for n in range(12)], 4).reduceByKey(lambda a, b: a + b, 2)
assert pairs.count() == 3
def end_driver(pair):
    os.kill(driver, signal.SIGKILL)
    return pair
pairs.map(end_driver).collect()
"""


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,512m]"])
def test_a_killed_driver_can_be_restored(master: str, tmp_path: Path) -> None:
    done = run_program(PROGRAM.format(master=master, folder=str(tmp_path)))
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = tmp_path.iterdir()
    scheduler, at_s = restore(str(left))
    scheduler.check()
    assert at_s > 0
    assert [each.complete for each in scheduler.outputs._shuffles.values()] == [True]
    assert list(scheduler.jobs._jobs) == [JobId(1)]
    assert scheduler.attempts._attempts
