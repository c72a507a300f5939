"""Tasks are profiled wherever they run, and profiles appear at the end of the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrite import SparkContext

Start = Callable[..., SparkContext]

PROGRAM = """
import sys
from pyrite import SparkConf, SparkContext
def square(x): return x * x
conf = SparkConf(False).set("spark.python.profile", "true")
conf.set("spark.python.profile.dump", sys.argv[1])
sc = SparkContext("local[2]", "profiled", conf=conf)
sc.parallelize(range(9), 3).map(square).count()
"""


def square(x: int) -> int:
    return x * x


def test_calls_of_all_partitions_are_added_up(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    sc = start(spark__python__profile="true")
    rdd = sc.parallelize(range(9), 3).map(square)
    assert rdd.sum() == 204
    capsys.readouterr()
    sc.show_profiles()
    shown = capsys.readouterr().out
    assert f"Profile of RDD<id={rdd.id()}>" in shown
    [line] = [each for each in shown.splitlines() if each.endswith("(square)")]
    assert line.split()[0] == "9"


@pytest.mark.parametrize("folder", ["", "profiles"])
def test_profiles_appear_when_the_program_ends(tmp_path: Path, folder: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", folder]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    written = [each.name for each in tmp_path.glob("profiles/*")]
    assert ("(square)" in done.stdout, written) == (
        (False, ["rdd_1.pstats"]) if folder else (True, [])
    )
