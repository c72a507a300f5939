"""The suite stark: Stark's experiments on collections, with the paper's figures beside ours."""

from __future__ import annotations

from typing import Protocol

from benchmarks.stark_checkpoints import Checkpointing
from benchmarks.stark_cogroup import Cogroups
from benchmarks.stark_day import DayTrace
from benchmarks.stark_partitions import Partitions
from benchmarks.stark_skew import Skew
from benchmarks.stark_throughput import Throughput


class Part(Protocol):
    """One experiment."""

    is_well: bool

    def run(self) -> None: ...

    def markdown(self) -> str: ...


class Stark:
    """Runs the parts, and reports."""

    def __init__(self, repeat: int, scale: str) -> None:
        small = scale == "small"
        self.known: dict[str, Part] = {
            "throughput": Throughput(small),
            "day": DayTrace(small),
            "checkpoints": Checkpointing(),
            "skew": Skew(),
            "cogroup": Cogroups(repeat, small),
            "partitions": Partitions(repeat, small),
        }
        self.ran: list[Part] = []

    def run(self, name: str) -> None:
        print(name, flush=True)
        part = self.known[name]
        part.run()
        self.ran.append(part)

    @property
    def is_well(self) -> bool:
        return all(part.is_well for part in self.ran)

    def markdown(self, command: str) -> str:
        told = [part.markdown() for part in self.ran]
        return "\n".join(["# Stark", "", f"`{command}`", "", *told])
