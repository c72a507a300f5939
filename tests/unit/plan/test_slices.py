"""How much a task is sent and loads does not depend on how many there are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrite import SparkContext
from pyrite.cluster.conversation import slices_for
from pyrite.execute.evaluate import Evaluator
from pyrite.execute.meter import Moment
from pyrite.execute.operators import Operators
from pyrite.plan.program import Program, flatten
from pyrite.rdd.functions import gather

FEW, MANY = 20, 400


@pytest.fixture(scope="module")
def sc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkContext]:
    with SparkContext("local[1]", "slices") as context:
        context.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))
        yield context


def program_of(rdd: Any) -> Program:
    program, _ = flatten(rdd.ctx._engine.freezer.copy(rdd, gather))
    return program


def files(folder: Path, count: int) -> str:
    folder.mkdir()
    for index in range(count):
        (folder / f"{index:05d}").write_text("line\n")
    return str(folder)


def checkpointed(rdd: Any, local: bool) -> Any:
    if local:
        rdd.localCheckpoint()
    else:
        rdd.checkpoint()
    rdd.count()
    assert rdd.isCheckpointed()
    return rdd


def pickled(sc: SparkContext, folder: Path, count: int) -> Any:
    sc.parallelize(range(count), count).saveAsPickleFile(str(folder))
    return sc.pickleFile(str(folder))


SOURCES: dict[str, Callable[[SparkContext, Path, int], Any]] = {
    "parallelize": lambda sc, folder, n: sc.parallelize(["row"] * n, n),
    "blocks": lambda sc, folder, n: sc.parallelize(["x" * 10_000] * n, n),
    "range": lambda sc, folder, n: sc.range(n, numSlices=n),
    "textFile": lambda sc, folder, n: sc.textFile(files(folder, n)),
    "wholeTextFiles": lambda sc, folder, n: sc.wholeTextFiles(files(folder, n), n),
    "binaryRecords": lambda sc, folder, n: sc.binaryRecords(files(folder, n), 5),
    "pickleFile": pickled,
    "checkpoint": lambda sc, folder, n: checkpointed(sc.range(n, numSlices=n).map(str), False),
    "localCheckpoint": lambda sc, folder, n: checkpointed(sc.range(n, numSlices=n), True),
    "zipWithIndex": lambda sc, folder, n: sc.range(n, numSlices=n).zipWithIndex(),
    "zipWithUniqueId": lambda sc, folder, n: sc.range(n, numSlices=n).zipWithUniqueId(),
    "zip": lambda sc, folder, n: sc.parallelize([1] * n, n).zip(sc.parallelize([2] * n, n)),
    "cartesian": lambda sc, folder, n: sc.parallelize([1] * n, n).cartesian(sc.range(2)),
    "coalesce": lambda sc, folder, n: sc.parallelize(["row"] * n, n).coalesce(n // 4),
    "union": lambda sc, folder, n: sc.union([sc.parallelize([i], 1).map(str) for i in range(n)]),
}  # fmt: skip


def sent_to_last(rdd: Any) -> int:
    """The bytes that travel with the task of the last partition."""
    sent = slices_for(program_of(rdd), rdd.getNumPartitions() - 1)
    return 0 if sent is None else len(sent[0])


@pytest.mark.parametrize("source", SOURCES)
def test_a_task_is_sent_as_much_whatever_their_number(
    sc: SparkContext, tmp_path: Path, source: str
) -> None:
    few, many = (SOURCES[source](sc, tmp_path / str(n), n) for n in (FEW, MANY))
    # Numbers of more digits take some bytes more.
    assert sent_to_last(many) <= sent_to_last(few) + 16
    if source != "union":
        loaded = [sum(map(len, program_of(rdd.map(repr)).links)) for rdd in (few, many)]
        assert loaded[1] <= loaded[0] + 8


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_task_of_a_union_loads_one_parent(sc: SparkContext, count: int) -> None:
    rows = sc.union([sc.parallelize([i, -i], 2).map(str) for i in range(count)]).map(repr)
    program = program_of(rows)
    slices = pickle.dumps(program.slices(2 * count - 1))
    operators = Operators(program.layout, program.links, slices, lambda: Moment(0.0, 0.0))
    evaluator = Evaluator(operators, {}, {}, *[None] * 3)  # type: ignore[arg-type]
    assert list(evaluator.compute(2 * count - 1).run()) == [repr(str(1 - count))]
    # The source, the map over it, the union, and what is done with it.
    assert len(operators.loaded) == 4
    assert len(program.links) == 2 * count + 2


def test_a_task_that_reads_several_partitions_is_sent_all_of_them(sc: SparkContext) -> None:
    rows = sc.parallelize(list(range(10)), 10).zipWithIndex().coalesce(2)
    sent = [of_op for link in program_of(rows).slices(1).values() for of_op in link.values()]
    assert [sorted(slices) for slices in sent] == [[5, 6, 7, 8, 9]] * 2


def test_what_is_read_twice_is_sent_once(sc: SparkContext) -> None:
    rows: Any = sc.parallelize([1, 2], 2).map(str).setName("frozen")
    for _ in range(30):
        rows = rows.zip(rows)
    [[slices]] = [link.values() for link in program_of(rows).slices(1).values()]
    assert list(slices) == [1]
