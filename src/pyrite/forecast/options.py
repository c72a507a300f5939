"""The options of `pyrite sim`, and their parsers."""

from __future__ import annotations

import argparse
import re

from pyrite.quantities import parse_bytes, parse_seconds

PER_HOUR = {"h": 1.0, "d": 1 / 24, "w": 1 / 168, "m": 1 / 730, "y": 1 / 8760}


def add_simulate_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser."""
    parser.add_argument(
        "story",
        metavar="STORY",
        help="the file that a run with spark.eventLog.enabled=true left in spark.eventLog.dir",
    )
    add = parser.add_argument_group("the cluster").add_argument
    add("--nodes", type=counts, default=[1, 2, 4, 8, 16], metavar="N,...", help="1,2,4,8,16")
    add("--cores", type=count, default=4, metavar="N", help="executors of a node (4)")
    add("--memory", type=size, default=8 << 30, metavar="SIZE", help="of a node (8g)")
    add("--network", type=bits, default=10**9, metavar="BITS", help="a second and node (1g)")
    add("--disk", type=size, metavar="BYTES", help="a second (as the model says)")
    add("--speed", type=positive, default=1.0, metavar="X", help="of a core, by the measured (1)")
    add("--slow", type=part, default=0.0, metavar="PART", help="of the nodes at half speed (0)")
    add("--failures", type=rate, default=0.0, metavar="RATE", help="of each node, as 0.5/h, 2/d")
    add("--executor-failures", type=rate, default=0.0, metavar="RATE", help="of each executor")
    add("--repair", type=duration, default=120.0, metavar="TIME", help="of a node (2min)")
    add = parser.add_argument_group("the simulation").add_argument
    add("--scale", type=count, default=1, metavar="N", help="as if there were N times the data")
    add("--runs", type=count, metavar="N", help="with different failures (5 if there are any)")
    add("--seed", type=int, default=0, metavar="N", help="of all chance (0)")
    add("--model", metavar="FILE", help="costs measured by scripts/calibrate, if not the package's")
    add("--plot", metavar="FILE.svg", help="write a picture, too")


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def counts(text: str) -> list[int]:
    return [count(each) for each in text.split(",")]


def size(text: str) -> int:
    try:
        value = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is nothing")
    return value


def bits(text: str) -> float:
    """Parses bits per second in decimal units: 300m is 300 million."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg])?", text.strip().lower())
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: write it as 300m, 1g or 10g")
    return float(match[1]) * {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[match[2] or ""]


def duration(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def part(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def rate(text: str) -> float:
    """Parses a rate as times per hour; `2/d` is twice a day."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)/([hdwmy])", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no rate: write it as 0.5/h, 2/d, 1/w, 1/m (month) or 3/y"
        )
    return float(match[1]) * PER_HOUR[match[2]]
