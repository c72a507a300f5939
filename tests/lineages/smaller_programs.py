"""Programs made smaller, to find the least that still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from collection_operators import ALL_ACTIONS, ALL_OPERATORS
from lineage import Ask, Program, Source, Step, plain_source, plain_step, suits
from lineage_operators import Choice
from plain_rows import Plain

# They change the dataset that they are given: nobody need read what they return.
MARKS = ("persist", "checkpoint", "forceCheckpoint", "reportRDD")
# A dataset that grew so much since others were left out would take too long.
MOST_WEIGHT = 100_000
MOST_JOIN_PAIRS = 250_000
# Up to here rows are left out one by one.
MOST_SINGLE_ROWS = 12

Threads = tuple[tuple[Ask, ...], ...]


def shrink(program: Program) -> Iterator[Program]:
    """Smaller programs that plain Python can evaluate, the most promising first."""
    for change in (
        only_needed,
        fewer_threads,
        fewer_asks,
        fewer_cancels,
        fewer_steps,
        fewer_rows,
        fewer_slices,
        simpler_arguments,
    ):
        for candidate in change(program):
            smaller = trimmed(candidate)
            if is_valid(smaller):
                yield smaller


def bulk(program: Program) -> int:
    """How large a program is: less after every step of shrinking."""
    asks = [ask for asks in program.threads for ask in asks]
    steps = program.steps
    return sum(
        [
            100 * (len(program.sources) + len(steps) + len(asks) + len(program.threads)),
            10 * (len(program.cancels) + sum(ask.group is not None for ask in asks)),
            sum(row_count(source) + source.slices for source in program.sources),
            sum(place(ALL_OPERATORS[each.operator].arguments, each.arguments) for each in steps),
            sum(place(ALL_ACTIONS[each.action].arguments, each.arguments) for each in asks),
        ]
    )


def row_count(source: Source) -> int:
    return source.rows if isinstance(source.rows, int) else len(source.rows)


def place(choices: tuple[Choice, ...], arguments: tuple[Any, ...]) -> int:
    return sum(map(index_of, choices, arguments))


def index_of(choice: Choice, argument: Any) -> int:
    """Where an argument stands among its choices; one that is none of them after all."""
    return choice.index(argument) if argument in choice else len(choice)


def is_valid(program: Program) -> bool:
    """Whether every operator and action suits what it is given now."""
    made = [plain_source(source) for source in program.sources]
    for step in program.steps:
        if not suits(step.operator, step.parents, made) or join_pairs(step, made) > MOST_JOIN_PAIRS:
            return False
        made.append(plain_step(step, made))
        if made[-1].weight > MOST_WEIGHT:
            return False
    return all(
        ALL_ACTIONS[ask.action].suits(made[ask.dataset]) for asks in program.threads for ask in asks
    )


def join_pairs(step: Step, made: list[Plain]) -> int:
    """How many pairs of rows a join makes at the most, before any is made."""
    if step.operator != "anyJoin":
        return 0
    left, right = step.parents
    return len(made[left].rows) * len(made[right].rows)


# Datasets


def trimmed(program: Program) -> Program:
    """The program without sources, steps and cancels that no ask needs."""
    first = len(program.sources)
    needed = {ask.dataset for asks in program.threads for ask in asks}
    for number in reversed(range(len(program.steps))):
        step = program.steps[number]
        if first + number in needed:
            needed.update(step.parents)
    for number, step in enumerate(program.steps):
        if step.operator in MARKS and step.parents[0] in needed:
            needed.add(first + number)
    kept = sorted(needed)
    groups = {ask.group for asks in program.threads for ask in asks}
    places = {dataset: place for place, dataset in enumerate(kept)}
    return renumbered(
        Program(
            tuple(program.sources[i] for i in kept if i < first),
            tuple(program.steps[i - first] for i in kept if i >= first),
            program.threads,
            tuple(each for each in program.cancels if each.group in groups),
        ),
        places.__getitem__,
    )


def only_needed(program: Program) -> Iterator[Program]:
    if trimmed(program) != program:
        yield program


def renumbered(program: Program, place: Callable[[int], int]) -> Program:
    """The program with every dataset that is read exchanged for another."""
    return program._replace(
        steps=tuple(
            step._replace(parents=tuple(map(place, step.parents))) for step in program.steps
        ),
        threads=tuple(
            tuple(ask._replace(dataset=place(ask.dataset)) for ask in asks)
            for asks in program.threads
        ),
    )


def fewer_steps(program: Program) -> Iterator[Program]:
    """Without one step, whose parent is read instead; the last ones first."""
    first = len(program.sources)
    for number in reversed(range(len(program.steps))):
        dataset = first + number
        rest = program.steps[:number] + program.steps[number + 1 :]
        for parent in dict.fromkeys(program.steps[number].parents):
            yield renumbered(
                program._replace(steps=rest),
                lambda i, dataset=dataset, parent=parent: (  # type: ignore[misc]
                    i if i < dataset else parent if i == dataset else i - 1
                ),
            )


# Threads


def fewer_threads(program: Program) -> Iterator[Program]:
    threads = program.threads
    if len(threads) > 1:
        for asks in threads:
            yield program._replace(threads=(asks,))
        for number in range(len(threads)):
            yield program._replace(threads=threads[:number] + threads[number + 1 :])
        yield program._replace(threads=(sum(threads, ()),))


def fewer_asks(program: Program) -> Iterator[Program]:
    for number, asks in enumerate(program.threads):
        half = len(asks) // 2
        fewer = [asks[half:], asks[:half]] if half > 1 else []
        fewer += [asks[:i] + asks[i + 1 :] for i in range(len(asks)) if len(asks) > 1]
        for less in fewer:
            threads = (*program.threads[:number], less, *program.threads[number + 1 :])
            yield program._replace(threads=threads)


def fewer_cancels(program: Program) -> Iterator[Program]:
    """Without a cancellation and, so that it can't be missed, without its group."""
    groups = {ask.group: None for asks in program.threads for ask in asks if ask.group}
    for group in groups:
        yield program._replace(
            cancels=tuple(each for each in program.cancels if each.group != group),
            threads=tuple(
                tuple(ask._replace(group=None) if ask.group == group else ask for ask in asks)
                for asks in program.threads
            ),
        )


