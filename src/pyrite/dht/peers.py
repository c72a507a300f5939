"""What a member sends to the others: a queue and a thread for each of them."""

from __future__ import annotations

import queue
import threading

from pyrite.dht.frames import Call, pack_frame
from pyrite.dht.links import BLOCK_S, RingLinks
from pyrite.dht.words import pack
from pyrite.remote.errors import PeerLost
from pyrite.ring.messages import MemberMessage, RingPeer

# Messages may get lost: who can't be reached gets none that are older.
MOST_WAITING = 4096
REST_S = 0.2


class RingPeers:
    """Sends messages, and forgets those that can't be delivered."""

    def __init__(self, links: RingLinks) -> None:
        self._links = links
        self._queues: dict[str, queue.Queue[bytes]] = {}
        self._ends = threading.Event()

    def send(self, me: RingPeer, address: str, message: MemberMessage) -> None:
        waiting = self._queues.get(address)
        if waiting is None:
            waiting = self._queues[address] = queue.Queue(MOST_WAITING)
            name = f"ring to {address}"
            threading.Thread(target=self._run, args=(address,), name=name, daemon=True).start()
        if not waiting.full():
            waiting.put(pack_frame(Call.TELL, pack((me, message))))

    def close(self) -> None:
        self._ends.set()

    def _run(self, address: str) -> None:
        waiting = self._queues[address]
        while not self._ends.is_set():
            first = waiting.get()
            try:
                with self._links.link(address, BLOCK_S) as link:
                    link.send([first])
                    while not self._ends.is_set():
                        link.send([waiting.get()])
            except (PeerLost, OSError):
                while not waiting.empty():
                    waiting.get_nowait()
                self._ends.wait(REST_S)
