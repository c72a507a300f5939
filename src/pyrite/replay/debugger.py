"""Python's debugger on a replayed task: after an exception, or at chosen lines."""

from __future__ import annotations

import builtins
import os
import pdb
from collections.abc import Callable

from pyrite.replay.culprit import Culprit, from_operator
from pyrite.replay.recording import CantReplay


def post_mortem(error: BaseException, culprit: Culprit | None) -> None:
    """Stands where the exception rose; `record` is what the operator had in hand."""
    if culprit is not None:
        # As builtins they are known in every frame that has no such name of its own.
        vars(builtins).update(record=culprit.record, operator=culprit.operator)
        print("`record` is that record; `up` leads to the loop that runs the operator")
    debugger = pdb.Pdb(nosigint=True)
    debugger.reset()
    debugger.interaction(None, from_operator(error))


def run_with_stops(run: Callable[[], None], stops: list[str]) -> None:
    """Runs under the debugger, which stops at these lines."""
    debugger = pdb.Pdb(nosigint=True, readrc=False)
    for each in stops:
        path, _, line = each.rpartition(":")
        if not path or not line.isdecimal():
            raise CantReplay(f"--break takes FILE:LINE, such as job.py:31, not {each!r}")
        problem = debugger.set_break(os.path.abspath(path), int(line))
        if problem:
            raise CantReplay(f"--break {each}: {problem}")
    # It would stop at the first line of all.
    debugger.rcLines.append("continue")
    debugger.runcall(run)
