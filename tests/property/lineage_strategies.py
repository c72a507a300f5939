"""Random lineages, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lineage import Ask, Program, Source, Step, plain_source, plain_step, suits
from lineage_actions import ACTIONS
from lineage_operators import OPERATORS, Choice, pairs
from odd_atoms import ODD_ATOMS

MOST_STEPS = 8
MOST_ACTIONS = 5
# As printed: about what a few thousand rows take.
MOST_CHARACTERS = 60_000
# Enough for executors of little memory to spill.
MOST_FAT_CHARACTERS = 4_000_000
# As many rows as make several batches.
MOST_ODD_CHARACTERS = 1_500_000

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, 0.5, 2.0**53]),
    st.integers(-(1 << 70), 1 << 70),
    st.text("abé", max_size=2),
    st.binary(max_size=2),
    st.sampled_from(ODD_ATOMS),
)
values = atoms | st.tuples(atoms) | st.tuples(atoms, atoms)
lines = st.text("abé \t", max_size=6)
slices = st.integers(1, 6)
sources = st.one_of(
    st.builds(Source, st.just("parallelize"), st.lists(values, max_size=30), slices),
    st.builds(
        Source, st.just("parallelize"), st.lists(st.tuples(atoms, values), max_size=30), slices
    ),
    st.builds(Source, st.just("range"), st.integers(0, 60) | st.just(3000), slices),
    st.builds(Source, st.just("textFile"), st.lists(lines, max_size=20), slices),
)
fat_sources = st.builds(Source, st.just("fat"), st.integers(400, 900), slices)
odd_sources = st.builds(Source, st.just("odd"), st.sampled_from([60, 300, 1500, 5000]), slices)


@st.composite
def programs(draw: st.DrawFn, fat: bool = False, odd: bool = False) -> Program:
    """Programs of some steps; each is evaluated as it is drawn, so that none grows too large."""
    most_characters = MOST_FAT_CHARACTERS if fat else MOST_CHARACTERS
    if odd:
        most_characters = MOST_ODD_CHARACTERS
    special = fat or odd
    chosen = tuple(draw(st.lists(sources, min_size=1 - special, max_size=2 - special)))
    if special:
        chosen = (*chosen, draw(odd_sources if odd else fat_sources))
    made = [plain_source(source) for source in chosen]
    steps: list[Step] = []
    for _ in range(draw(st.integers(2, MOST_STEPS))):
        both = draw(recent(len(made))), draw(recent(len(made)))
        suitable = [name for name in OPERATORS if suits(name, both, made)]
        by_key = [name for name in suitable if OPERATORS[name].suits is pairs]
        name = draw(st.sampled_from(by_key or suitable) | st.sampled_from(suitable))
        operator = OPERATORS[name]
        step = Step(name, both[: operator.parents], draw(arguments(operator.arguments)))
        result = plain_step(step, made)
        if len(repr(result.rows)) <= most_characters:
            steps.append(step)
            made.append(result)
    asks: list[Ask] = []
    for _ in range(draw(st.integers(1, MOST_ACTIONS))):
        dataset = draw(recent(len(made)))
        action = draw(st.sampled_from([a for a in ACTIONS if ACTIONS[a].suits(made[dataset])]))
        asks.append(Ask(action, dataset, draw(arguments(ACTIONS[action].arguments))))
    # What everything else is for.
    asks.append(Ask("collect", len(made) - 1))
    return Program(chosen, tuple(steps), (tuple(asks),))


def arguments(choices: tuple[Choice, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*map(st.sampled_from, choices))


def recent(length: int) -> st.SearchStrategy[int]:
    """One of the datasets so far, the last ones more often."""
    return st.integers(0, 3).map(lambda back: max(0, length - 1 - back)) | st.integers(
        0, length - 1
    )
