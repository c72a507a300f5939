"""Sampled stacks of stages as the boxes of a flame graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyrite.story.flame import boxes_of, tree_of
from pyrite.story.parts import StageState

# Calls of a smaller share are left out, and the widest of the rest are shown.
LEAST_SHARE = 1 / 1500
MOST_BOXES = 2500


def flame_graph(stages: Sequence[StageState]) -> dict[str, Any]:
    """The calls of the stages' tasks: how deep, from which sample on, and how often seen."""
    stacks: Counter[str] = Counter()
    for stage in stages:
        stacks.update(stage.samples)
    root = tree_of(stacks)
    wide = [box for box in boxes_of(root) if box.call.seen >= root.seen * LEAST_SHARE]
    shown = sorted(wide, key=lambda box: (-box.call.seen, box.depth))[:MOST_BOXES]
    return {
        "samples": root.seen,
        "boxes": [
            {
                "name": box.call.name,
                "start": box.start,
                "seen": box.call.seen,
                "depth": box.depth,
            }
            for box in shown
        ],
    }
