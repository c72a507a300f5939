"""What work costs: the model's constants, as measured, and the kinds of nodes."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass

from pyrite.errors import UserError


@dataclass(frozen=True, slots=True)
class CostModel:
    """The costs of the engine's own work, on one core of the machine that was measured.

    The defaults are what one run of scripts/calibrate measured on an idle virtual machine with two
    cores, Python 3.11 and a fast disk; it writes a file of them for any other. The last three are
    not measured.
    """

    # The driver is one loop: what an event costs it, and what a launch costs on top.
    driver_event_s: float = 76e-6
    driver_launch_s: float = 76e-6
    # What a task costs its executor beside the user's work.
    task_overhead_s: float = 199e-6
    encode_bytes_per_s: float = 246e6
    decode_bytes_per_s: float = 78e6
    copy_bytes_per_s: float = 2.8e9
    disk_write_bytes_per_s: float = 1.2e9
    disk_read_bytes_per_s: float = 1.4e9
    # Finding a block in the own node's pool, reading a small one of another node or from disk, and
    # the bytes of large ones that another node's block server sends.
    local_block_s: float = 6e-6
    remote_block_s: float = 90e-6
    disk_block_s: float = 12e-6
    remote_bytes_per_s: float = 2.5e9
    # How fast a core is while all cores of its node are busy, where one alone has 1.
    shared_efficiency: float = 0.936
    # Rows as Python objects, by the bytes that they take encoded.
    live_bytes_per_encoded_byte: float = 9.5
    executor_start_s: float = 0.05
    # Until the driver knows that an executor, or a node, has gone.
    executor_notice_s: float = 0.02
    node_notice_s: float = 1.5

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CostModel:
        """Reads the file that scripts/calibrate writes."""
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except OSError as error:
            raise UserError(f"the model {str(path)!r} can't be read: {error.strerror}") from None
        except ValueError as error:
            raise UserError(f"the model {str(path)!r} is no JSON: {error}") from None
        names = {each.name for each in dataclasses.fields(cls)}
        given = found.get("costs") if isinstance(found, dict) else None
        if not isinstance(given, dict) or (strangers := sorted(given.keys() - names)):
            blame = f": it has {', '.join(strangers)}" if isinstance(given, dict) else ""
            raise UserError(
                f"the model {str(path)!r} does not look like one{blame}; "
                "scripts/calibrate FILE writes one"
            )
        for name, value in given.items():
            # Times may be nothing; what is divided by may not.
            least = 0.0 if name.endswith("_s") and not name.endswith("_per_s") else 1e-9
            if not isinstance(value, (int, float)) or not least <= value < float("inf"):
                raise UserError(
                    f"the model {str(path)!r}: {name} is {value!r}, not a number that makes sense"
                )
        return cls(**given)

    def save(self, path: str | os.PathLike[str], **notes: object) -> None:
        """Writes a file that `load` takes; the notes are for its human readers."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"costs": dataclasses.asdict(self), **notes}, file, indent=2)
            file.write("\n")

    def decode_s(self, size_bytes: float) -> float:
        return size_bytes / self.decode_bytes_per_s

    def write_s(self, size_bytes: float) -> float:
        """Encoding rows and laying them into the pool."""
        return size_bytes / self.encode_bytes_per_s + size_bytes / self.copy_bytes_per_s

    def task_s(self) -> float:
        """What an empty task takes from its launch until the driver has heard of its end."""
        return self.driver_event_s + self.driver_launch_s + self.task_overhead_s


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A node: one executor per core, and what they share. Speed 1 is the measured machine's."""

    cores: int
    memory_bytes: int = 8 << 30
    network_bytes_per_s: float = 125e6
    latency_s: float = 100e-6
    speed: float = 1.0
    disk_write_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    pool_share: float = 0.25

    # The same parts as the engine's own defaults for a machine.

    @property
    def pool_bytes(self) -> int:
        return int(self.memory_bytes * self.pool_share)

    @property
    def executor_memory_bytes(self) -> int:
        return self.memory_bytes // (2 * max(1, self.cores))

    def rate_each(self, busy: int, efficiency: float) -> float:
        """How fast each of so many busy executors is."""
        if busy > self.cores:
            return self.speed * efficiency * self.cores / busy
        # Between one alone and all of them: the more are busy, the more they are in the way.
        crowd = (busy - 1) / (self.cores - 1) if self.cores > 1 else 0.0
        return self.speed * (1.0 - (1.0 - efficiency) * crowd)
