"""Data of suite stark: pickups by time and requests by the hour, from the folder that
PYRITE_BENCH_DATA names."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from itertools import groupby, islice
from math import pi, sin
from pathlib import Path
from random import Random

from pyrite import zOrder

# New York; the few pickups outside are left out.
BOX = (-74.3, 40.5, -73.6, 41.0)
MONTH = "apr"
# Slots of four hours, as in figure 6, by where they begin.
SLOTS = tuple(f"{first:02}-{first + 4:02}" for first in range(2, 24, 4))


def pickups(most: int) -> dict[str, list[int]]:
    """The Z order of pickups by the time of the day, in slots of four hours."""
    found: dict[str, list[int]] = {slot: [] for slot in SLOTS}
    for minute, key in by_minute():
        keys = found[SLOTS[(minute // 60 - 2) % 24 // 4]]
        if len(keys) < most:
            keys.append(key)
    return found


def by_timestep(minutes: int) -> list[list[int]]:
    """The Z order of pickups by the time of the day, in timesteps of so many minutes."""
    found: list[list[int]] = [[] for _ in range(24 * 60 // minutes)]
    for minute, key in by_minute():
        found[minute // minutes].append(key)
    return found


def by_minute() -> Iterator[tuple[int, int]]:
    """The minute of the day and the Z order of each pickup of a month; made up of a town that
    drifts where there is no data."""
    folder = os.environ.get("PYRITE_BENCH_DATA")
    if not folder:
        yield from made_up()
        return
    [path] = Path(folder).glob(f"uber*{MONTH}14.csv.gz")
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            x, y = float(row["Lon"]), float(row["Lat"])
            if BOX[0] <= x <= BOX[2] and BOX[1] <= y <= BOX[3]:
                hour, minute, _ = row["Date/Time"].split()[1].split(":")
                yield 60 * int(hour) + int(minute), zOrder(x, y, BOX)


def made_up() -> Iterator[tuple[int, int]]:
    """As many in a minute as the hour asks for: few at night, most in the evening."""
    dice = Random(0)
    for minute in range(24 * 60):
        hour = minute / 60
        for _ in range(int(20 + 180 * (1 + sin((hour - 12) * pi / 12)) / 2)):
            x = min(max(dice.gauss(-74.1 + 0.012 * hour, 0.05), BOX[0]), BOX[2])
            y = min(max(dice.gauss(40.7, 0.05), BOX[1]), BOX[3])
            yield minute, zOrder(x, y, BOX)


def requests(hours: int, lines: int) -> Iterator[list[str]]:
    """Lines of a web server's log for each of some hours in succession: so many requests, shared
    among the pages as their views were."""
    for number, (hour, views) in enumerate(islice(views_by_hour(), hours)):
        total = sum(views.values())
        found = [
            f"{hour} GET /wiki/{page.replace(' ', '_')} 200"
            for page, count in views.items()
            for _ in range(-(-count * lines // total))
        ]
        # Each page has one request at least, and none comes in a row.
        dice = Random(number)
        dice.shuffle(found)
        yield found[:lines]


def views_by_hour() -> Iterator[tuple[str, dict[str, int]]]:
    """The most viewed pages of each hour; made up, a few far more often than others, where there is
    no data."""
    folder = os.environ.get("PYRITE_BENCH_DATA")
    if not folder:
        for hour in range(24):
            yield f"2012-02-14T{hour:02}", {f"Page {n}": 400_000 // n for n in range(1, 1001)}
        return
    [path] = Path(folder).glob("wikipedia_hourly*.tsv.gz")
    with gzip.open(path, "rt") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        for hour, found in groupby(rows, key=lambda row: row[0]):
            yield hour, {page: int(views) for _, page, views in found}
