"""A node with a block server of its own, as its parent holds it."""

import os
import select
import signal
from pathlib import Path

from peers import PATIENCE_S

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium, NodeId
from pyrite.remote.controlsocket import Done
from pyrite.remote.process import LOOPBACK, ServerProcess
from pyrite.remote.server import ServerLimits


class Node:
    """Folders and a server."""

    def __init__(self, root: Path, number: int, secret: bytes, **limits: int) -> None:
        memory, disk = root / f"memory-{number}", root / f"disk-{number}"
        memory.mkdir()
        disk.mkdir()
        self.folders = Folders(str(memory), str(disk), NodeId(f"node-{number}"))
        self.server = ServerProcess.start(self.folders, secret, LOOPBACK, ServerLimits(**limits))

    def fill(self, segment: str, size: int) -> bytes:
        data = os.urandom(min(size, 1 << 20)) * -(-size // (1 << 20))
        Path(self.folders.path(segment, "memory")).write_bytes(data)
        return data

    def bytes_of(self, segment: str, medium: Medium = "memory") -> bytes:
        return Path(self.folders.path(segment, medium)).read_bytes()

    def segments(self) -> list[str]:
        return sorted(os.listdir(self.folders.memory) + os.listdir(self.folders.disk))

    def heard(self, count: int) -> list[Done]:
        """So many results, waited for as a parent does."""
        found: list[Done] = []
        while len(found) < count and not self.server.closed:
            assert select.select([self.server.poll], [], [], PATIENCE_S)[0]
            found += self.server.receive()
        return found

    def signal(self, number: int) -> None:
        os.kill(self.server.process.pid, number)

    def end(self) -> None:
        if self.server.process.poll() is None:
            self.signal(signal.SIGCONT)
        self.server.stop()
