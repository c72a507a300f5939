"""`pyrite explain` lists what runs in C, and why the rest does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from pyrite.machine.chain import IS_BUILT

PROGRAM = """\
from operator import add
from pyspark import SparkContext

sc = SparkContext("local[1]")
print("the program's own words")
print(sc.parallelize(range(10)).map(lambda x: x * 2).sum())
print(sc.parallelize(range(10)).map(lambda x: (x % 3, round(x))).reduceByKey(add).collect())
"""


@pytest.mark.skipif(not IS_BUILT, reason="the row machine is not built")
def test_a_line_for_each_chain_of_functions(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "pyrite", "explain", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        f"map <lambda> ({script}:6), sum: in C",
        f"map <lambda> ({script}:7), combine by key: in Python: a call of round",
    ]
    assert "the program's own words" in run.stderr
