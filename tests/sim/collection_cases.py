"""Collections for random cases: programs that load datasets into namespaces and read them
together, and settings under which groups split and merge, and replicas come and go."""

from __future__ import annotations

from random import Random

from collection_operators import GROUPS, PARTITIONS, SHIFTS
from lineage import Ask, Program, Step, evaluate, plain_step, suits
from lineage_operators import JOINS
from smaller_programs import join_pairs

MEMBER_LEVELS = ("MEMORY_ONLY", "MEMORY_ONLY", "MEMORY_AND_DISK", "OFF_HEAP", "OFF_HEAP")
MOST_WEIGHT = 1500
MOST_JOIN_PAIRS = 50_000
# The share of seeds that have collections.
SHARE = 0.5


def settings_of_collections(seed: int) -> dict[str, str]:
    """With dice of their own, so that what else a seed draws stays."""
    dice = Random(f"collections {seed}")
    chosen = {
        "pyrite.collections.report": dice.choice(("true", "true", "false")),
        "pyrite.collections.lastRdds": dice.choice(("0", "0", "1")),
        "pyrite.collections.maxGroupBytes": dice.choice(("0", "400", "2k", "64m")),
        "pyrite.collections.minGroupBytes": "0",
        "pyrite.collections.replicaIdle": dice.choice(("0ms", "20ms", "1s", "60s")),
    }
    if chosen["pyrite.collections.maxGroupBytes"] != "0":
        chosen["pyrite.collections.minGroupBytes"] = dice.choice(("0", "200"))
    if dice.random() < 0.4:
        chosen["pyrite.recovery.bound"] = dice.choice(("20ms", "50ms", "200ms"))
        chosen["pyrite.recovery.relax"] = dice.choice(("1", "3"))
        chosen["pyrite.recovery.algorithm"] = dice.choice(("cut", "cut", "edge"))
    return chosen


def joined(dice: Random, pair: tuple[int, ...], partitions: int) -> Step:
    """Members brought together, mostly in their own partitions."""
    count = dice.choice((None, None, None, partitions, 3))
    if dice.random() < 0.6:
        return Step("cogroup", pair, (count,))
    return Step("anyJoin", pair, (dice.choice(JOINS), count))


def with_collections(seed: int, program: Program) -> Program:
    """The same program, which also keeps some of its pairs in a namespace and brings them
    together."""
    dice = Random(f"members {seed}")
    # Later ideas have their own, too.
    more = Random(f"more of members {seed}")
    made = evaluate(program)
    able = [each for each in range(len(made)) if suits("localityPartitionBy", (each,), made)]
    if dice.random() >= SHARE or not able:
        return program
    steps = list(program.steps)
    asks: list[Ask] = []

    def add(step: Step) -> int | None:
        if join_pairs(step, made) > MOST_JOIN_PAIRS:
            return None
        result = plain_step(step, made)
        if result.weight > MOST_WEIGHT:
            return None
        made.append(result)
        steps.append(step)
        return len(made) - 1

    layout = dice.choice(PARTITIONS), dice.choice(GROUPS)
    by_ranges = more.random() < 0.4
    members: list[int] = []
    for _ in range(dice.randint(1, 4)):
        # Of datasets that are there, or of a member: a state that is made of the last one.
        parent = dice.choice([*able, *members])
        if not by_ranges:
            member = add(Step("localityPartitionBy", (parent,), layout))
        else:
            keyed = parent if parent in members else add(Step("keyByDigest", (parent,)))
            # Others than those of the namespace are refused.
            shift = more.choice((0, 0, *SHIFTS)) if members else 0
            member = keyed and add(Step("localityByRanges", (keyed,), (*layout, shift)))
        if member is None:
            continue
        if dice.random() < 0.3:
            member = add(Step("mapValues", (member,))) or member
        add(Step("persist", (member,), (dice.choice(MEMBER_LEVELS),)))
        members.append(member)
        asks.append(Ask("count", member))
        if dice.random() < 0.2:
            add(Step("reportRDD", (member,)))
        if dice.random() < 0.2:
            add(Step("forceCheckpoint", (member,)))
        if len(members) > 1:
            pair = tuple(dice.choices(members, k=2))
            together = add(joined(more, pair, layout[0]))
            if together is not None:
                asks += [Ask(dice.choice(("count", "collect")), together)] * dice.randint(1, 3)
                if more.random() < 0.3:
                    add(Step("persist", (together,), (more.choice(MEMBER_LEVELS),)))
                    members.append(together)
        if dice.random() < 0.2:
            asks.append(Ask("unpersist", dice.choice(members)))
            asks.append(Ask("count", members[-1]))
        if more.random() < 0.15:
            asks.append(Ask(more.choice(("dropNamespace", "renewNamespace")), members[-1]))
    threads = [list(each) for each in program.threads]
    if dice.random() < 0.3:
        # Several threads read hot partitions at once.
        threads += [list(asks) for _ in range(2)]
    else:
        dice.choice(threads).extend(asks)
    return program._replace(steps=tuple(steps), threads=tuple(map(tuple, threads)))
