"""A record fails on an executor: from the message, one command leads to that record."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pyrite.execute.traces import PACKAGE
from pyrite.story.model import RunModel
from pyrite.story.read import StoryReader

# Each case starts several Pythons, and the machine may be busy.
pytestmark = pytest.mark.timeout(600)

ROWS = 40_000
SOME = 4_000
MILLION = 1_000_000
PROGRAM = Path(__file__).with_name("replayed.py")
CODE = ["--conf", "pyrite.story.code=true"]
# A program that runs several commands one after another: starting Python takes longest.
EACH = """
import sys
from pyrite.cli import main
for task in sys.argv[2:]:
    print("==", task)
    print("exit code", main(["replay", sys.argv[1], "--task", task, "--no-debugger"]))
"""


class Run(NamedTuple):
    """How the program is run, with how many rows."""

    master: str
    rows: int
    kills: bool = False
    settings: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


CLUSTER = "local-cluster[2,1,512]"
DIVIDE = ("pyrite.shuffle.divide=100k",)
DIVIDED = ("grouped reducers", "divided reducer", "pieces of a reducer")
RUNS = {
    "local": Run("local[2]", SOME),
    "killed executors": Run(CLUSTER, SOME, kills=True),
    "divided": Run(CLUSTER, ROWS, settings=DIVIDE, jobs=DIVIDED),
    "simulated faults": Run("sim[seed=7,nodes=3,executors=2,faults=10]", SOME),
    "one in a million, killed executors": Run(
        CLUSTER,
        MILLION,
        kills=True,
        jobs=("map", "reduce", "join", "sort", "behind a sort", "cogroup"),
    ),
    "one in a million, divided": Run(CLUSTER, MILLION, settings=DIVIDE, jobs=DIVIDED),
}
EACH_RUN = [
    pytest.param(name, marks=[pytest.mark.long] if run.rows == MILLION else [])
    for name, run in RUNS.items()
]


class Story:
    """A run's story, and what its program printed for each job."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.path = str(folder / "run.story")
        settings = [each for text in run.settings for each in ("--conf", text)]
        arguments = [str(PROGRAM), str(run.rows), "kills" if run.kills else "", *run.jobs]
        done = pyrite(
            *("run", "--master", run.master, "--story", self.path), *CODE, *settings, *arguments
        )
        assert done.returncode == 0, done.stderr
        parts = re.split(r"^== (.+)\n", done.stdout, flags=re.MULTILINE)
        self.messages = dict(zip(parts[1::2], parts[2::2], strict=True))

    def commands(self) -> dict[str, list[str]]:
        """The command at the end of each message."""
        return {name: command_in(text) for name, text in self.messages.items()}


def pyrite(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyrite", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        check=False,
    )


def command_in(message: str) -> list[str]:
    last = message.strip().splitlines()[-1]
    label, _, command = last.partition(": ")
    assert label == "Run it again here under a debugger", message
    words = shlex.split(command)
    assert words[:2] == ["pyrite", "replay"]
    return words[1:]


@pytest.fixture(scope="module", params=EACH_RUN)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(RUNS[request.param], tmp_path_factory.mktemp("replayed"))


@pytest.fixture(scope="module")
def local_story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(Run("local[2]", SOME), tmp_path_factory.mktemp("replayed"))


