"""The command `pyrite`: runs PySpark's RDD programs, opens a prompt, simulates clusters, plans."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pyrite.cli.options import add_application_options, apply_defaults
from pyrite.cli.parser import Parser, check_command
from pyrite.forecast.options import add_simulate_options
from pyrite.rent.options import add_plan_options
from pyrite.version import __version__

DESCRIPTION = """\
Pyrite is an in-memory cluster-computing engine for Python: the RDD API that PySpark
users know, with no JVM.
"""

EXAMPLES = """\
examples:
  pyrite run wordcount.py book.txt        run a program that was written for PySpark
  pyrite run --master local[4] job.py     the same on four executors
  pyrite shell                            a Python prompt with a context ready as sc
  pyrite settings locality                what can be set about locality, and its defaults
  pyrite sim app.story --nodes 4,8,16     how a job that ran here would run on a cluster
  pyrite plan app.story --instances prices.toml --budget 5     which machines to rent for it
"""

RUN = """\
Run a program written for PySpark's RDD API, unchanged: `import pyspark` gives Pyrite, in the
program and in its tasks, even where PySpark is installed. Whatever follows SCRIPT is the
program's own; it finds it in sys.argv. What the program itself sets, with SparkConf or
SparkSession.builder, wins over the options here, and they win over the environment variable
PYRITE_CONF.
"""

SHELL = """\
Open a Python prompt with a context ready as sc and a session as spark. Functions and classes
typed there work in tasks. Ctrl-C cancels the running job and keeps the prompt; Ctrl-D ends it.
"""

SETTINGS = """\
List every setting with its type, its default on this machine and its meaning. Settings are
given with --conf, SparkConf, SparkSession.builder.config or the environment variable
PYRITE_CONF (spark.master=local[2],spark.executor.memory=512m).
"""

SIM = """\
Simulate how the jobs of a story would run on clusters of several sizes: the real scheduler plans
the tasks, and the tasks take the time that they took in the story, with network, disk and memory
as the options say. A story is written when a program runs with spark.eventLog.enabled=true.
"""

SIM_EXAMPLES = """\
example:
  pyrite run --conf spark.eventLog.enabled=true --conf spark.eventLog.dir=stories job.py
  pyrite sim stories/*.story --nodes 4,8,16 --cores 4 --memory 8g --network 1g \\
      --failures 0.5/h --plot job.svg
"""


PLAN = """\
Say which machines to rent for each stage of a job, and why: how many executors, and how many
storage-only nodes that lend their memory. Stages get machines where a dollar saves the most time,
as long as the budget lasts. What the tasks do and need is read from stories of earlier runs, or
from the story of a run that still goes on. A story is written when a program runs with
spark.eventLog.enabled=true.
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
    if chosen.command == "run":
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
        case "run":
            from pyrite.cli.run import run_script

            apply_defaults(chosen, parser.error)
            return run_script(chosen.script, chosen.arguments)
        case "shell":
            from pyrite.cli.shell import open_shell

            apply_defaults(chosen, parser.error)
            return open_shell(plain=chosen.plain)
        case "settings":
            from pyrite.cli.listing import list_settings

            return list_settings(chosen.part)
        case "sim":
            from pyrite.forecast.command import run_simulation

            return run_simulation(chosen)
        case "plan":
            from pyrite.rent.command import run_plan

            return run_plan(chosen)
        case _:
            parser.print_help(sys.stderr)
            return 2


def make_parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole line, and those of the commands."""
    parser = Parser("pyrite", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"pyrite {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = commands.add_parser
    run = command(
        "run",
        help="run a PySpark RDD program",
        description=RUN,
        usage="pyrite run [options] SCRIPT [argument ...]",
        example="pyrite run wordcount.py book.txt",
    )
    add_application_options(run)
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
    about = "list the settings, their defaults and meaning"
    settings = command("settings", help=about, description=SETTINGS)
    settings.add_argument(
        "part", metavar="PART", nargs="?", default="", help="only settings with this in their name"
    )
    about = "simulate a job on clusters of other sizes"
    example = "pyrite sim app.story --nodes 4,8,16"
    sim = command("sim", help=about, description=SIM, epilog=SIM_EXAMPLES, example=example)
    add_simulate_options(sim)
    about = "say which machines to rent for a job"
    example = "pyrite plan app.story --instances prices.toml --budget 5"
    plan = command("plan", help=about, description=PLAN, epilog=PLAN_EXAMPLES, example=example)
    add_plan_options(plan)
    return parser, commands.choices
