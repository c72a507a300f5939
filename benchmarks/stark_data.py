"""Data of suite stark: pickups by time, from the folder that PYRITE_BENCH_DATA names."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
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
