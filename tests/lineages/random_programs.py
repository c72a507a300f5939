"""Random lineages from a seed, as small as a simulated cluster wants them."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from lineage import Ask, Cancel, Program, Source, Step, plain_source, plain_step, suits
from lineage_actions import ACTIONS
from lineage_operators import COUNTS, OPERATORS, SOME_COUNTS, Choice, pairs
from odd_atoms import ODD_ATOMS
from plain_rows import Plain
from smaller_programs import join_pairs, trimmed

# Equal ones among them differ in type.
ATOMS = (
    *(None, False, True, 0, 1, 2, 3, -1, -3, 1 << 70, -(1 << 69)),
    *(0.0, 1.0, -1.0, 0.5, 2.0**53, "", "a", "b", "é", "ab", b"", b"a"),
)
MORE_ATOMS = (*ATOMS, *ODD_ATOMS, *ODD_ATOMS)
LETTERS = "abé \t"
MOST_DRAWS = 12

# Drawn more often than others: they ask most of the engine, or seldom suit.
OFTEN = (
    *("persist", "persist", "persist", "checkpoint", "checkpoint"),
    *("lookUp", "barrier", "allGather", "cartesian", "cartesian"),
)
BY_KEY = tuple(name for name, each in OPERATORS.items() if each.suits is pairs)
ANY = tuple(OPERATORS)
ACTION_NAMES = tuple(ACTIONS)


class Limits(NamedTuple):
    """How large a program may become."""

    rows: tuple[int, int]
    slices: int
    steps: tuple[int, int]
    asks: tuple[int, int]
    # Of each dataset: partitions, plain values in its rows, and pairs if it is a join.
    partitions: int
    weight: int
    join_pairs: int
    latest_cancel: int


SIZES = {
    "small": Limits((5, 60), 8, (2, 8), (1, 4), 10, 800, 2_000, 40),
    "middle": Limits((50, 600), 16, (5, 16), (4, 10), 32, 6_000, 50_000, 200),
}


def random_program(
    dice: Random, size: str = "small", files: bool = False, odd: bool = False
) -> Program:
    """A program that plain Python can evaluate; with `files` some of its sources are text files,
    and with `odd` the values in its rows are of more kinds."""
    return Drawing(dice, SIZES[size], files, MORE_ATOMS if odd else ATOMS).program()


class Drawing:
    """A program as it is drawn: each step is evaluated, so that none grows too large."""

    def __init__(
        self, dice: Random, limits: Limits, files: bool, atoms: tuple[Any, ...] = ATOMS
    ) -> None:
        self.dice = dice
        self.atoms = atoms
        self.limits = limits
        kinds = ["values", "pairs", "pairs", "skewed", "skewed", "range"]
        self.kinds = [*kinds, "textFile"] if files else kinds
        self.made: list[Plain] = []
        # How many partitions each has, at the most.
        self.partitions: list[int] = []

    def program(self) -> Program:
        dice = self.dice
        sources = tuple(self.source() for _ in range(dice.choice((1, 1, 2))))
        self.made = [plain_source(source) for source in sources]
        self.partitions = [source.slices for source in sources]
        steps: list[Step] = []
        for _ in range(dice.randint(*self.limits.steps)):
            self.add_step(steps)
        threads = self.threads(steps)
        threads, cancels = self.grouped(threads)
        return trimmed(Program(sources, tuple(steps), threads, cancels))

    def source(self) -> Source:
        dice = self.dice
        kind = dice.choice(self.kinds)
        count = min(dice.randint(*self.limits.rows), dice.randint(*self.limits.rows))
        # Few often enough for barrier stages.
        slices = dice.randint(1, dice.choice((2, self.limits.slices, self.limits.slices)))
        if kind == "range":
            return Source("range", count, slices)
        if kind == "textFile":
            lines = ("".join(dice.choices(LETTERS, k=dice.randint(0, 6))) for _ in range(count))
            return Source("textFile", tuple(lines), slices)
        if kind == "values":
            return Source("parallelize", tuple(self.value() for _ in range(count)), slices)
        frequent = dice.choice(self.atoms)
        skew = 0.8 if kind == "skewed" else 0.0
        keys = [frequent if dice.random() < skew else dice.choice(self.atoms) for _ in range(count)]
        return Source("parallelize", tuple((key, self.value()) for key in keys), slices)

    def value(self) -> Any:
        dice = self.dice
        chance = dice.random()
        if chance < 0.7:
            return dice.choice(self.atoms)
        if chance < 0.8:
            return (dice.choice(self.atoms),)
        return dice.choice(self.atoms), dice.choice(self.atoms)

    def recent(self) -> int:
        """One of the datasets so far, the last ones more often."""
        length = len(self.made)
        if self.dice.random() < 0.7:
            return max(0, length - 1 - self.dice.randrange(3))
        return self.dice.randrange(length)

    def add_step(self, steps: list[Step]) -> None:
        """Adds one, unless all that are drawn would not suit or give too much."""
        dice = self.dice
        for _ in range(MOST_DRAWS):
            chance = dice.random()
            name = dice.choice(OFTEN if chance < 0.3 else BY_KEY if chance < 0.65 else ANY)
            operator = OPERATORS[name]
            parents = tuple(self.recent() for _ in range(operator.parents))
            if not suits(name, parents, self.made):
                continue
            step = Step(name, parents, self.arguments(operator.arguments))
            partitions = most_partitions(step, [self.partitions[i] for i in parents])
            if (
                partitions > self.limits.partitions
                or join_pairs(step, self.made) > self.limits.join_pairs
            ):
                continue
            result = plain_step(step, self.made)
            if result.weight <= self.limits.weight:
                steps.append(step)
                self.made.append(result)
                self.partitions.append(partitions)
                return

    def arguments(self, choices: tuple[Choice, ...]) -> tuple[Any, ...]:
        return tuple(self.dice.choice(choice) for choice in choices)

    def threads(self, steps: list[Step]) -> tuple[tuple[Ask, ...], ...]:
        dice = self.dice
        threads: list[list[Ask]] = [[] for _ in range(dice.choice((1, 1, 1, 2, 2, 3)))]
        for _ in range(dice.randint(*self.limits.asks)):
            dice.choice(threads).append(self.ask())
        kept = [step.parents[0] for step in steps if step.operator == "persist"]
        if kept and dice.random() < 0.4:
            asks = dice.choice(threads)
            dataset = dice.choice(kept)
            asks.insert(dice.randint(0, len(asks)), Ask("unpersist", dataset))
            asks.append(Ask("count", dataset))
        # What everything else is for.
        dice.choice(threads).append(Ask("collect", len(self.made) - 1))
        return tuple(tuple(asks) for asks in threads if asks)

    def ask(self) -> Ask:
        dataset = self.recent()
        while True:
            action = ACTIONS[name := self.dice.choice(ACTION_NAMES)]
            if action.suits(self.made[dataset]):
                return Ask(name, dataset, self.arguments(action.arguments))

    def grouped(
        self, threads: tuple[tuple[Ask, ...], ...]
    ) -> tuple[tuple[tuple[Ask, ...], ...], tuple[Cancel, ...]]:
        """Some asks put into job groups, most of which are cancelled at some time."""
        dice = self.dice
        if dice.random() >= 0.25:
            return threads, ()
        changed = tuple(
            tuple(
                ask._replace(group=dice.choice(("first", "second"))) if dice.random() < 0.5 else ask
                for ask in asks
            )
            for asks in threads
        )
        cancels = tuple(
            Cancel(group, dice.randrange(self.limits.latest_cancel))
            for group in ("first", "second")
            if dice.random() < 0.7
        )
        used = {ask.group for asks in changed for ask in asks}
        return changed, tuple(each for each in cancels if each.group in used)


def most_partitions(step: Step, parents: list[int]) -> int:
    """How many partitions the result has at the most."""
    if step.operator == "cartesian":
        return parents[0] * parents[1]
    takes_count = OPERATORS[step.operator].arguments[-1:] in ((COUNTS,), (SOME_COUNTS,))
    if takes_count and step.arguments[-1] is not None:
        return int(step.arguments[-1])
    return sum(parents)
