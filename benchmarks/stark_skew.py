"""Stark's figures 13 to 15 by sizes: the heaviest task over the mean, on pickups by time."""

from __future__ import annotations

from benchmarks.scache_plots import Plot
from benchmarks.stark_data import pickups
from benchmarks.targets import Target
from pyrite import StaticRangePartitioner
from pyrite.place.grouptree import GroupTree
from pyrite.rdd.partitioner import range_bounds

PARTITIONS, GROUPS, PICKUPS = 128, 8, 60_000


class Skew:
    """Own ranges per RDD, static ranges, and extendable groups."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float, int, float]] = []

    def run(self) -> None:
        slots = pickups(PICKUPS)
        first = sorted(next(iter(slots.values())))
        ranges = StaticRangePartitioner(range_bounds(first, PARTITIONS))
        tree = GroupTree(PARTITIONS, GROUPS)
        static = GroupTree(PARTITIONS, GROUPS)
        for slot, keys in slots.items():
            counts = [0] * PARTITIONS
            for key in keys:
                counts[ranges(key)] += 1
            share = len(keys) // GROUPS
            tree.resize(counts, most_bytes=int(1.25 * share), least_bytes=int(0.6 * share))
            # Own ranges are even, but a cogroup moves what lies in other ranges.
            own = sorted(keys)
            mine = StaticRangePartitioner(range_bounds(own, GROUPS))
            others = StaticRangePartitioner(range_bounds(first, GROUPS))
            moved = sum(mine(key) != others(key) for key in keys) / max(1, len(keys))
            self.rows.append(
                (slot, heaviest(static, counts), heaviest(tree, counts), len(tree.groups()), moved)
            )

    @property
    def targets(self) -> list[Target]:
        # The ranges are cut for the first slot.
        static, extendable = (max(row[place] for row in self.rows[1:]) for place in (1, 2))
        what = "figure 13: the heaviest of extendable groups over the heaviest of static ones"
        return [Target(what, extendable / static, 1.0)]

    @property
    def plots(self) -> dict[str, Plot]:
        slots, static, extendable, _, _ = zip(*self.rows, strict=True)
        lines = {"static groups": static, "extendable groups": extendable}
        title = "Figure 13: the heaviest task over the mean"
        return {"skew": Plot(title, "by sizes", "hours of the day", slots, lines, "times")}

    def markdown(self) -> str:
        lines = [
            "## Figures 13 to 15, by sizes: the heaviest task over the mean",
            "",
            "| hours | static groups | extendable groups | groups | own ranges: rows that move |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {slot} | {static:.2f} | {extendable:.2f} | {groups} | {moved:.0%} |"
            for slot, static, extendable, groups, moved in self.rows
        ]
        return "\n".join([*lines, ""])


def heaviest(tree: GroupTree, counts: list[int]) -> float:
    """The heaviest group over an even share of the groups at first."""
    sizes = [sum(counts[first:end]) for first, end in tree.groups()]
    return max(sizes) / (sum(sizes) / GROUPS)
