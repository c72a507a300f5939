"""The measured constants of the cost model, and the kinds of nodes."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass

from pyrite.errors import UserError


@dataclass(frozen=True, slots=True)
class CostModel:
    """The costs of the engine's own work, on one core of the measured machine.

    scripts/calibrate measured the defaults on an idle virtual machine with two cores, Python 3.11
    and a fast disk; it writes a file of them for any other machine. The last three are not
    measured.
    """

    # The driver's loop: the cost of an event, and the extra cost of a launch.
    driver_event_s: float = 76e-6
    driver_launch_s: float = 76e-6
    # The cost of a task for its executor, besides the user's work.
    task_overhead_s: float = 199e-6
    encode_bytes_per_s: float = 246e6
    decode_bytes_per_s: float = 78e6
    copy_bytes_per_s: float = 2.8e9
    disk_write_bytes_per_s: float = 1.2e9
    disk_read_bytes_per_s: float = 1.4e9
    # Finding a block in the own node's pool, reading a small one from another node or from disk,
    # and the rate of another node's block server for large ones.
    local_block_s: float = 6e-6
    remote_block_s: float = 90e-6
    disk_block_s: float = 12e-6
    remote_bytes_per_s: float = 2.5e9
    # What a core receives into a new segment when input is fetched ahead.
    fetch_bytes_per_s: float = 1.2e9
    # The speed of a core while all cores of its node are busy; 1 is that of a core alone.
    shared_efficiency: float = 0.936
    # The memory of rows as Python objects, per byte of their encoding.
    live_bytes_per_encoded_byte: float = 9.5
    executor_start_s: float = 0.05
    # How long until the driver knows that an executor, or a node, is lost.
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
            # Times may be 0; divisors may not.
            least = 0.0 if name.endswith("_s") and not name.endswith("_per_s") else 1e-9
            if not isinstance(value, (int, float)) or not least <= value < float("inf"):
                raise UserError(
                    f"the model {str(path)!r}: {name} is {value!r}, not a number that makes sense"
                )
        return cls(**given)

    def save(self, path: str | os.PathLike[str], **notes: object) -> None:
        """Writes a file for `load`; the notes are for human readers."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"costs": dataclasses.asdict(self), **notes}, file, indent=2)
            file.write("\n")

    def decode_s(self, size_bytes: float) -> float:
        return size_bytes / self.decode_bytes_per_s

    def write_s(self, size_bytes: float) -> float:
        """The time to encode rows and copy them into the pool."""
        return size_bytes / self.encode_bytes_per_s + size_bytes / self.copy_bytes_per_s

    def fetch_s(self, size_bytes: float) -> float:
        """The processor time of fetching input ahead, for the node that receives it."""
        return size_bytes / self.fetch_bytes_per_s

    def task_s(self) -> float:
        """The time of an empty task, from its launch until the driver has handled its end."""
        return self.driver_event_s + self.driver_launch_s + self.task_overhead_s


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A node: one executor per core, and their shared resources. Speed 1 is the measured one."""

    cores: int
    memory_bytes: int = 8 << 30
    network_bytes_per_s: float = 125e6
    latency_s: float = 100e-6
    speed: float = 1.0
    disk_write_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    pool_share: float = 0.25

    # The same shares as the engine's defaults.

    @property
    def pool_bytes(self) -> int:
        return int(self.memory_bytes * self.pool_share)

    @property
    def executor_memory_bytes(self) -> int:
        return self.memory_bytes // (2 * max(1, self.cores))

    def rate_each(self, busy: int, efficiency: float) -> float:
        """The speed of each of so many busy executors."""
        if busy > self.cores:
            return self.speed * efficiency * self.cores / busy
        # Interpolates between one alone and all of them: busy cores slow each other down.
        crowd = (busy - 1) / (self.cores - 1) if self.cores > 1 else 0.0
        return self.speed * (1.0 - (1.0 - efficiency) * crowd)
