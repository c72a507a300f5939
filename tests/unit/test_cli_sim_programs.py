"""A program runs unchanged on a simulated cluster, and prints what it prints on a real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyrite

SOURCE = str(Path(pyrite.__file__).parents[1])
SEEDS = range(5)
PATIENCE_S = 60
PROGRAM = """\
from operator import add

from pyspark import SparkContext

TEXT = ["the cat and the dog", "a dog", "", "the end of the cat"] * 5

sc = SparkContext(appName="words")
stop_words = sc.broadcast({"the", "a", "of"})
skipped = sc.accumulator(0)


def words(line):
    for word in line.split():
        if word in stop_words.value:
            skipped.add(1)
        else:
            yield word, 1


counts = sc.parallelize(TEXT, 6).flatMap(words).reduceByKey(add, 4).cache()
for word, count in counts.sortBy(lambda each: (-each[1], each[0])).collect():
    print(word, count)
print(counts.count(), skipped.value)
"""


def run(folder: Path, master: str) -> subprocess.CompletedProcess[str]:
    kept = {name: each for name, each in os.environ.items() if not name.startswith("PYRITE_")}
    return subprocess.run(
        [sys.executable, "-m", "pyrite", "run", "--master", master, "program.py"],
        cwd=folder,
        env={**kept, "PYTHONPATH": SOURCE, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("words")
    (made / "program.py").write_text(PROGRAM)
    return made


@pytest.fixture(scope="module")
def expected(folder: Path) -> str:
    done = run(folder, "local[2]")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "cat 10\ndog 10\nand 5\nend 5\n4 30\n"
    return done.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_a_word_count(folder: Path, expected: str, seed: int) -> None:
    done = run(folder, f"sim[seed={seed}]")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_without_faults(folder: Path, expected: str) -> None:
    done = run(folder, "sim[nodes=1,executors=1,faults=0]")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
