"""What `pyrite replay` refuses, in one line with a cure."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from pyrite.cli import main
from pyrite.plan.program import OperatorRun, PlanStep, ProgramLayout
from pyrite.rdd.sources import Ranges
from pyrite.replay import command
from pyrite.replay.recording import check_owner
from pyrite.story.format import StoryHeader
from pyrite.story.records import JobBegan, Record, StageCode, StageMade
from pyrite.story.write import StoryWriter

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "start_with_stable_hashes", lambda: None)
    monkeypatch.setattr(command.alias, "install", lambda: None)


def header(python: str | None = None) -> StoryHeader:
    import platform

    return StoryHeader(
        *("app", "name", "1", python or platform.python_version(), "host", 1, 0.0, 0.0, "local"),
        settings={},
    )


def write(
    path: Path,
    python: str | None = None,
    code: bool = True,
    missing: str = "",
    rows: Any = range(10),
) -> str:
    """A story of one stage that counts to ten, in two partitions."""
    writer = StoryWriter(str(path), header(python))
    operators = [{"operator": "range", "method": "parallelize", "site": "job.py:3", "rdd": 1}]
    rdds = [{"id": 1, "partitions": 2, "inputs": [], "operators": operators}]
    told: list[Record] = [StageMade(0.0, 0, "count", 2, rdds=rdds)]
    if code:
        layout = ProgramLayout([PlanStep(None, (), 2)], [OperatorRun(0, 0, 1)])
        link = pickle.dumps(((Ranges(rows, 2),), len_of))
        blobs = [writer.add_blob(pickle.dumps(layout)), writer.add_blob(link)]
        lost = [missing] if missing else []
        told.append(StageCode(0.0, 0, blobs[0], [blobs[1]], missing=lost))
    told.append(JobBegan(0.0, 0, 0, 2, "count", "job.py:4"))
    writer.add(told)
    writer.close()
    return str(path)


def len_of(index: int, rows: object) -> int:
    return len(list(rows))  # type: ignore[call-overload]


def refusal(capsys: Capture, *arguments: str) -> str:
    assert main(["replay", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pyrite replay: ")
    return line


def test_what_is_no_story(tmp_path: Path, capsys: Capture) -> None:
    line = refusal(capsys, str(tmp_path / "none.story"))
    assert "can't be read: No such file or directory. To have one, " in line
    (tmp_path / "a.txt").write_text("hello")
    assert "is no story of Pyrite" in refusal(capsys, str(tmp_path / "a.txt"))
    (tmp_path / "b.story").write_text("pyrite story 99\n")
    assert "story of format 99" in refusal(capsys, str(tmp_path / "b.story"))


def test_a_story_without_code(tmp_path: Path, capsys: Capture) -> None:
    line = refusal(capsys, write(tmp_path / "a.story", code=False), "--task", "0/0")
    assert "run the program again with --conf pyrite.story.code=true" in line


def test_a_story_of_another_python(tmp_path: Path, capsys: Capture) -> None:
    line = refusal(capsys, write(tmp_path / "a.story", python="3.2.1"))
    assert "holds functions of Python 3.2" in line
    assert line.endswith("run pyrite replay with Python 3.2")


def test_rows_that_were_too_large_for_the_story(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "a.story", missing="the partitions of parallelize")
    line = refusal(capsys, path, "--task", "0/0")
    assert "the partitions of parallelize in stage 0 were too large" in line
    assert "raise pyrite.story.codeLimit" in line


def test_a_story_that_others_could_have_written(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.story")
    with open(path) as file:
        check_owner(path, file.fileno())
    os.chmod(path, 0o620)
    assert f"chmod go-w {path}" in refusal(capsys, path)
    os.chmod(path, 0o600)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert "belongs to another user" in refusal(capsys, path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task", "7/0"], "the story has no stage 7: it has 0"),
        (["--task", "0/2"], "stage 0 has no partition 2: it has 0 to 1"),
        (["--task", "four"], "--task takes STAGE/PARTITION, such as 4/17, not 'four'"),
        (["--why", "12"], "--why takes RDD:KEY"),
        (["--why", "12:x"], "the story has no RDD 12: it has 1"),
        (["--check", "1", "lambda"], "--check 'lambda': SyntaxError"),
        (["--check", "1", "3"], "--check takes a function"),
        (["--task", "0/0", "--break", "job.py"], "--break takes FILE:LINE"),
    ],
)
def test_what_there_is_not(
    tmp_path: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    assert said in refusal(capsys, write(tmp_path / "a.story"), *arguments)


def test_a_task_that_does_not_fail(tmp_path: Path, capsys: Capture) -> None:
    assert main(["replay", write(tmp_path / "a.story"), "--task", "0/1"]) == 0
    assert "stage 0, partition 1 ended without an error" in capsys.readouterr().out


def test_questions_about_rows(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "a.story")
    assert main(["replay", path, "--check", "1", "lambda row: row < 7"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("7 breaks it: it is not true\n")
    assert "7 from parallelize (range) at job.py:3, partition 1, row 2" in out
    assert main(["replay", path, "--check", "1", "lambda row: 1 / (row - 3)"]) == 1
    assert "3 breaks it: it raises ZeroDivisionError" in capsys.readouterr().out
    assert main(["replay", path, "--why", "1:11"]) == 1
    assert "has no row with the key 11" in capsys.readouterr().out
    assert main(["replay", path, "--why", "1:4"]) == 0
    assert "1 source row is behind it" in capsys.readouterr().out


def test_few_of_many_rows_with_a_key_are_repeated(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "a.story", rows=[4] * 150)
    assert main(["replay", path, "--why", "1:4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:10] == ["4 in RDD 1"] * 10
    assert lines[10] == "and 140 more in RDD 1"
    assert lines[-2:] == ["  and 50 more", "150 source rows are behind it"]
