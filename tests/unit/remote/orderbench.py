"""What a mover or a fetcher needs around it: folders of its own, and ears for what it says."""

from pathlib import Path
from queue import SimpleQueue
from typing import Any

from peers import PATIENCE_S

from pyrite.blocks.segments import Folders
from pyrite.ids import NodeId
from pyrite.remote.orders import Orders


class OrderBench:
    """Takes orders for one of them, and hears what became of each."""

    def __init__(self, kind: type[Orders[Any]], root: Path, secret: bytes | None) -> None:
        (root / "memory").mkdir()
        (root / "disk").mkdir()
        self.folders = Folders(str(root / "memory"), str(root / "disk"), NodeId("node-9"))
        self.said: SimpleQueue[tuple[int, str | None]] = SimpleQueue()
        self.forgotten: set[str] = set()
        self.orders = kind(
            self.folders, secret, lambda *result: self.said.put(result), self.forgotten
        )

    def carry_out(self, order: Any) -> str | None:
        """Why it could not be done, if it could not."""
        self.orders.take(order)
        id, reason = self.said.get(timeout=PATIENCE_S)
        assert id == order.id
        return reason
