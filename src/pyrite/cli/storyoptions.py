"""The options of `pyrite story`, `pyrite top` and `pyrite stacks`."""

from __future__ import annotations

import argparse

STORY = """\
Tell a run from its story: which jobs ran, what their stages did, what failed and how it was made
good. A story is written when a program runs with `pyrite run --story FILE`, or with
spark.eventLog.enabled=true. A story whose driver was killed is read up to there; damage is said
with its place, after what comes before it.
"""

STORY_EXAMPLES = """\
examples:
  pyrite run --story run.story job.py
  pyrite story run.story                    the whole run
  pyrite story run.story --stage 4          one stage: its operators, quantiles, slowest tasks
  pyrite story run.story --errors           what was raised, and where
  pyrite story run.story --json | jq .kind  every record, an object a line
  pyrite story run.story --trace run.json   for ui.perfetto.dev, a track for each executor
"""

TOP = """\
Show a running program: its jobs, its stages and what each executor does. It follows the program's
story, so it costs the program nothing. Ctrl-C ends it, and so does the program's end.
"""

STACKS = """\
Say where every running task is, even inside code written in C. Each executor writes down its
stack at a signal; nothing is attached to it, and the task goes on.
"""

WHICH = "a story that is being written; without it, the last one in spark.eventLog.dir"


def add_story_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the story")
    parser.add_argument("--job", metavar="N", type=int, help="only what concerns this job")
    parser.add_argument("--stage", metavar="N", type=int, help="only this stage, and its tasks")
    parser.add_argument("--node", metavar="NAME", help="only what happened on this node")
    parser.add_argument("--errors", action="store_true", help="only what tasks raised, in full")
    parser.add_argument("--json", action="store_true", help="every record, one object a line")
    parser.add_argument("--trace", metavar="OUT", help="write Chrome's trace format, for Perfetto")
    parser.add_argument(
        "--flame", metavar="OUT", help="write a flame graph of pyrite.profile.hertz, as SVG"
    )


def add_top_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help=WHICH)
    parser.add_argument(
        "--every", metavar="SECONDS", type=float, default=1.0, help="how often to look (1)"
    )
    parser.add_argument("--once", action="store_true", help="look once")


def add_stacks_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program", metavar="FILE|PID", nargs="?", help=f"{WHICH}; or the driver's process"
    )
    parser.add_argument(
        "--all", action="store_true", help="Pyrite's own frames too, and executors without a task"
    )
