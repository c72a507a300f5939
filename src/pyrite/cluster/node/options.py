"""What an agent is started with: one line of JSON, on its standard input."""

from __future__ import annotations

import json
from typing import NamedTuple

from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId


class AgentOptions(NamedTuple):
    """A node to be, as its starter is told of it.

    The secret is in it: nobody writes it to a command line, an environment or a log.
    """

    node: NodeId
    # Names this start of the node: an agent of an earlier one is not let in.
    ticket: str
    secret: str
    # Where the driver waits for its agents.
    driver: tuple[str, int]
    # Where the block server listens; the port 0 is one that the kernel chooses.
    listen: tuple[str, int]
    local_dir: str
    executors: int
    pool_bytes: int
    send_bytes_per_s: int
    limits: WorkerLimits
    # An agent that does not hear from its driver for so long ends itself.
    alone_s: float | None
    # Shared memory that others on the node may still fill: Ray's object store.
    reserved_bytes: int = 0

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> AgentOptions:
        fields = json.loads(text)
        for name in ("driver", "listen"):
            fields[name] = tuple(fields[name])
        fields["limits"] = WorkerLimits(*fields["limits"])
        return cls(**fields)


class AgentHello(NamedTuple):
    """What a node says of itself as it joins; nothing but builtins, for marshal."""

    address: tuple[str, int]
    # The room that the node has for its pool: less than asked for where shared memory is short.
    pool_bytes: int
    pid: int
    server_pid: int
    memory_folder: str
    disk_folder: str
