"""`pyrite top`: a running program, from its story."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable

from pyrite.cli.stacks import story_folder
from pyrite.errors import UserError
from pyrite.memory import bytes_text
from pyrite.story.account import introduction, seconds_text
from pyrite.story.clock import clock_s
from pyrite.story.happenings import places
from pyrite.story.model import RunModel
from pyrite.story.parts import StageState
from pyrite.story.paths import is_written, last_written
from pyrite.story.read import StoryReader

BAR = 20
# Clears the screen and puts the cursor into its corner.
CLEAR = "\x1b[H\x1b[2J"
MOST_STAGES = 12
MOST_LINES = 3


def show_top(chosen: argparse.Namespace, sleep: Callable[[float], None] = time.sleep) -> int:
    """Shows the program until it ends; returns the exit code."""
    try:
        path = chosen.file or last_written(story_folder())
        with StoryReader(path) as reader:
            run = RunModel(reader.header)
            while True:
                # Asked first: what was written before the end is read after it.
                written = is_written(path)
                run.add_all(reader.records())
                screen = CLEAR if sys.stdout.isatty() and not chosen.once else ""
                now_s = clock_s(run) if written else run.last_s
                lines = lines_of(run, now_s)
                if not written and run.ended_s is None:
                    lines.append("nothing is added to this story any more: its driver was killed")
                print(screen + "\n".join(lines), flush=True)
                if chosen.once or run.ended_s is not None or not written:
                    return 0
                sleep(chosen.every)
    except UserError as error:
        print(f"pyrite top: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def lines_of(run: RunModel, now_s: float) -> list[str]:
    """What runs, and what happened last."""
    width = shutil.get_terminal_size().columns
    lines = [*introduction(run, now_s), ""]
    for job in run.jobs.values():
        if job.ended_s is None:
            took = seconds_text(now_s - job.began_s)
            lines.append(f"job {job.id}: {job.action} at {job.site}, for {took}")
    active = [each for each in run.stages.values() if each.status == "ACTIVE"]
    lines += [stage_line(each) for each in active[-MOST_STAGES:]]
    lines.append("")
    for executor in run.executors.values():
        if executor.gone_s is None:
            attempts = [run.running[id] for id in executor.running]
            doing = ", ".join(
                f"{each.stage}/{places(each.partitions)} for {seconds_text(now_s - each.started_s)}"
                for each in attempts
            )
            totals = executor.totals
            lines.append(
                f"executor {executor.id} on {executor.node}, pid {executor.pid}: "
                f"{doing or 'idle'}; {totals.succeeded} done, {totals.failed} failed"
            )
    for node in run.nodes.values():
        if node.gone_s is None and node.pool:
            last = node.pool[-1]
            used, size = bytes_text(last.used_bytes), bytes_text(last.size_bytes)
            lines.append(f"{node.id}: pool {used} of {size}")
    lines += ["", *(each.sentence for each in list(run.happenings)[-MOST_LINES:])]
    return [line[:width] for line in lines]


def stage_line(stage: StageState) -> str:
    filled = BAR * stage.done // max(1, stage.total)
    bar = "#" * filled + "." * (BAR - filled)
    failed = f", {stage.failed} failed" if stage.failed else ""
    counts = f"{stage.done}/{stage.total} done, {stage.active} running{failed}"
    return f"  stage {stage.id} [{bar}] {counts}: {stage.name}"
