"""The options of `pyrite plan`, and their parsers."""

from __future__ import annotations

import argparse

from pyrite.forecast.options import count, positive

BILLING_S = {"second": 0.0, "minute": 60.0, "hour": 3600.0}


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser."""
    parser.add_argument(
        "stories",
        metavar="STORY",
        nargs="+",
        help="stories of runs of the same job, the newest last; one may still be running",
    )
    add = parser.add_argument_group("the machines").add_argument
    add("--instances", metavar="FILE", required=True, help="instance types and prices (TOML)")
    add("--budget", type=dollars, metavar="DOLLARS", required=True, help="for one run of the job")
    add(
        "--billing",
        choices=list(BILLING_S),
        default="second",
        help="machines are paid by begun seconds, minutes or hours (second)",
    )
    add("--most", type=count, default=64, metavar="N", help="machines at a time (64)")
    add = parser.add_argument_group("the job").add_argument
    add("--scale", type=count, default=1, metavar="N", help="as if there were N times the data")
    add("--model", metavar="FILE", help="costs measured by scripts/calibrate, if not the package's")
    add = parser.add_argument_group("while it runs").add_argument
    add(
        "--watch",
        type=positive,
        metavar="SECONDS",
        help="read stories and prices again so often; print a plan when it has changed",
    )
    add("--rounds", type=count, metavar="N", help="with --watch: end after reading N times")


def dollars(text: str) -> float:
    return positive(text.removeprefix("$"))