# Sources and arguments


def fewer_rows(program: Program) -> Iterator[Program]:
    for number, source in enumerate(program.sources):
        for rows in less_of(source.rows):
            yield with_source(program, number, source._replace(rows=rows))


def less_of(rows: Any) -> Iterator[Any]:
    if isinstance(rows, int):
        yield from dict.fromkeys(less for less in (0, rows // 2, rows - 1) if 0 <= less < rows)
        return
    size = len(rows) // 2
    while size > MOST_SINGLE_ROWS // 4:
        for start in range(0, len(rows), size):
            yield rows[:start] + rows[start + size :]
        size //= 2
    if len(rows) <= MOST_SINGLE_ROWS:
        for i in range(len(rows)):
            yield rows[:i] + rows[i + 1 :]


def fewer_slices(program: Program) -> Iterator[Program]:
    for number, source in enumerate(program.sources):
        for slices in lower(source.slices):
            yield with_source(program, number, source._replace(slices=slices))


def with_source(program: Program, number: int, source: Source) -> Program:
    sources = program.sources
    return program._replace(sources=(*sources[:number], source, *sources[number + 1 :]))


def lower(number: int) -> list[int]:
    return list(dict.fromkeys(each for each in (1, number // 2, number - 1) if 1 <= each < number))


def simpler_arguments(program: Program) -> Iterator[Program]:
    for number, step in enumerate(program.steps):
        for arguments in simpler(ALL_OPERATORS[step.operator].arguments, step.arguments):
            changed = step._replace(arguments=arguments)
            steps = (*program.steps[:number], changed, *program.steps[number + 1 :])
            yield program._replace(steps=steps)
    for number, asks in enumerate(program.threads):
        for index, ask in enumerate(asks):
            for arguments in simpler(ALL_ACTIONS[ask.action].arguments, ask.arguments):
                changed_ask = ask._replace(arguments=arguments)
                less = (*asks[:index], changed_ask, *asks[index + 1 :])
                threads = (*program.threads[:number], less, *program.threads[number + 1 :])
                yield program._replace(threads=threads)


def simpler(choices: tuple[Choice, ...], arguments: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """One argument exchanged for the simplest one, or for the next simpler one."""
    for place, choice in enumerate(choices):
        now = index_of(choice, arguments[place])
        for index in dict.fromkeys((0, now - 1)):
            if 0 <= index < now:
                yield (*arguments[:place], choice[index], *arguments[place + 1 :])
