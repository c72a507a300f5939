"""Random pipelines over odd values. (Others are compared with plain Python: tests/property.)"""

from functools import partial
from hashlib import sha256
from itertools import count, islice
from random import Random

from lineage import build, evaluate
from program_text import text
from random_programs import random_program
from row_functions import rank
from tests.pyspark.registry import Case, add_case

PIPELINES = 200


def drawn(seed):
    return random_program(Random(f"pipeline {seed}"), files=True, odd=True)


def is_recordable(program):
    """Whether it runs on PySpark, whose sortByKey compares keys with what a keyfunc makes of them,
    and which makes a local checkpoint of some storage levels only; barriers import Pyrite."""
    operators = {step.operator for step in program.steps}
    return program.slots == 1 and not operators & {"sortByKey", "checkpoint"}


def answer(seed, sc, folder):
    """The rows of the last dataset, as far as their order and types are defined."""
    program = drawn(seed)
    defined = evaluate(program)[-1]
    rows = build(program, sc, folder)[-1].collect()
    if defined.parts is not None:
        return rows
    ranks = [rank(row) for row in rows]
    return ranks if defined.ordered else sorted(ranks, key=repr)


def digest(program):
    """Tells a seed that draws another program since the tables of operators were changed."""
    return sha256(text(program).encode("utf-8", "surrogatepass")).hexdigest()[:8]


seeds = (seed for seed in count() if is_recordable(drawn(seed)))
for seed in islice(seeds, PIPELINES):
    name = f"pipelines.{seed}-{digest(drawn(seed))}"
    add_case(Case(name, (), partial(answer, seed)))
