"""A prompt with the RDDs of a story."""

from __future__ import annotations

import code
import pdb
import sys
from collections.abc import Callable
from typing import Any

from pyrite.replay.culprit import find_culprit, traceback_text
from pyrite.replay.inquiries import check_rows, list_sources
from pyrite.replay.rdds import ReplayedRdd
from pyrite.replay.recording import CantReplay
from pyrite.replay.replayer import Replayer

WELCOME = """\
rdd(12)             an RDD by the id that the program gave it: .take(5), .collect(), .count(),
                    .first(), .glom(), .partition(3), .lineage
rdd("4.2")          the same by stage and operator, for those without an id; rdd("job.py:31")
                    by the line that made it, and rdd("name") by the name given to it
rdds()              all of them          stages(), errors()    what ran, and what was raised
why(12, key)        the source rows behind a key
check(12, function) the first row for which the function is not true
task(4, 17)         run a task again; pdb.pm() then stands where it raised
Ctrl-D ends."""


def open_prompt(replayer: Replayer) -> int:
    """Reads lines until the input ends."""
    code.interact(banner=WELCOME, local=names(replayer), exitmsg="")
    return 0


def names(replayer: Replayer) -> dict[str, Any]:
    """What a prompt knows."""
    recording = replayer.recording

    def rdd(id: int | str) -> ReplayedRdd:
        """An RDD of the story."""
        return ReplayedRdd(replayer, recording.find_rdd(id))

    def rdds() -> None:
        """Lists the RDDs of the story."""
        for label in dict.fromkeys(each.label for each in recording.all_operators()):
            print(rdd(label))

    def stages() -> None:
        """Lists the stages that ran."""
        for stage in recording.run.stages.values():
            done = f"{stage.done} of {stage.total} partitions"
            print(f"stage {stage.id}: {stage.name}, {stage.status.lower()}, {done}")

    def errors() -> None:
        """Lists what tasks raised."""
        for each in recording.run.errors:
            where = ", ".join(f"task({each.stage}, {index})" for index in each.partitions)
            print(f"{where}: {each.message}")

    def task(stage: int, partition: int) -> None:
        """Runs a task again."""
        recording.check_partition(recording.stage(stage), partition)
        replayer.run_task(stage, partition, recording.failed_attempt(stage, partition))

    def why(id: int | str, key: Any) -> None:
        """Lists the source rows behind a key."""
        list_sources(replayer, rdd(id), key)

    def check(id: int | str, function: Callable[[Any], Any]) -> bool:
        """Whether the function is true for all rows; names the first for which it is not."""
        return check_rows(replayer, rdd(id), function)

    sys.excepthook = shown_with_culprit
    found = (rdd, rdds, stages, errors, task, why, check)
    return {"__name__": "__main__", "pdb": pdb, **{each.__name__: each for each in found}}


def shown_with_culprit(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Shows an exception at the prompt: in one line, or with the record behind it."""
    if isinstance(error, CantReplay):
        print(error, file=sys.stderr)
        return
    culprit = find_culprit(error)
    print(traceback_text(error, culprit), end="", file=sys.stderr)
    if culprit is not None:
        print("\n".join(culprit.lines()), file=sys.stderr)
