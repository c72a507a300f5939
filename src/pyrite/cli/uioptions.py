"""The options of `pyrite ui`."""

from __future__ import annotations

import argparse

from pyrite.ui.address import DEFAULT_PORT

UI = """\
Serve a page that shows a run from its story, or the runs of a folder: jobs, stages, tasks,
storage, executors, pools, shuffles, errors, and two runs side by side. A story that is still being
written is followed. Only this machine can reach the page, with the token in the address that is
printed; Ctrl-C ends it. Tools find /api/v1/applications and /metrics there.
"""

UI_EXAMPLES = """\
examples:
  pyrite run --story run.story job.py
  pyrite ui run.story                       the page of this run
  pyrite ui before.story after.story        two runs, side by side
  pyrite ui /tmp/spark-events --port 0      the runs of a folder, at any free port
  ssh -L 4040:localhost:4040 HOST           afterwards the same address works from another machine
"""


def add_ui_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="FILE|FOLDER", nargs="+", help="stories, or their folders")
    parser.add_argument(
        "--port",
        metavar="N",
        type=port_number,
        help=f"where to listen, 0 for any free port ({DEFAULT_PORT}, or one of the next)",
    )
    # How a context starts its own page: on a socket that listens already, told a token and, by the
    # end of its input, when to end.
    parser.add_argument("--listener", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--remove", metavar="FOLDER", help=argparse.SUPPRESS)


def port_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:9]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: expected 0 to 65535")
    return int(text)
