"""`pyrite stacks`: where every running task is."""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from pyrite.cluster.node.kin import descendants
from pyrite.cluster.node.stackfile import PREFIX, STACK_SIGNAL
from pyrite.conf import SparkConf
from pyrite.errors import UserError
from pyrite.execute.traces import is_ours
from pyrite.settings import Settings
from pyrite.story.account import seconds_text
from pyrite.story.clock import clock_s
from pyrite.story.format import BadStory
from pyrite.story.happenings import places
from pyrite.story.model import RunModel
from pyrite.story.paths import is_written, last_written
from pyrite.story.read import StoryReader

# How long an executor may take to write its stacks, and how long the file must not grow then.
MOST_S = 3.0
STILL_S = 0.1
LOOK_S = 0.02
FRAME = re.compile(r'\s*File "(?P<path>.*)", line (?P<line>\d+) in (?P<function>.*)')


class Asked(NamedTuple):
    """An executor process, and what it does as far as that is known."""

    pid: int
    title: str
    busy: bool


def show_stacks(chosen: argparse.Namespace) -> int:
    """Prints the stacks of all executors of a program; returns the exit code."""
    try:
        executors = find_executors(chosen.program)
    except UserError as error:
        print(f"pyrite stacks: {error}", file=sys.stderr)
        return 1
    shown = 0
    for executor in executors:
        if executor.busy or chosen.all:
            shown += show_executor(executor, chosen.all)
    if not shown:
        print("no task runs")
    return 0


def show_executor(executor: Asked, everything: bool) -> bool:
    text = stacks_of(executor.pid)
    if text is None:
        return False
    lines = stack_lines(text, everything)
    if not lines and not everything:
        return False
    print(executor.title)
    print("\n".join(f"  {line}" for line in lines), end="\n\n")
    return True


def find_executors(program: str | None) -> list[Asked]:
    """The executors of a story that is being written, or of a driver's process."""
    if program is not None and program.isdigit():
        pids = sorted(pid for pid in descendants(int(program)) if stack_file(pid) is not None)
        if not pids:
            raise BadStory(f"process {program} has no executors here: name the driver's process")
        return [Asked(pid, f"process {pid}", True) for pid in pids]
    path = program or last_written(story_folder())
    with StoryReader(path) as reader:
        run = RunModel(reader.header)
        run.add_all(reader.records())
    if run.ended_s is not None:
        raise BadStory(f"the program of {path!r} has ended: nothing runs any more")
    if reader.header.host != socket.gethostname():
        raise BadStory(
            f"the program of {path!r} runs on {reader.header.host}: ask for its stacks there"
        )
    found = [
        Asked(each.pid, title(run, each.id), bool(each.running))
        for each in run.executors.values()
        if each.gone_s is None and each.pid
    ]
    # Without a story, as when its disk is full, a program may run on.
    if not is_written(path) and not any(stack_file(each.pid) for each in found):
        raise BadStory(f"nothing runs any more of the program of {path!r}: its driver was killed")
    return found


def story_folder() -> str:
    return Settings(SparkConf()).str("spark.eventLog.dir").removeprefix("file://")


def title(run: RunModel, id: int) -> str:
    executor = run.executors[id]
    what = "no task"
    for attempt in (run.running[each] for each in executor.running):
        stage = run.stages.get(attempt.stage)
        name = "" if stage is None else f" ({stage.name})"
        since = seconds_text(clock_s(run) - attempt.started_s)
        what = f"stage {attempt.stage}{name}, partition {places(attempt.partitions)}, {since}"
    return f"executor {id} on {executor.node}, pid {executor.pid}: {what}"


def stack_file(pid: int) -> str | None:
    """The file into which a process writes its stacks; None if it would not."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        try:
            path = os.readlink(os.path.join(folder, name))
        except OSError:
            continue
        if os.path.basename(path).startswith(PREFIX) and os.path.exists(path):
            return path
    return None


def stacks_of(pid: int) -> str | None:
    """Asks a process for its stacks; None if it is gone."""
    path = stack_file(pid)
    if path is None:
        return None
    before = os.path.getsize(path)
    try:
        os.kill(pid, STACK_SIGNAL)
    except OSError:
        return None
    end_s = time.monotonic() + MOST_S
    size, still_s = before, time.monotonic()
    while (now_s := time.monotonic()) < end_s and (size == before or now_s - still_s < STILL_S):
        time.sleep(LOOK_S)
        grown = os.path.getsize(path)
        if grown != size:
            size, still_s = grown, time.monotonic()
    with open(path, "rb") as file:
        file.seek(before)
        return file.read().decode(errors="replace")


def stack_lines(text: str, everything: bool) -> Sequence[str]:
    """The stack of the task, its innermost call first; other threads only if all is asked for."""
    found: list[str] = []
    mine = False
    for line in text.splitlines():
        frame = FRAME.fullmatch(line)
        if frame is None:
            mine = line.startswith("Current thread")
            if everything and line:
                found.append(line)
        elif everything or (mine and not is_ours(frame["path"], frame["function"])):
            found.append(f"{frame['path']}:{frame['line']}, in {frame['function']}")
    return found
