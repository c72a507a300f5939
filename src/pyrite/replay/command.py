"""`pyrite replay`: runs tasks of a story again, and answers questions about its RDDs."""

from __future__ import annotations

import argparse
import ast
import bdb
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from pyrite import alias
from pyrite.errors import UserError
from pyrite.replay.culprit import find_culprit, traceback_text
from pyrite.replay.endings import endings_raised
from pyrite.replay.inputs import changes
from pyrite.replay.inquiries import check_rows, list_sources, say_culprit
from pyrite.replay.rdds import ReplayedRdd
from pyrite.replay.recording import CantReplay, Recording
from pyrite.replay.replayer import Replayer
from pyrite.replay.surroundings import TaskSurroundings


def replay(chosen: argparse.Namespace) -> int:
    """Does what was asked for; returns the exit code: 1 where something was found wrong."""
    start_with_stable_hashes()
    alias.install()
    try:
        recording = Recording(chosen.file)
        try:
            stage = stage_asked(recording, chosen)
            for each in changes(recording, stage):
                print(f"changed since: {each}", file=sys.stderr)
            around = TaskSurroundings(recording)
            try:
                return answer(Replayer(recording, around, say), chosen)
            finally:
                around.close()
        finally:
            recording.close()
    except UserError as error:
        print(f"pyrite replay: {error}", file=sys.stderr)
        return 1


def say(text: str) -> None:
    print(text, file=sys.stderr)


def start_with_stable_hashes() -> None:
    """Starts Python anew with the hashes of executors: sets have the order that they had."""
    if sys.flags.hash_randomization:
        sys.stdout.flush()
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def stage_asked(recording: Recording, chosen: argparse.Namespace) -> int | None:
    """The stage that is run again with those before it; None where that can be any."""
    if chosen.task is not None:
        return task_of(chosen.task)[0]
    if chosen.why is not None:
        return recording.find_rdd(key_of(chosen.why)[0]).stage
    if chosen.check is not None:
        return recording.find_rdd(chosen.check[0]).stage
    return None


def answer(replayer: Replayer, chosen: argparse.Namespace) -> int:
    if chosen.task is not None:
        return replay_task(replayer, *task_of(chosen.task), chosen)
    if chosen.why is not None:
        id, key = key_of(chosen.why)
        return asked(replayer, id, lambda rdd: list_sources(replayer, rdd, key))
    if chosen.check is not None:
        function = function_of(chosen.check[1])
        return asked(replayer, chosen.check[0], lambda rdd: check_rows(replayer, rdd, function))
    from pyrite.replay.prompt import open_prompt

    return open_prompt(replayer)


def asked(replayer: Replayer, id: str, ask: Callable[[ReplayedRdd], bool]) -> int:
    """The answer about an RDD; an exception of its functions is shown with its record."""
    rdd = ReplayedRdd(replayer, replayer.recording.find_rdd(id))
    try:
        return 0 if ask(rdd) else 1
    except UserError:
        raise
    except Exception as error:
        say_culprit(error)
        print(traceback_text(error, find_culprit(error)), end="")
        return 1


def replay_task(replayer: Replayer, stage: int, partition: int, chosen: argparse.Namespace) -> int:
    """Runs a task; where it raises, prints who did, and opens the debugger."""
    recording = replayer.recording
    recording.check_partition(recording.stage(stage), partition)
    attempt = recording.failed_attempt(stage, partition)

    def run() -> None:
        with endings_raised():
            replayer.run_task(stage, partition, attempt)

    debugs = sys.stdin.isatty() and not chosen.no_debugger
    try:
        if chosen.stops:
            from pyrite.replay.debugger import run_with_stops

            run_with_stops(run, chosen.stops)
        else:
            run()
    except (UserError, KeyboardInterrupt):
        raise
    except bdb.BdbQuit:
        return 1
    except BaseException as error:
        # A SystemExit too: it fails a task as any other does.
        culprit = find_culprit(error)
        print(traceback_text(error, culprit), end="")
        if culprit is not None:
            print("\n".join(culprit.lines()))
        if debugs:
            from pyrite.replay.debugger import post_mortem

            post_mortem(error, culprit)
        return 1
    raised = attempt is not None and attempt.error is not None
    what = "raised nothing this time" if raised else "ended without an error, as it did"
    print(f"stage {stage}, partition {partition} {what}")
    if raised and attempt is not None and attempt.error is not None:
        print(
            f"it had raised {attempt.error.error}: what depends on chance, time or other programs "
            "is not repeated"
        )
    return 0


def task_of(text: str) -> tuple[int, int]:
    stage, _, partition = text.partition("/")
    if not stage.isdecimal() or not partition.isdecimal():
        raise CantReplay(f"--task takes STAGE/PARTITION, such as 4/17, not {text!r}")
    return int(stage), int(partition)


def key_of(text: str) -> tuple[str, Any]:
    """The RDD and the key; a key that is no Python literal is text."""
    found = re.fullmatch(r"([\d.]+|[^:]+:\d+|[^:]+):(.*)", text, re.DOTALL)
    if found is None:
        raise CantReplay(
            "--why takes RDD:KEY, such as 12:berlin, towns:berlin or job.py:31:berlin, "
            f"not {text!r}"
        )
    try:
        return found[1], ast.literal_eval(found[2])
    except (ValueError, SyntaxError):
        return found[1], found[2]


def function_of(text: str) -> Callable[[Any], Any]:
    try:
        function = eval(text, {})
    except Exception as error:
        raise CantReplay(f"--check {text!r}: {type(error).__name__}: {error}") from None
    if not callable(function):
        raise CantReplay(f"--check takes a function, such as 'lambda r: r > 0', not {text!r}")
    return function  # type: ignore[no-any-return]
