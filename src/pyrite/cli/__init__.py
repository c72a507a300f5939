"""The command `pyrite`: runs PySpark's RDD programs, opens a prompt, simulates clusters, plans,
and keeps files on rings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pyrite.cli.options import add_application_options, apply_defaults
from pyrite.cli.parser import Parser, check_command
from pyrite.cli.raysubmit import add_ray_options, submit_to_ray
from pyrite.cli.storyoptions import (
    STACKS,
    STORY,
    STORY_EXAMPLES,
    TOP,
    add_stacks_options,
    add_story_options,
    add_top_options,
)
from pyrite.cli.uioptions import UI, UI_EXAMPLES, add_ui_options
from pyrite.dht.options import (
    FS,
    FS_EXAMPLES,
    RING,
    RING_EXAMPLES,
    add_fs_options,
    add_ring_options,
)
from pyrite.errors import ClusterError, UserError
from pyrite.forecast.options import add_simulate_options
from pyrite.rent.options import add_plan_options
from pyrite.replay.options import REPLAY, REPLAY_EXAMPLES, add_replay_options
from pyrite.version import __version__

DESCRIPTION = """\
Pyrite is an in-memory cluster-computing engine for Python: the RDD API that PySpark
users know, with no JVM.
"""

EXAMPLES = """\
examples:
  pyrite run wordcount.py book.txt        run a program that was written for PySpark
  pyrite run --master local[4] job.py     the same on four executors
  pyrite submit --ray 10.0.0.5:8265 job.py   the same on a Ray cluster
  pyrite shell                            a Python prompt with a context ready as sc
  pyrite explain job.py                   which of its functions run in C, and why others don't
  pyrite settings locality                what can be set about locality, and its defaults
  pyrite story run.story                  what happened in a run, from its story
  pyrite replay run.story --task 4/17     a failed task again, in a debugger, here
  pyrite ui run.story                     a page that shows it
  pyrite sim app.story --nodes 4,8,16     how a job that ran here would run on a cluster
  pyrite plan app.story --instances prices.toml --budget 5     which machines to rent for it
  pyrite ring start lab --dir /data/ring  keep files on a ring of machines, as dht://lab/...