def test_each_message_leads_to_the_record(story: Story) -> None:
    commands = story.commands()
    tasks = [command[-1] for command in commands.values()]
    done = subprocess.run(
        [sys.executable, "-c", EACH, story.path, *tasks],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.split(r"^== .+\n", done.stdout, flags=re.MULTILINE)[1:]
    bad = story.run.rows * 3 // 4 + 1
    for name, text in zip(commands, found, strict=True):
        assert "exit code 1" in text, (name, text)
        assert f"{PROGRAM}:" in one_line(text, "operator"), (name, text)
        assert f'File "{PACKAGE}' not in text, "frames of the engine's are none of the user's"
        if name == "compare":
            # Its function had taken all rows before it looked at one.
            assert "(the last one that it took)" in one_line(text, "record"), text
        else:
            assert re.search(rf"\b{bad}\b", one_line(text, "record")), (name, text)
        if name not in ("sorted partitions", "exit", "unhashable"):
            assert text.startswith("Traceback") and 'raise ValueError("this one")' in text


def one_line(text: str, start: str) -> str:
    (line,) = [each for each in text.splitlines() if each.startswith(start)]
    return line


def test_the_runs_are_what_they_should_be(story: Story) -> None:
    with StoryReader(story.path) as reader:
        run = RunModel(reader.header)
        run.add_all(reader.records())
    if story.run.kills:
        assert (
            sum("SIGKILL" in each.reason for each in run.executors.values())
            >= len(story.messages) // 2
        )
    if story.run.settings:
        assert run.counts["ReducerDivided"] >= 2
        assert run.counts["ReducersGrouped"] >= 1


def test_the_debugger_stands_where_the_exception_rose(local_story: Story) -> None:
    command = local_story.commands()["join"]
    said = iter(["p record", "where", "up 2", "p watch.operator.title", "q"])
    text, code = talk([sys.executable, "-m", "pyrite", *command], "(Pdb) ", said)
    bad = SOME * 3 // 4 + 1
    assert code == 1
    assert f"({bad}, ({bad}, {bad}))" in text.partition("(Pdb) p record")[2]
    first = text.partition("(Pdb) ")[0]
    assert first.index("record ") < first.index("operator ") < first.index("-> raise ValueError")
    assert "run_watched" in text.partition("(Pdb) up 2")[2]
    assert "'mapValues'" in text


def talk(command: list[str], prompt: str, lines: Iterator[str]) -> tuple[str, int]:
    """Runs a command on a terminal; says a line at each prompt."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    text = ""
    heard = 0
    while True:
        try:
            got = os.read(terminal, 1 << 16)
        except OSError:
            break
        text += got.decode()
        if text.endswith(prompt) and len(text) > heard:
            heard = len(text)
            os.write(terminal, f"{next(lines)}\n".encode())
    os.close(terminal)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_breakpoint_stops_a_task_that_does_not_fail(local_story: Story) -> None:
    lines = PROGRAM.read_text().splitlines()
    line = lines.index('    return x + offset.value["by"]') + 1
    command = ["replay", local_story.path, "--task", "0/1", "--break", f"{PROGRAM}:{line}"]
    said = iter(["p x", "q"])
    text, code = talk([sys.executable, "-m", "pyrite", *command], "(Pdb) ", said)
    assert code == 0
    assert f"(Pdb) p x\r\n{SOME // 4}\r\n" in text


DEATHS = """
import ctypes, os, signal
from pyspark import SparkContext
sc = SparkContext()
def leave(x):
    if x == 77:
        os._exit(3)
    return x
def die(x):
    if x == 33:
        os.kill(os.getpid(), signal.SIGKILL)
    return x
def crash(x):
    if x == 55:
        ctypes.string_at(0)
    return x
for function in (leave, die, crash):
    try:
        sc.parallelize(range(100), 4).map(function).count()
    except Exception as error:
        print(error, end="\\n\\n")
"""


def test_a_task_that_ended_its_executor_leads_to_the_record_too(tmp_path: Path) -> None:
    (tmp_path / "deaths.py").write_text(DEATHS)
    run = ("run", "--master", "local[2]", "--story", "run.story")
    done = pyrite(*run, *CODE, "deaths.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *messages, crashed = done.stdout.strip().split("\n\n")
    expected = [("77", "os._exit(3)", "in leave"), ("33", "killed by SIGKILL", "in die")]
    for message, (record, ending, function) in zip(messages, expected, strict=True):
        assert "ended its executor" in message
        found = pyrite(*command_in(message), "--no-debugger", cwd=tmp_path)
        assert found.returncode == 1, found.stderr
        assert one_line(found.stdout, "record").split() == ["record", record]
        assert f"ProcessEnded: {ending}" in found.stdout and function in found.stdout
    found = pyrite(*command_in(crashed), "--no-debugger", cwd=tmp_path)
    assert found.returncode == -signal.SIGSEGV
    assert re.search(r"deaths.py\", line 15 in crash", found.stderr), found.stderr


WORDS = """
from pyspark import SparkContext
sc = SparkContext()
lines = sc.textFile("lines.txt", 3)
words = lines.flatMap(str.split)
sums = words.map(lambda w: (w, len(w))).reduceByKey(lambda a, b: a + b, 2).setName("sums")
names = sc.parallelize([("river", 1), ("town", 2)], 2)
both = sums.sortByKey(numPartitions=2).join(names, 2).mapValues(lambda v: v[0] * v[1])
both.collect()
sums.coalesce(1).zipWithIndex().distinct().collect()
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    rows = [f"line {number} has river" for number in range(40)]
    (folder / "lines.txt").write_text("\n".join([*rows, "a town at the end"]) + "\n")
    (folder / "words.py").write_text(WORDS)
    done = pyrite(
        *("run", "--master", "local[2]", "--story", "run.story"), *CODE, "words.py", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_source_rows_behind_a_key(words: Path) -> None:
    done = pyrite("replay", "run.story", "--why", "words.py:8:town", cwd=words)
    assert done.returncode == 0, done.stderr
    assert "('town', 8) in RDD" in done.stdout
    assert "'a town at the end' from textFile" in done.stdout
    assert "('town', 2) from parallelize" in done.stdout
    assert "2 source rows are behind it" in done.stdout
    done = pyrite("replay", "run.story", "--why", "sums:0:river", cwd=words)
    assert done.returncode == 1
    assert "the story has no RDD sums:0" in done.stderr


def test_the_source_rows_behind_a_key_of_a_named_rdd(words: Path) -> None:
    done = pyrite("replay", "run.story", "--why", "sums:river", cwd=words)
    assert done.returncode == 0, done.stderr
    assert "('river', 200) in RDD" in done.stdout
    assert "'line 0 has river' from textFile" in done.stdout
    assert "40 source rows are behind it" in done.stdout


def test_the_first_row_that_breaks_a_rule(words: Path) -> None:
    done = pyrite("replay", "run.story", "--check", "sums", "lambda r: r[0] != 'town'", cwd=words)
    assert done.returncode == 1, done.stderr
    assert "('town', 4) breaks it" in done.stdout
    assert "1 source row is behind it" in done.stdout
    done = pyrite("replay", "run.story", "--check", "sums", "lambda r: r[1]", cwd=words)
    assert done.returncode == 0, done.stderr
    assert "it is true for all 48 rows" in done.stdout


def test_a_prompt_with_the_rdds(words: Path) -> None:
    said = iter(
        [
            'len(rdd("sums").collect()), rdd("sums").count()',
            'rdd("words.py:8").lineage',
            'sorted(rdd("words.py:8").take(5))',
            'rdd("words.py:9").count()',
            "rdd(99)",
            "\x04",
        ]
    )
    command = [sys.executable, "-m", "pyrite", "replay", str(words / "run.story")]
    text, code = talk(command, ">>> ", said)
    assert code == 0
    assert "(48, 48)" in text
    assert "join" in text and "textFile 'lines.txt'" in text
    assert "[('river', 200), ('town', 8)]" in text
    assert "the story has no RDD 99: it has" in text


def test_an_input_that_has_changed_is_said_first(words: Path, tmp_path: Path) -> None:
    path = words / "lines.txt"
    whole = path.read_text()
    try:
        path.write_text(whole + "one more\n")
        done = pyrite("replay", "run.story", "--check", "sums", "lambda r: True", cwd=words)
        assert done.stderr.startswith(f"changed since: {path} had {len(whole)} bytes")
        path.unlink()
        done = pyrite("replay", "run.story", "--check", "sums", "lambda r: True", cwd=words)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert f"the input file {path} is gone: put it back" in line
    finally:
        path.write_text(whole)
    done = pyrite("replay", "run.story", "--check", "sums", "lambda r: True", cwd=words)
    assert f"{path} was written again" in done.stderr
    assert done.returncode == 0
