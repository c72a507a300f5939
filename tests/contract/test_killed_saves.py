"""Nothing is left of a save whose driver was killed, and a living one is never touched."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from marks import PATIENCE_S, Marks, wait_until
from programs import run_program, start_program

from pyrite.cluster.scratch import sweep

# Kills its driver before the n-th step that the driver takes below a folder.
PROGRAM = """
import os, signal, sys
from pyrite import SparkConf, SparkContext

STEPS = {{"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "open"}}
steps = 0
def watch(event, arguments):
    global steps
    if event in STEPS and str(arguments[0]).startswith({folder!r}):
        steps += 1
        if steps == {step}:
            os.kill(os.getpid(), signal.SIGKILL)

conf = SparkConf().setMaster({master!r}).set("spark.local.dir", {scratch!r})
sc = SparkContext(conf=conf)
rows = sc.parallelize(range(100), 3)
driver = os.getpid()
def end(number):
    def kill(row):
        if row:
            return row
        if number == signal.SIGKILL:
            # The fork server would undo the save: it goes too.
            fork server = os.getppid()
            os.kill(fork server, signal.SIGSTOP)
            os.kill(driver, number)
            os.kill(fork server, number)
        os.kill(driver, number)
        while True:
            signal.pause()
    return kill
"""
SAVE = """
sys.addaudithook(watch)
rows.saveAsTextFile({folder!r} + "/new/out")
os._exit(0)
"""
CHECKPOINT = """
sc.setCheckpointDir({folder!r})
rows.checkpoint()
sys.addaudithook(watch)
rows.count()
assert rows.isCheckpointed()
os._exit(0)
"""


class Place:
    """Where programs save to, and what is to be seen there."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "data"
        self.scratch = tmp_path / "scratch"
        self.folder.mkdir()
        self.scratch.mkdir()

    def source(self, text: str, step: int = 0, master: str = "local[2]") -> str:
        folder, scratch = str(self.folder), str(self.scratch)
        return (PROGRAM + text).format(folder=folder, scratch=scratch, step=step, master=master)

    def hidden(self) -> list[Path]:
        return [each for each in self.folder.rglob(".*") if ".pyrite-" in each.name]

    def wait_for_processes(self) -> None:
        """The driver's other processes undo what it began."""
        wait_until(lambda: not self.hidden() and not self._scratch_folders(), "their end")

    def wait_for_next_start(self) -> None:
        """They do, or, where they were not there yet, whoever starts next."""
        wait_until(lambda: not self._swept_folders(), "the removal of the scratch folders")
        assert not self.hidden()

    def _scratch_folders(self) -> list[Path]:
        return list(self.scratch.glob("pyrite-*/app-*"))

    def _swept_folders(self) -> list[Path]:
        for home in self.scratch.iterdir():
            sweep(str(home))
        return self._scratch_folders()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def run_to_its_death(source: str, number: signal.Signals = signal.SIGKILL) -> bool:
    """Whether the program was killed before its end."""
    done = run_program(source)
    assert done.returncode in (0, -number), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("first", [1, 2])
def test_a_save_killed_at_any_step_leaves_nothing_or_all(place: Place, first: int) -> None:
    step = first
    while run_to_its_death(place.source(SAVE, step)):
        place.wait_for_next_start()
        out = place.folder / "new" / "out"
        if out.exists():
            assert {each.name for each in out.iterdir()} == {
                "_SUCCESS",
                *(f"part-0000{index}" for index in range(3)),
            }
            break
        assert not (place.folder / "new").exists(), "its parents were made for it alone"
        step += 4
    assert step > 9, "the driver takes more steps than that"


def test_a_checkpoint_killed_at_any_step_leaves_nothing_hidden(place: Place) -> None:
    step = 1
    while run_to_its_death(place.source(CHECKPOINT, step)):
        place.wait_for_next_start()
        step += 5
    assert step > 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,512m]"])
def test_a_save_ended_by_a_signal_leaves_nothing(
    place: Place, master: str, number: signal.Signals
) -> None:
    text = f"""
rows.map(end({number})).saveAsTextFile({{folder!r}} + "/out")
"""
    assert run_to_its_death(place.source(text, master=master), number)
    place.wait_for_processes()
    assert not list(place.folder.iterdir())


def test_what_nobody_could_undo_is_removed_by_the_next_start(place: Place) -> None:
    text = f"""
rows.map(end({signal.SIGKILL})).saveAsTextFile({{folder!r}} + "/out")
"""
    assert run_to_its_death(place.source(text))
    assert place.hidden()
    assert not run_to_its_death(place.source("sc.stop()"))
    assert not list(place.folder.iterdir())


def test_a_living_save_to_the_same_place_is_left_alone(place: Place, marks: Marks) -> None:
    text = f"""
from marks import Marks
marks = Marks({marks.folder!r})
def wait(row):
    marks.add("begun")
    marks.wait("go")
    return row
rows.map(wait).saveAsTextFile({{folder!r}} + "/out")
os._exit(0)
"""
    with start_program(place.source(text)) as living:
        marks.wait("begun")
        (stage,) = place.hidden()
        killed = f"""
rows.map(end({signal.SIGKILL})).saveAsTextFile({{folder!r}} + "/out")
"""
        assert run_to_its_death(place.source(killed))
        assert len(place.hidden()) == 2
        assert not run_to_its_death(place.source("sc.stop()"))
        assert place.hidden() == [stage]
        marks.add("go")
        _, err = living.communicate(timeout=PATIENCE_S)
        assert living.returncode == 0, err
    assert [each.name for each in place.folder.iterdir()] == ["out"]
    assert (place.folder / "out" / "_SUCCESS").exists()