"""

RUN = """\
Run a program written for PySpark's RDD API, unchanged: `import pyspark` gives Pyrite, in the
program and in its tasks, even where PySpark is installed. Whatever follows SCRIPT is the
program's own; it finds it in sys.argv. The options are those of spark-submit, and `pyrite submit`
is the same command. What the program itself sets, with SparkConf or SparkSession.builder, wins
over the options here, and they win over the environment variables PYRITE_CONF and
PYSPARK_SUBMIT_ARGS, and these over spark-defaults.conf in the folder SPARK_CONF_DIR.
"""

SHELL = """\
Open a Python prompt with a context ready as sc and a session as spark. Functions and classes
typed there work in tasks. Ctrl-C cancels the running job and keeps the prompt; Ctrl-D ends it.
"""

EXPLAIN = """\
Run a program and list what became of its functions: which ran in C on the row machine, and why
others ran in Python. Rows are offered to the machine from the first on; without this command only
those beyond the first thousands of a task are.
"""

SETTINGS = """\
List every setting with its type, its default on this machine and its meaning. Settings are
given with --conf, SparkConf, SparkSession.builder.config, the environment variable
PYRITE_CONF (spark.master=local[2],spark.executor.memory=512m) or a file spark-defaults.conf in
the folder SPARK_CONF_DIR.
"""

SIM = """\
Simulate how the jobs of a story would run on clusters of several sizes: the real scheduler plans
the tasks, and the tasks take the time that they took in the story, with network, disk and memory
as the options say. A story is written when a program runs with `pyrite run --story FILE`.
"""

SIM_EXAMPLES = """\
example:
  pyrite run --story stories/job.story job.py
  pyrite sim stories/*.story --nodes 4,8,16 --cores 4 --memory 8g --network 1g \\
      --failures 0.5/h --plot job.svg
"""


PLAN = """\
Say which machines to rent for each stage of a job, and why: how many executors, and how many
storage-only nodes that lend their memory. Stages get machines where a dollar saves the most time,
as long as the budget lasts. What the tasks do and need is read from stories of earlier runs, or
from the story of a run that still goes on. A story is written when a program runs with
`pyrite run --story FILE`.
"""

PLAN_EXAMPLES = """\
example of prices.toml; spot prices may change while a job runs:
  [[instance]]
  name = "large"
  cores = 8
  memory = "32g"
  price_per_hour = 0.38
  network = "10g"                           bits a second (as measured)
  disk = "125m"                             bytes a second (as measured)
  startup = 40                              seconds paid before it works (0)

  [[instance]]
  name = "spot memory"
  kind = "storage"                          or "executor" (either)
  cores = 2
  memory = "64g"
  spot = true
  prices = [[0, 0.11], [1800, 0.16]]        seconds after the start, dollars an hour
  pool = 0.8                                the part of its memory that is lent

examples:
  pyrite plan stories/*.story --instances prices.toml --budget 5.00
  pyrite plan running.story --instances prices.toml --budget 5.00 --watch 10
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the command line says; gives the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser, commands = make_parsers()
    check_command(parser, argv, commands)
    chosen = parser.parse_args(argv)
    answering = commands.get(chosen.command, parser)
    if chosen.command in ("run", "submit"):
        # What becomes of its streams is between the program and Python.
        return perform(chosen, answering)
    try:
        code = perform(chosen, answering)
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read the output, such as `head`, has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def perform(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    match chosen.command:
        case "run" | "submit":
            from pyrite.cli.run import run_script

            if chosen.ray is not None:
                return perform_on_ray(chosen)
            if chosen.detach:
                parser.error("--detach goes with --ray ADDRESS")
            apply_defaults(chosen, parser.error)
            return run_script(chosen.script, chosen.arguments)
        case "shell":
            from pyrite.cli.shell import open_shell

            apply_defaults(chosen, parser.error)
            return open_shell(plain=chosen.plain)
        case "explain":
            from pyrite.cli.explain import explain

            return explain(chosen.script, chosen.arguments)
        case "settings":
            from pyrite.cli.listing import list_settings

            return list_settings(chosen.part)
        case "story":
            from pyrite.cli.story import tell_story

            return tell_story(chosen)
        case "top":
            from pyrite.cli.top import show_top

            return show_top(chosen)
        case "stacks":
            from pyrite.cli.stacks import show_stacks

            return show_stacks(chosen)
        case "replay":
            from pyrite.replay.command import replay

            return replay(chosen)
        case "ui":
            from pyrite.cli.page import show_page

            return show_page(chosen)
        case "sim":
            from pyrite.forecast.command import run_simulation

            return run_simulation(chosen)
        case "plan":
            from pyrite.rent.command import run_plan

            return run_plan(chosen)
        case "ring" | "fs":
            try:
                return perform_on_ring(chosen)
            except (UserError, ClusterError) as error:
                print(f"pyrite {chosen.command}: {error}", file=sys.stderr)
                return 1
        case _:
            parser.print_help(sys.stderr)
            return 2


def perform_on_ray(chosen: argparse.Namespace) -> int:
    try:
        return submit_to_ray(chosen)
    except (UserError, ClusterError) as error:
        print(f"pyrite {chosen.command}: {error}", file=sys.stderr)
        return 1


def perform_on_ring(chosen: argparse.Namespace) -> int:
    if chosen.command == "fs":
        from pyrite.dht.fscommand import run_fs

        return run_fs(chosen)
    from pyrite.dht.command import show_status, start_member

    return start_member(chosen) if chosen.action == "start" else show_status(chosen)


def make_parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole line, and those of the commands."""
    parser = Parser("pyrite", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"pyrite {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = commands.add_parser
    run = command(
        "run",
        aliases=["submit"],
        help="run a PySpark RDD program",
        description=RUN,
        usage="pyrite run [options] SCRIPT [argument ...]",
        example="pyrite run wordcount.py book.txt",
    )
    add_application_options(run)
    run.add_argument("--version", action="version", version=f"pyrite {__version__}")
    add_ray_options(run)
    run.add_argument("script", metavar="SCRIPT", help="the Python file to run")
    run.add_argument(
        "arguments",
        metavar="argument",
        nargs=argparse.REMAINDER,
        help="what the program finds in sys.argv[1:]",
    )
    shell = command("shell", help="open a Python prompt with a context", description=SHELL)
    add_application_options(shell)
    shell.add_argument(
        "--plain", action="store_true", help="Python's own prompt, even where IPython is installed"
    )
    about = "say which functions of a program run in C"
    example = "pyrite explain job.py"
    explained = command("explain", help=about, description=EXPLAIN, example=example)
    explained.add_argument("script", metavar="SCRIPT", help="the Python file to run")
    explained.add_argument(
        "arguments",
        metavar="argument",
        nargs=argparse.REMAINDER,
        help="what the program finds in sys.argv[1:]",
    )
    about = "list the settings, their defaults and meaning"
    settings = command("settings", help=about, description=SETTINGS)
    settings.add_argument(
        "part", metavar="PART", nargs="?", default="", help="only settings with this in their name"
    )
    about, example = "tell what happened in a run", "pyrite story run.story"
    story = command("story", help=about, description=STORY, epilog=STORY_EXAMPLES, example=example)
    add_story_options(story)
    top = command("top", help="show a running program", description=TOP, example="pyrite top")
    add_top_options(top)
    about, example = "say where running tasks are", "pyrite stacks run.story"
    stacks = command("stacks", help=about, description=STACKS, example=example)
    add_stacks_options(stacks)
    about, example = "run a failed task again, in a debugger", "pyrite replay run.story --task 4/17"
    replay = command(
        "replay", help=about, description=REPLAY, epilog=REPLAY_EXAMPLES, example=example
    )
    add_replay_options(replay)
    about, example = "serve the page of a run", "pyrite ui run.story"
    page = command("ui", help=about, description=UI, epilog=UI_EXAMPLES, example=example)
    add_ui_options(page)
    about = "simulate a job on clusters of other sizes"
    example = "pyrite sim app.story --nodes 4,8,16"
    sim = command("sim", help=about, description=SIM, epilog=SIM_EXAMPLES, example=example)
    add_simulate_options(sim)
    about = "say which machines to rent for a job"
    example = "pyrite plan app.story --instances prices.toml --budget 5"
    plan = command("plan", help=about, description=PLAN, epilog=PLAN_EXAMPLES, example=example)
    add_plan_options(plan)
    about, example = "keep files on a ring of machines", "pyrite ring start lab --dir /data/ring"
    ring = command("ring", help=about, description=RING, epilog=RING_EXAMPLES, example=example)
    add_ring_options(ring)
    about, example = "use the files of a ring", "pyrite fs ls dht://lab/"
    fs = command("fs", help=about, description=FS, epilog=FS_EXAMPLES, example=example)
    add_fs_options(fs)
    return parser, commands.choices
