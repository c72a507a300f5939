"""What tasks print goes to stderr, and the program's output is its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, subprocess, sys
from pyrite import SparkContext
{first}
sc = SparkContext({master!r})
def speak(x):
    print("printed", flush=True)
    if {in_executor}:
        os.write(1, b"written\\n")
        subprocess.run(["echo", "echoed"], check=True)
    return x
total = sc.parallelize(range(2), 2).map(speak).map(lambda x: (x, 1)).reduceByKey(max).count()
sc.stop()
print("total", total, file=sys.__stderr__)
{last}
"""


def run(master: str, first: str = "", last: str = "") -> subprocess.CompletedProcess[str]:
    # The simulator's tasks run in the driver, whose descriptors are the program's.
    in_executor = "sim" not in master
    program = PROGRAM.format(master=master, first=first, last=last, in_executor=in_executor)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,256]", "sim[faults=0]"])
def test_tasks_print_to_stderr(master: str) -> None:
    done = run(master, first="print('begin')", last="print('end')")
    assert (done.returncode, done.stdout) == (0, "begin\nend\n")
    # Executors print at the same time: not every word has a line of its own.
    assert done.stderr.count("printed") == 2
    if "sim" not in master:
        assert done.stderr.count("written") == done.stderr.count("echoed") == 2


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,256]", "sim[faults=0]"])
@pytest.mark.parametrize("first", ["sys.stdout.close()", "sys.stdout = None", "os.close(1)"])
def test_a_program_without_stdout_runs_its_jobs(master: str, first: str) -> None:
    done = run(master, first, last="sys.stdout = None")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("printed") == 2 and "total 2" in done.stderr


def test_a_program_without_any_standard_stream_runs_its_jobs() -> None:
    closed = (
        "os.close(0); os.close(1); os.close(2); sys.stdout = sys.stderr = sys.__stderr__ = None"
    )
    # Its exit code is all that it can say.
    assert run("local[2]", closed, last="os._exit(7 * total)").returncode == 14
