"""Errors, with the user's own frames first, and what happened as sentences."""

from __future__ import annotations

import os
from typing import Any

from pyrite.story.account import replay_command
from pyrite.story.happenings import places
from pyrite.story.model import RunModel
from pyrite.story.parts import Happening, TaskFailure
from pyrite.ui.units import since_start_s

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def failure_list(run: RunModel, path: str) -> list[dict[str, Any]]:
    """Failures, alike ones together, the newest first."""
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for failure in run.errors:
        key = failure.stage, failure.error, failure.message
        known = found.pop(key, None)
        info = failure_info(run, failure, path)
        info["times"] = 1 if known is None else known["times"] + 1
        found[key] = info
    return list(reversed(found.values()))


def failure_info(run: RunModel, failure: TaskFailure, path: str) -> dict[str, Any]:
    stage = run.stages.get(failure.stage)
    return {
        "at_s": since_start_s(run, failure.at_s),
        "error": failure.error,
        "message": failure.message,
        "stage": failure.stage,
        "stage_name": stage.name if stage else "",
        "partition": places(failure.partitions),
        "attempt": failure.attempt,
        "executor": failure.executor,
        "user_traceback": users_part(failure.traceback),
        "traceback": failure.traceback,
        "replay": replay_command(run, failure, path),
    }


def users_part(traceback: str) -> str:
    """The frames that are not Pyrite's own, and what was raised.

    >>> print(users_part('Traceback:\\n  File "job.py", line 3, in f\\n    x()\\nKeyError'))
    Traceback:
      File "job.py", line 3, in f
        x()
    KeyError
    """
    lines, ours = [], False
    for line in traceback.rstrip("\n").split("\n"):
        if line.startswith('  File "'):
            ours = line.startswith(f'  File "{PACKAGE}{os.sep}')
        elif not line.startswith("    "):
            ours = False
        if not ours:
            lines.append(line)
    return "\n".join(lines)


def happening_info(run: RunModel, happening: Happening) -> dict[str, Any]:
    return {
        "at_s": since_start_s(run, happening.at_s),
        "sentence": happening.sentence,
        "about": dict(happening.about),
    }


def happening_list(run: RunModel, most: int) -> list[dict[str, Any]]:
    """What happened, the newest last."""
    return [happening_info(run, each) for each in list(run.happenings)[-most:]]
