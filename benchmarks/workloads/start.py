"""Context start and first job, in a fresh process, from before the import to the answer."""

import json
import subprocess
import sys
from typing import Any

from benchmarks.data import DataFolder
from benchmarks.engines import SETTINGS as ENGINE_SETTINGS
from benchmarks.stopwatch import Stopwatch

ROWS = ("start and first job",)
STARTS_CONTEXT = True

WITH_ENGINE = """
import time
began_s = time.perf_counter()
from {engine} import SparkConf, SparkContext
conf = SparkConf().setMaster("local[2]").setAppName("start").setAll({settings!r})
sc = SparkContext(conf=conf)
answer = sc.parallelize(range(10), 2).map(lambda number: number + 1).sum()
seconds = time.perf_counter() - began_s
sc.stop()
print([seconds, answer])
"""

BY_HAND = """
import time
began_s = time.perf_counter()
import multiprocessing
def work(numbers, pipe):
    pipe.send(sum(map(lambda number: number + 1, numbers)))
fork = multiprocessing.get_context("fork")
pipes = [fork.Pipe(), fork.Pipe()]
halves = [range(5), range(5, 10)]
for numbers, (ours, its) in zip(halves, pipes):
    fork.Process(target=work, args=(numbers, its)).start()
answer = sum(ours.recv() for ours, its in pipes)
seconds = time.perf_counter() - began_s
print([seconds, answer])
"""


def inputs(data: DataFolder, scale: str) -> None:
    return None


def rdd(engine: str, _nothing: None, watch: Stopwatch) -> Any:
    settings = list(ENGINE_SETTINGS[engine].items())
    return _run(WITH_ENGINE.format(engine=engine, settings=settings), watch)


def hand(_nothing: None, watch: Stopwatch) -> Any:
    return _run(BY_HAND, watch)


def _run(program: str, watch: Stopwatch) -> Any:
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, answer = json.loads(printed.splitlines()[-1])
    watch.record(ROWS[0], seconds)
    return answer
