"""`pyrite story`, `pyrite top` and `pyrite stacks`: what they print, and what they refuse."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from storytelling import HEADER, Told, records_of, write_story

from pyrite.cli import main
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import two_stages
from pyrite.story import records as rec
from pyrite.story.format import StoryHeader
from pyrite.story.write import StoryWriter

Output = pytest.CaptureFixture[str]


@pytest.fixture
def story(tmp_path: Path) -> str:
    """The story of 6 maps and 4 reducers on two nodes, of which a task fails once."""
    path = tmp_path / "run.story"
    file = Told(path)
    workload = two_stages([1.0] * 6, [1.0] * 4, 1e6)
    simulate(workload, [NodeKind(1)] * 2, CostModel(), listeners=[file.record])
    file.close()
    told = records_of(path)
    start = next(each for each in told if isinstance(each, rec.TaskStarted))
    failed = start._replace(attempt=99)
    error = rec.TaskError(start.at_s, 99, "KeyError", "KeyError", "Traceback\n  in f\nKeyError\n")
    place = told.index(start)
    sampled = rec.TaskSampled(start.at_s, 99, {"f (x.py:1);g (x.py:2)": 3, "f (x.py:1)": 1})
    told[place:place] = [failed, error, sampled, rec.TaskEnded(start.at_s, 99, rec.RAISED)]
    write_story(path, told)
    return str(path)


def lines(capsys: Output) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_the_account_tells_jobs_stages_and_faults_in_order(story: str, capsys: Output) -> None:
    assert main(["story", story]) == 0
    told = lines(capsys)
    assert told[0].startswith("test (app-1) on here, master local[2]")
    assert "1 job (0 failed), 2 stages, 11 tasks, 1 failed" in told[1]
    times = [float(line.split()[0]) for line in told[3:]]
    assert times == sorted(times)
    text = "\n".join(told)
    for part in (
        "job 0 began",
        "raised KeyError on executor",
        "stage 0 (maps) ended: 7 tasks",
        "job 0 succeeded after",
        "the application ended",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("options", "there", "not_there"),
    [
        (["--stage", "1"], "stage 1 (reduces) ended", "stage 0 (maps) ended"),
        (["--job", "0"], "stage 0 (maps) ended", "joined"),
        (["--node", "node-0"], "node-0 joined", "node-1 joined"),
        (["--errors"], "Traceback\n  in f\nKeyError\nstage 0, partition", "joined"),
    ],
)
def test_a_part_of_it_can_be_asked_for(
    story: str, capsys: Output, options: list[str], there: str, not_there: str
) -> None:
    assert main(["story", story, *options]) == 0
    out = capsys.readouterr().out
    assert there in out and not_there not in out


def test_an_error_ends_with_the_command_that_runs_it_again(tmp_path: Path, capsys: Output) -> None:
    path = str(tmp_path / "my run.story")
    header = StoryHeader("app", "name", "1", "3", "host", 1, 0.0, 0.0, "local", {}, code=True)
    writer = StoryWriter(path, header)
    writer.add(
        [
            rec.StageMade(0.0, 4, "map at job.py:3", 20),
            rec.TaskStarted(0.5, 7, 0, 4, [17], 0, 0),
            rec.TaskError(1.0, 7, "KeyError", "KeyError", "Traceback\n  in f\nKeyError\n"),
            rec.TaskEnded(1.0, 7, rec.RAISED, rows_read=1),
        ]
    )
    writer.close()
    assert main(["story", path, "--errors"]) == 0
    command = f"pyrite replay '{path}' --task 4/17"
    assert lines(capsys)[-2:] == [f"Run it again under a debugger: {command}", ""]
    assert main(["story", path, "--stage", "4"]) == 0
    assert "1 row in, 0 out" in capsys.readouterr().out


def test_every_record_is_an_object_a_line(story: str, capsys: Output) -> None:
    assert main(["story", story, "--json"]) == 0
    told = [json.loads(line) for line in lines(capsys)]
    assert told[0]["kind"] == "StoryBegan" and told[0]["application"] == "app-1"
    assert all({"kind", "at_s"} <= each.keys() for each in told)
    assert [each["kind"] for each in told[1:]] == [rec.kind_of(each) for each in records_of(story)]
    assert main(["story", story, "--json", "--stage", "1"]) == 0
    kinds = {json.loads(line)["kind"] for line in lines(capsys)}
    assert {"StageMade", "TaskStarted", "TaskEnded"} <= kinds and "NodeAdded" not in kinds
    assert main(["story", story, "--json", "--errors"]) == 0
    assert {json.loads(line)["kind"] for line in lines(capsys)} == {"TaskError"}


def test_the_trace_has_a_track_for_each_executor(
    story: str, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "trace.json"
    assert main(["story", story, "--trace", str(out)]) == 0
    events = json.loads(out.read_text())["traceEvents"]
    tasks = [each for each in events if each["ph"] == "X" and "/" in each["name"]]
    assert len(tasks) == 11 and all(each["dur"] >= 0 for each in tasks)
    named = {(each["pid"], each["tid"]) for each in events if each["name"] == "thread_name"}
    assert {(each["pid"], each["tid"]) for each in tasks} == named
    assert len(named) == 2


def test_a_flame_graph_is_as_wide_as_its_samples(
    story: str, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "flame.svg"
    assert main(["story", story, "--flame", str(out), "--stage", "0"]) == 0
    picture = ElementTree.parse(out).getroot()
    space = "{http://www.w3.org/2000/svg}"
    widths = {
        (box.findtext(f"{space}title") or "").partition(":")[0].split(" ")[0]: float(
            box.find(f"{space}rect").attrib["width"]  # type: ignore[union-attr]
        )
        for box in picture.findall(f"{space}g")
    }
    assert widths["f"] == widths["all"] and widths["g"] == pytest.approx(widths["f"] * 0.75)
    assert main(["story", story, "--flame", str(out), "--stage", "1"]) == 1
    assert "pyrite.profile.hertz=100" in capsys.readouterr().err


def test_damage_is_said_after_what_comes_before_it(story: str, capsys: Output) -> None:
    data = bytearray(Path(story).read_bytes())
    data[-3] ^= 1
    Path(story).write_bytes(data)
    assert main(["story", story]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("test (app-1)")
    assert said.err.startswith("pyrite story: ") and "is damaged at byte" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "blame"),
    [
        (["--stage", "9"], "the story has no stage 9: it has 0, 1"),
        (["--job", "7"], "the story has no job 7: it has 0"),
        (["--node", "mars"], "the story has no node mars: it has node-0, node-1"),
        (["--trace", "/no/such/folder/x"], "can't be written: No such file"),
    ],
)
def test_what_it_does_not_have_is_refused_in_one_line(
    story: str, capsys: Output, options: list[str], blame: str
) -> None:
    assert main(["story", story, *options]) == 1
    said = capsys.readouterr().err
    assert said.startswith("pyrite story: ") and blame in said and said.count("\n") == 1


@pytest.mark.parametrize("command", ["story", "top", "stacks"])
def test_a_file_that_is_no_story_is_refused(tmp_path: Path, capsys: Output, command: str) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    for name, blame in (("notes.txt", "is no story"), ("none", "No such file")):
        assert main([command, str(tmp_path / name)]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"pyrite {command}: ") and blame in said and said.count("\n") == 1


def test_top_shows_what_runs(story: str, tmp_path: Path, capsys: Output) -> None:
    told = records_of(story)
    middle = next(place for place, each in enumerate(told) if isinstance(each, rec.StageEnded))
    write_story(story, told[: middle + 6])
    assert main(["top", story]) == 0
    out = capsys.readouterr().out
    assert "job 0: " in out and "stage 1 [" in out and "/4 done" in out
    assert "executor 0 on node-0" in out


@pytest.mark.parametrize("command", ["top", "stacks"])
def test_without_a_running_program_there_is_nothing_to_show(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PYRITE_CONF", f"spark.eventLog.dir={tmp_path}")
    assert main([command]) == 1
    assert "no program writes a story into" in capsys.readouterr().err


def test_a_driver_that_was_killed_is_said(
    story: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = records_of(story)
    middle = next(place for place, each in enumerate(told) if isinstance(each, rec.StageEnded))
    write_story(story, told[: middle + 6])
    assert main(["top", story]) == 0
    assert lines(capsys)[-1].endswith("its driver was killed")
    monkeypatch.setattr("socket.gethostname", lambda: HEADER.host)
    assert main(["stacks", story]) == 1
    assert "its driver was killed" in capsys.readouterr().err


def test_the_stacks_of_a_run_that_has_ended_are_refused(story: str, capsys: Output) -> None:
    assert main(["stacks", story]) == 1
    assert "has ended" in capsys.readouterr().err
    assert main(["stacks", str(os.getpid())]) == 1
    assert "has no executors here" in capsys.readouterr().err
