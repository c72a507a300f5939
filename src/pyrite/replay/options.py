"""The options of `pyrite replay`."""

from __future__ import annotations

import argparse

REPLAY = """\
Run tasks of a story again, here, in one process: what they read is computed again from the
sources. A task that raised stands in Python's debugger where it did, with the record in hand.
The story must have been written with pyrite.story.code=true, by you: the code in it runs.
What a program does by chance, or by the clock, is not repeated.
"""

REPLAY_EXAMPLES = """\
examples:
  pyrite run --story run.story --conf pyrite.story.code=true job.py
  pyrite replay run.story --task 4/17              the task that failed, under the debugger
  pyrite replay run.story --task 4/17 --no-debugger  the record, the operator, the traceback
  pyrite replay run.story --task 4/17 --break job.py:31  stop there, whether it fails or not
  pyrite replay run.story                          a prompt: rdd(12).take(5), rdd(12).lineage
  pyrite replay run.story --why 12:berlin          the source rows behind a key of RDD 12
  pyrite replay run.story --check 12 'lambda r: r[1] > 0'    the first row that breaks it
"""


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the story")
    parser.add_argument(
        "--task", metavar="STAGE/PARTITION", help="run this task again, as its error says"
    )
    parser.add_argument(
        "--no-debugger", action="store_true", help="print what --task finds, and end with 1"
    )
    parser.add_argument(
        "--break",
        dest="stops",
        metavar="FILE:LINE",
        action="append",
        default=[],
        help="with --task: stop in the debugger at this line; may be given several times",
    )
    parser.add_argument(
        "--why", metavar="RDD:KEY", help="list the source rows behind a key of an RDD"
    )
    parser.add_argument(
        "--check",
        nargs=2,
        metavar=("RDD", "FUNCTION"),
        help="name the first row of an RDD for which the function is not true",
    )
