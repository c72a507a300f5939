"""The server of a ring's member: runs its decisions, and does what they say."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyrite.dht.blocks import send_block
from pyrite.dht.folder import MemberFolder
from pyrite.dht.links import RingLinks
from pyrite.dht.peers import RingPeers
from pyrite.remote.errors import PeerLost
from pyrite.ring.member import RingProcess
from pyrite.ring.messages import ClientReply, ClientRequest, MemberMessage, NotReady, RingPeer
from pyrite.ring.turn import AnswerClient, CopyBlock, DropBlock, RingAction, SaveItems, SendTo
from pyrite.ring.views import RingMember

TICK_S = 0.1
COPIERS = 2
ANSWER_S = 3.0


class Ticket:
    """A client's request, and the place of its reply."""

    def __init__(self) -> None:
        self.reply: ClientReply | None = None
        self.is_done = threading.Event()


class RingServer:
    """One member: its decisions under a lock, a thread for its disk, and one for its clock."""

    def __init__(self, folder: MemberFolder, address: str, secret: bytes) -> None:
        self.folder = folder
        self.address = address
        self.store = folder.store
        self.links = RingLinks(secret)
        self.peers = RingPeers(self.links)
        me = RingMember(folder.id, folder.incarnation, address, folder.position)
        self.process = RingProcess(me, folder.saved(), self.store.sizes())
        self.lock = threading.RLock()
        self._orders: queue.Queue[SaveItems | None] = queue.Queue()
        self._own: queue.Queue[MemberMessage | None] = queue.Queue()
        self._copiers = ThreadPoolExecutor(COPIERS, "ring copies")
        self._ends = threading.Event()

    def start(self, others: list[str], founds: bool) -> None:
        """Begins a ring, or goes back to the one that it was in, or asks others to be let in."""
        self._others = others
        if founds:
            with self.lock:
                self._perform(self.process.found(time.monotonic()))
        for run in (self._save, self._tick, self._hear_own):
            name = f"ring {run.__name__}"
            threading.Thread(target=_or_end, args=(run,), name=name, daemon=True).start()

    def stop(self) -> None:
        self._ends.set()
        self._orders.put(None)
        self._own.put(None)
        self._copiers.shutdown(wait=False, cancel_futures=True)
        self.peers.close()
        self.links.close()

    def leave(self, patience_s: float) -> bool:
        """Leaves in order; returns whether others have all that was here."""
        with self.lock:
            self.process.leave()
        until_s = time.monotonic() + patience_s
        while time.monotonic() < until_s:
            with self.lock:
                standing = self.process.standing
                is_last = standing.view is not None and len(standing.view.members) == 1
                if is_last or (not standing.votes and not self.process.repair.lacking):
                    return True
            time.sleep(TICK_S)
        return False

    def hear(self, peer: RingPeer, message: MemberMessage) -> None:
        with self.lock:
            self._perform(self.process.on_message(peer, message, time.monotonic()))

    def ask(self, request: ClientRequest) -> ClientReply:
        ticket = Ticket()
        with self.lock:
            self._perform(self.process.on_request(ticket, request, time.monotonic()))
        if not ticket.is_done.wait(ANSWER_S) or ticket.reply is None:
            return NotReady("not all copies of the path answer")
        return ticket.reply

    def takes(self, view: int, name: str) -> bool:
        with self.lock:
            return self.process.repair.takes(view, name)

    def stored(self, view: int, name: str, length: int) -> bool:
        """A block has been written; returns whether it counts."""
        with self.lock:
            if not self.process.repair.takes(view, name):
                return False
            self.process.repair.stored(name, length)
            return True

    def lost(self, name: str) -> None:
        """A block is not as it was written, or is gone."""
        logging.getLogger(__name__).warning(
            "block %s is spoilt or gone here, and is being repaired", name
        )
        with self.lock:
            self._perform(self.process.on_block_lost(name, time.monotonic()))

    def drop(self, name: str) -> None:
        """No file has the block any more."""
        with self.lock:
            self._perform(self.process.on_block_unneeded(name, time.monotonic()))

    def status(self) -> dict[str, Any]:
        with self.lock:
            process = self.process
            return {
                "id": process.standing.me.id,
                "address": self.address,
                "dir": str(self.folder.path),
                "bytes": sum(process.repair.blocks.values()),
                "blocks": len(process.repair.blocks),
                "records": len(process.records.table),
                "view": process.standing.number,
                "coordinator": process.election.leader,
                "underReplicated": process.repair.lacking,
                "whole": process.is_whole,
            }

    def _perform(self, actions: list[RingAction]) -> None:
        """Under the lock: nothing here waits."""
        me = RingPeer(self.process.standing.me.id, self.address)
        for action in actions:
            match action:
                case SendTo(address, message):
                    if address == self.address:
                        self._own.put(message)
                    else:
                        self.peers.send(me, address, message)
                case AnswerClient(ticket, reply):
                    ticket.reply = reply
                    ticket.is_done.set()
                case SaveItems():
                    self._orders.put(action)
                case CopyBlock():
                    self._copiers.submit(self._copy, action)
                case DropBlock(name):
                    self.store.remove(name)

    def _save(self) -> None:
        """Writes orders in turn; those that have come meanwhile go to the disk together."""
        while (first := self._orders.get()) is not None:
            orders = [first]
            while not self._orders.empty() and (more := self._orders.get()) is not None:
                orders.append(more)
            try:
                self.folder.journal.write(order.items for order in orders)
                is_saved = True
            except OSError:
                is_saved = False
            with self.lock:
                for order in orders:
                    now_s = time.monotonic()
                    self._perform(self.process.on_saved(order.order, is_saved, now_s))

    def _hear_own(self) -> None:
        while (message := self._own.get()) is not None:
            self.hear(RingPeer(self.process.standing.me.id, self.address), message)

    def _tick(self) -> None:
        while not self._ends.wait(TICK_S):
            with self.lock:
                now_s = time.monotonic()
                if self.process.standing.view is None:
                    self._perform(self.process.join(now_s, self._others))
                self._perform(self.process.tick(now_s))
                # A full disk: the position is only a wish.
                with contextlib.suppress(OSError):
                    self.folder.remember(self.process.standing.me.position)

    def _copy(self, order: CopyBlock) -> None:
        """Sends a block to another member; one that is spoilt here is asked for instead."""
        is_there = False
        checksums = self.store.checksums(order.name)
        if checksums is None:
            self.lost(order.name)
        else:
            try:
                is_there = send_block(self.links, self.store, order, checksums)
            except (PeerLost, OSError):
                is_there = False
        with self.lock:
            now_s = time.monotonic()
            self._perform(self.process.on_block_copied(order.name, order.id, is_there, now_s))


def _or_end(run: Callable[[], None]) -> None:
    """Ends the process if one of its threads fails: half a member would only mislead the others."""
    try:
        run()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
