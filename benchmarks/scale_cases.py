"""What the scheduler is put through, at any number of nodes and tasks."""

from benchmarks.scale_world import EXECUTORS_PER_NODE, World, shuffle_job, writer_of
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.queue import PoolShare
from pyrite.schedule.rules import Rules, SpeculationRule

FAIR_JOBS = 20
POOLS = 4


def shuffle(nodes: int, tasks: int) -> World:
    """One job: a map stage, and a stage of a tenth of its tasks that reads the shuffle."""
    world = World(Rules())
    world.join(range(nodes))
    world.submit(0, shuffle_job(0, tasks))
    for _ in world.run():
        pass
    return world


def kept(nodes: int, tasks: int) -> World:
    """A second job reads live rows that a quarter of the nodes keep; the others came later."""
    world = World(Rules())
    world.join(range(nodes // 4))
    first = shuffle_job(0, tasks // 2)
    world.keep(writer_of(first))
    world.submit(0, first)
    for _ in world.run():
        pass
    world.join(range(nodes // 4, nodes))
    world.submit(1, shuffle_job(1, tasks // 2, reads=writer_of(first)))
    for _ in world.run():
        pass
    return world


def fair(nodes: int, tasks: int) -> World:
    """Twenty jobs at once, in four pools of different weight."""
    shares = {f"pool-{i}": PoolShare(weight=i + 1, fair=i % 2 == 0) for i in range(POOLS)}
    world = World(Rules(fair=True, shares=shares))
    world.join(range(nodes))
    for job in range(FAIR_JOBS):
        world.submit(job, shuffle_job(job, tasks // FAIR_JOBS), f"pool-{job % POOLS}")
    for _ in world.run():
        pass
    return world


def losses(nodes: int, tasks: int) -> World:
    """One executor in a hundred dies, one task in a thousand fails; kept rows are lost with them.

    Failing executors are left out for a while, and slow tasks are looked for.
    """
    rules = Rules(
        max_failures=4,
        exclusion=ExclusionRule(enabled=True, per_stage=10, timeout_s=60.0),
        speculation=SpeculationRule(multiplier=1.5, quantile=0.75, least_s=0.1),
    )
    world = World(rules, fails_every=1000)
    world.join(range(nodes))
    first = shuffle_job(0, tasks // 2)
    world.keep(writer_of(first))
    deaths = max(1, nodes * EXECUTORS_PER_NODE // 100)
    every = max(1, tasks // deaths)
    for job, stage in enumerate((first, shuffle_job(1, tasks // 2, reads=writer_of(first)))):
        world.submit(job, stage)
        for ended in world.run():
            if ended % every == every // 2:
                world.lose_busiest()
    return world


def outages(nodes: int, tasks: int) -> World:
    """One node in a hundred dies, and with it its map outputs, which are made again."""
    world = World(Rules())
    world.join(range(nodes))
    world.submit(0, shuffle_job(0, tasks))
    deaths = max(1, nodes // 100)
    every = (tasks + tasks // 10) // deaths
    for ended in world.run():
        if ended % every == every // 2:
            world.lose_node(ended // every % nodes)
    return world


CASES = {each.__name__: each for each in (shuffle, kept, fair, losses, outages)}
