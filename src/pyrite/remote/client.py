"""The client of other nodes' block servers: reads blocks into warm memory, and places blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from pyrite.ids import Medium
from pyrite.remote.asking import WINDOW, Asking, ByteRange, Enough
from pyrite.remote.buffers import WarmBuffers
from pyrite.remote.errors import Address, BlockGone, BlockRefused, OutputCorrupt, PeerLost
from pyrite.remote.gate import own_gate
from pyrite.remote.handshake import check_secret
from pyrite.remote.link import Broken, PeerLink
from pyrite.remote.neighbours import TIMEOUT_S
from pyrite.remote.protocol import (
    MEANING,
    MOST_BYTES,
    PING,
    Kind,
    Reason,
    Reply,
    Status,
    pack_parts,
    pack_request,
)

T = TypeVar("T")


class BlockClient:
    """Reads and writes blocks of other nodes. Not thread-safe: each thread has its own."""

    def __init__(self, secret: bytes, timeout_s: float = TIMEOUT_S) -> None:
        self.secret = check_secret(secret)
        self.timeout_s = timeout_s
        self.buffers = WarmBuffers()
        self.links: dict[Address, PeerLink] = {}
        self.process = os.getpid()
        self.talking: PeerLink | None = None
        # The servers of nodes that were given up; a new one may get an old one's address.
        self.given_up: set[Address] = set()
        self.has_hung_up = False

    def read(
        self, address: Address, segment: str, offset: int, length: int, medium: Medium = "memory"
    ) -> memoryview:
        """Returns the bytes, in memory that is reused once all views of it are gone.

        Raises BlockGone if the node does not have them, PeerLost if it does not answer.
        """
        self._check_process()
        header = pack_request(Kind.READ, segment, offset, length, medium)
        view = self.buffers.take(length)
        reply = self._exchange(address, lambda link: link.ask([header], view))
        if reply.status is not Status.OK:
            raise failure(reply, address, ByteRange(segment, offset, length, medium))
        return view.toreadonly()

    def read_many(
        self, address: Address, wanted: Iterable[tuple[str, int, int, Medium]]
    ) -> list[memoryview | BlockGone]:
        """Returns all ranges in their order, in few round trips; errors in place of lost ones."""
        ranges = [ByteRange(*each) for each in wanted]
        headers = [pack_request(Kind.READ, *each) for each in ranges]
        return self._exchange(address, lambda link: self._read(link, ranges, headers))

    def gather(
        self,
        address: Address,
        blocks: Sequence[ByteRange],
        parts: Sequence[int],
        most_bytes: int = MOST_BYTES,
        longest_bytes: int = MOST_BYTES,
    ) -> list[memoryview | BlockGone]:
        """Returns a selection of each map output, in few round trips; errors in place of lost ones.

        The parts must ascend. If the selections have more than `most_bytes` together, only the
        first ones are returned, at least one; none if the first has more than `longest_bytes`.
        """
        asking = Asking(blocks, parts, most_bytes, longest_bytes)
        found: list[memoryview | BlockGone] = []

        def talk(link: PeerLink) -> None:
            # A new connection requests only the rest.
            asking.restart(len(found))
            self._gather(link, asking, found)

        with contextlib.suppress(Enough):
            self._exchange(address, talk)
        return found

    def gather_into(
        self, address: Address, block: ByteRange, parts: Sequence[int], view: memoryview
    ) -> int:
        """Receives the selection of a map output at the start of the view; returns its length.

        Raises BlockGone, BlockRefused, PeerLost, and ValueError if it does not fit.
        """
        request = [pack_request(Kind.GATHER, *block, len(parts)), pack_parts(parts)]

        def fit(length: int) -> memoryview:
            if length > len(view):
                # This closes the connection: the bytes are on their way already.
                raise ValueError(
                    f"{len(parts)} parts of segment {block.segment} have {length} bytes "
                    f"where there is room for {len(view)}"
                )
            return view[:length]

        def talk(link: PeerLink) -> Reply:
            link.send(request)
            return link.receive_any(fit)[0]

        reply = self._exchange(address, talk)
        if reply.status is not Status.OK:
            raise failure(reply, address, block)
        return reply.length

    def write(
        self,
        address: Address,
        segment: str,
        offset: int,
        buffers: Sequence[Any],
        total: int,
        medium: Medium = "memory",
    ) -> None:
        """Writes the buffers as one block into a leased segment of `total` bytes.

        The first block creates the segment; each follows the one before. Raises BlockRefused, or
        BlockGone if the segment was removed meanwhile.
        """
        pieces = [memoryview(each).cast("B") for each in buffers]
        length = sum(map(len, pieces))
        if offset + length > total:
            raise ValueError(
                f"{length} bytes at {offset} do not fit into segment {segment} of {total}"
            )
        header = pack_request(Kind.WRITE, segment, offset, length, medium, total)
        reply = self._exchange(address, lambda link: link.ask([header, *pieces]))
        if reply.status is not Status.OK:
            raise failure(reply, address, ByteRange(segment, offset, length, medium))

    def write_pieces(
        self,
        address: Address,
        segment: str,
        pieces: Callable[[], Iterable[bytes]],
        length: int,
        total: int,
        medium: Medium = "memory",
    ) -> None:
        """Writes the first block of a segment as `write` does, from pieces that are made as they
        are sent, and anew if a broken connection has it sent again."""
        header = pack_request(Kind.WRITE, segment, 0, length, medium, total)

        def talk(link: PeerLink) -> Reply:
            link.send([header])
            for piece in pieces():
                link.send([piece])
            return link.receive()

        reply = self._exchange(address, talk)
        if reply.status is not Status.OK:
            raise failure(reply, address, ByteRange(segment, 0, length, medium))

    def ping(self, address: Address) -> None:
        """Returns when the node has answered; raises PeerLost if it does not."""
        self._exchange(address, lambda link: link.ask([PING]))

    def close(self) -> None:
        """Closes all connections and releases the buffers."""
        for link in self.links.values():
            link.close()
        self.links.clear()
        self.buffers.clear()

    def hang_up(self) -> None:
        """Callable from any thread: a pending request fails with PeerLost, and no more is sent."""
        self.has_hung_up = True
        link = self.talking
        if link is not None:
            link.hang_up()

    def give_up(self, address: Address) -> None:
        """Callable from a signal handler: a pending request to this server fails with PeerLost."""
        self.given_up.add(address)
        link = self.talking
        if link is not None and link.address == address:
            link.hang_up()

    def know(self, addresses: Collection[Address]) -> None:
        """Closes the connections to all other servers."""
        self.given_up.difference_update(addresses)
        # The driver's loop calls this while other threads read: the copy is one step.
        for address in tuple(self.links):
            link = None if address in addresses else self.links.pop(address, None)
            if link is not None:
                link.close()

    def _read(
        self, link: PeerLink, ranges: list[ByteRange], headers: list[bytes]
    ) -> list[memoryview | BlockGone]:
        found: list[memoryview | BlockGone] = []
        unsent = iter(headers)
        ahead = 0
        for wanted in ranges:
            if ahead <= WINDOW // 2:
                batch = list(islice(unsent, WINDOW - ahead))
                if batch:
                    link.send(batch)
                ahead += len(batch)
            view = self.buffers.take(wanted.length)
            reply = link.receive(view)
            ahead -= 1
            if reply.status is Status.OK:
                found.append(view.toreadonly())
                continue
            error = failure(reply, link.address, wanted)
            if not isinstance(error, BlockGone):
                raise error
            found.append(error)
        return found

    def _gather(self, link: PeerLink, asking: Asking, found: list[memoryview | BlockGone]) -> None:
        while len(found) < len(asking.blocks):
            if requests := asking.next_requests():
                link.send(requests)
            if not asking.is_waiting:
                return
            block = asking.blocks[len(found)]
            reply, view = link.receive_any(
                lambda length: self.buffers.take(asking.accept(length)), asking.most_of(block)
            )
            asking.came(reply.length)
            if reply.status is Status.OK:
                found.append(view.toreadonly())
                continue
            error = failure(reply, link.address, block)
            if not isinstance(error, BlockGone):
                raise error
            found.append(error)

    def _exchange(self, address: Address, talk: Callable[[PeerLink], T]) -> T:
        """Uses the open connection; if that is broken, tries once over a new one."""
        self._check_process()
        link = self.links.pop(address, None)
        if address in self.given_up and link is not None:
            link.close()
            link = None
        if link is not None:
            try:
                return self._talk(link, talk)
            except Broken:
                pass
        if address in self.given_up:
            raise PeerLost(address, "its node was given up")
        try:
            link = PeerLink(address, self.timeout_s, own_gate())
            return self._talk(link, talk, is_new=True)
        except Broken as error:
            raise PeerLost(address, str(error)) from None

    def _check_process(self) -> None:
        """In a forked process, drops the parent's connections and buffers."""
        if os.getpid() != self.process:
            # Two processes on one connection would mix their messages.
            self.close()
            self.process = os.getpid()

    def _talk(self, link: PeerLink, talk: Callable[[PeerLink], T], is_new: bool = False) -> T:
        # An interrupted exchange, even by a signal, may leave half a message on the connection:
        # it is kept only after a complete exchange.
        try:
            self.talking = link
            if is_new and not self.has_hung_up:
                link.connect(self.secret)
            # Checked once connected: from now on, hanging up breaks the connection.
            if self.has_hung_up:
                raise Broken("the client has hung up")
            result = talk(link)
        except BaseException:
            self.talking = None
            link.close()
            raise
        self.talking = None
        self.links[link.address] = link
        return result


def failure(reply: Reply, address: Address, wanted: ByteRange) -> BlockGone | BlockRefused:
    """The error for a reply that is not OK."""
    if reply.status is Status.GONE:
        kind = OutputCorrupt if reply.reason is Reason.CORRUPT else BlockGone
        return kind(address, wanted.segment, wanted.offset, wanted.length)
    return BlockRefused(address, wanted.segment, MEANING[reply.reason])
