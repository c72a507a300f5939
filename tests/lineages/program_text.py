"""Programs as Python that a user would write, which also runs."""

from __future__ import annotations

from typing import Any

from lineage import Ask, Program, Source, Step, evaluate
from lineage_actions import some_key
from plain_rows import Plain

# With the parents first, then the arguments; those not named here are methods of their own name.
OPERATOR_TEXTS = {
    "map": "{0}.map({1})",
    "filter": "{0}.filter(is_chosen)",
    "flatMap": "{0}.flatMap({1})",
    "keyBy": "{0}.keyBy(key_of)",
    "mapValues": "{0}.mapValues(digest)",
    "flatMapValues": "{0}.flatMapValues(repeated)",
    "lookUp": "{0}.map(lambda row, keys=sc.broadcast(KEYS): "
    "(keys.value[digest(row) % len(KEYS)], row))",
    "mapPartitions": "{0}.mapPartitions(iter, {1})",
    "digestPartitions": "{0}.mapPartitions(each_digest)",
    "reversePartitions": "{0}.mapPartitions(reversed_rows)",
    "numberPartitions": "{0}.mapPartitionsWithIndex(numbered)",
    "lengths": "{0}.mapPartitionsWithIndex(length)",
    "glom": "{0}.glom().map(tuple)",
    "zip": "{0}.zip({0}.map(digest))",
    "sample": "{0}.sample(False, {1}, {2})",
    "barrier": "{0}.barrier().mapPartitions(met).keyBy(digest).partitionBy({1}).values()",
    "allGather": "{0}.barrier().mapPartitionsWithIndex(all_met).partitionBy({1})",
    "partitionByDigest": "{0}.partitionBy({1}, digest)",
    "sortBy": "{0}.sortBy(rank, {1}, {2})",
    "sortByKey": "{0}.sortByKey({1}, {2}, rank)",
    "repartitionAndSortWithinPartitions": "{0}.repartitionAndSortWithinPartitions("
    "{1}, keyfunc=rank).mapPartitions(sorted_by_key, True)",
    "reduceByKey": "{0}.reduceByKey({1}, {2})",
    "countsByKey": "{0}.mapValues(one).reduceByKey(add, {1})",
    "groupByKey": "{0}.groupByKey({1}).mapValues(in_order)",
    "groupBy": "{0}.groupBy(key_of, {1}).mapValues(in_order)",
    "aggregateByKey": "{0}.aggregateByKey((0, 0), count_in, add_counts, {1})",
    "foldByKey": "{0}.mapValues(digest).foldByKey(0, add, {1})",
    "combineByKey": "{0}.combineByKey(alone, with_one_more, add, {1}).mapValues(in_order)",
    "anyJoin": "{0}.{2}({1}, {3})",
    "cogroup": "{0}.cogroup({1}, {2}).mapValues(groups_in_order)",
    "localityPartitionBy": "localized({0}, {1}, {2})",
    "keyByDigest": "{0}.keyBy(digest)",
    "localityByRanges": "ranged({0}, {1}, {2}, {3})",
    "persist": "{0}.persist(StorageLevel.{1}) if not {0}.is_cached else {0}",
}

ACTION_TEXTS = {
    "count": "{0}.count(), {0}.isEmpty()",
    "reduce": "{0}.reduce(larger)",
    "treeReduce": "{0}.treeReduce(larger)",
    "fold": "{0}.map(digest).fold(0, add)",
    "aggregate": "{0}.aggregate((0, 0), count_in, add_counts)",
    "treeAggregate": "{0}.treeAggregate((0, 0), count_in, add_counts)",
    "ends": "{0}.takeOrdered({1}, rank), {0}.top({1}, rank)",
    "extremes": "{0}.min(rank), {0}.max(rank)",
    "numbers": "{0}.map(digest).sum(), {0}.map(digest).stats()",
    "foreach": "{0}.foreach(lambda row, rows=sc.accumulator(0): rows.add(1))",
    "mapSide": "{0}.map(lambda row, rows=sc.accumulator(0): "
    "rows.add(1) or few_keys(row)).reduceByKey(max, {1}).collect()",
    "givenUpIterator": "[row for row, _ in zip({0}.toLocalIterator(True), range({1}))]",
    "sample": "{0}.sample(False, {1}, 7).collect()",
}
TREES = {"reduce": "treeReduce", "aggregate": "treeAggregate"}


def text(program: Program) -> str:
    """A line for each dataset, ask and cancellation."""
    lines = [f"d{i} = {source_text(source)}" for i, source in enumerate(program.sources)]
    lines += [step_text(i, step) for i, step in enumerate(program.steps, len(lines))]
    plains = evaluate(program)
    for number, asks in enumerate(program.threads):
        lines.append(f"# thread {number}")
        lines += [ask_text(ask, plains[ask.dataset]) for ask in asks]
    for cancel in program.cancels:
        lines.append(f"# group {cancel.group} is cancelled after event {cancel.after_event}")
    return "\n".join(lines)


def source_text(source: Source) -> str:
    match source.kind:
        case "range":
            return f"sc.range({source.rows}, numSlices={source.slices})"
        case "fat":
            return f"sc.parallelize(fat_rows({source.rows}), {source.slices})"
        case "odd":
            return f"sc.parallelize(odd_rows({source.rows}), {source.slices})"
        case "textFile":
            return f"sc.textFile(written({list(source.rows)!r}), {source.slices})"
        case _:
            return f"sc.parallelize({list(source.rows)!r}, {source.slices})"


def step_text(number: int, step: Step) -> str:
    parents = [f"d{i}" for i in step.parents]
    if step.operator == "checkpoint":
        method = "localCheckpoint" if step.arguments[0] else "checkpoint"
        return f"d{number} = {parents[0]}; d{number}.{method}()"
    return f"d{number} = {filled(OPERATOR_TEXTS, step.operator, parents, step.arguments)}"


def ask_text(ask: Ask, plain: Plain) -> str:
    name, arguments = ask.action, ask.arguments
    if name in TREES and arguments == (True,):
        name = TREES[name]
    elif name == "lookup":
        arguments = (repr(some_key(plain, arguments[0])),)
    line = filled(ACTION_TEXTS, name, [f"d{ask.dataset}"], arguments)
    return line if ask.group is None else f"{line}  # in group {ask.group}"


def filled(
    texts: dict[str, str], name: str, datasets: list[str], arguments: tuple[Any, ...]
) -> str:
    # Names of functions are written as they are, and there are no other strings.
    written = [*datasets, *map(str, arguments)]
    if name in texts:
        return texts[name].format(*written)
    return f"{written[0]}.{name}({', '.join(written[1:])})"
