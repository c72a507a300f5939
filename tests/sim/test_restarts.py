"""A driver that restarts goes on as if nothing had happened."""

from __future__ import annotations

from random import Random

import pytest
from cases import random_case
from trial import Chapters, run_case

from pyrite.cluster.sim.world import Fault


@pytest.mark.parametrize("seed", range(300, 312))
def test_the_story_is_the_same_with_restarts(seed: int) -> None:
    dice = Random(seed)
    case = random_case(seed)
    world = case.world
    others = [each for each in world.faults if each.kind != "restart driver"]
    restarts = [Fault("restart driver", dice.randrange(40)) for _ in range(4)]
    stories = []
    for faults in (others, [*others, *restarts]):
        story = Chapters()
        result = run_case(case._replace(world=world._replace(faults=tuple(faults))), story)
        assert not result.failure
        stories.append(story.lines)
    assert result.faults["restart driver"]
    assert stories[0] == stories[1]
