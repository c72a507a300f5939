"""Programs made from tables: each entry of one with each entry of another."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tests.pyspark.registry import Case, add_case, outcome


def add_programs(
    title: str,
    uses: Mapping[str, Callable[..., Any]],
    inputs: Mapping[str, Callable[..., Any]],
    order: str = "exact",
) -> None:
    """A program for each use of each input, named `title.input.use`.

    An input is a function that makes what the use takes after the context and the folder. The
    program's answer is the use's, or its error, at whatever moment it came.
    """
    for name, use in uses.items():
        for given, make in inputs.items():
            program = partial(answer, use, make)
            add_case(Case(f"{title}.{given}.{name}", (name,), program, order))


def answer(use: Callable[..., Any], make: Callable[..., Any], sc: Any, folder: Any) -> Any:
    return outcome(lambda: use(sc, folder, make()))
