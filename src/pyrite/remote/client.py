"""The client of other nodes' block servers: reads blocks into warm memory, and places blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from pyrite.ids import Medium
from pyrite.remote.asking import WINDOW, Asking, ByteRange, Enough
from pyrite.remote.buffers import WarmBuffers
from pyrite.remote.errors import Address, BlockGone, BlockRefused, BlockSpoilt, PeerLost
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

# More connections than these are closed, those used longest ago first.
MOST_LINKS = 64


class BlockClient:
    """Reads and writes blocks of other nodes. Not for several threads: each has its own."""

    def __init__(self, secret: bytes, timeout_s: float = TIMEOUT_S) -> None:
        self.secret = check_secret(secret)
        self.timeout_s = timeout_s
        self.buffers = WarmBuffers()
        self.links: dict[Address, PeerLink] = {}
        self.process = os.getpid()
        self.talking: PeerLink | None = None
        self.has_hung_up = False

    def read(
        self, address: Address, segment: str, offset: int, length: int, medium: Medium = "memory"
    ) -> memoryview:
        """The bytes, in memory that is theirs while somebody looks into it.

        Raises BlockGone where the node does not have them, PeerLost where it does not answer.
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
        """All the stretches, in their order, in few round trips; those that are gone as errors."""
        stretches = [ByteRange(*each) for each in wanted]
        headers = [pack_request(Kind.READ, *each) for each in stretches]
        return self._exchange(address, lambda link: self._read(link, stretches, headers))

    def gather(
        self,
        address: Address,
        blocks: Sequence[ByteRange],
        parts: Sequence[int],
        most_bytes: int = MOST_BYTES,
        longest_bytes: int = MOST_BYTES,
    ) -> list[memoryview | BlockGone]:
        """A selection of each map output in its order, in few round trips; those gone as errors.

        The parts ascend. Where all would have more than `most_bytes` together they are fewer than
        the outputs, but one at least; none where that one has more than `longest_bytes`.
        """
        asking = Asking(blocks, parts, most_bytes, longest_bytes)
        found: list[memoryview | BlockGone] = []

        def talk(link: PeerLink) -> None:
            # Over a new connection the rest is asked for.
            asking.restart(len(found))
            self._gather(link, asking, found)

        with contextlib.suppress(Enough):
            self._exchange(address, talk)
        return found

    def gather_into(
        self, address: Address, block: ByteRange, parts: Sequence[int], view: memoryview
    ) -> int:
        """Receives the selection of a map output at the start of the view; gives its length.

        Raises BlockGone, BlockRefused, PeerLost, and ValueError where it would not fit.
        """
        request = [pack_request(Kind.GATHER, *block, len(parts)), pack_parts(parts)]

        def fit(length: int) -> memoryview:
            if length > len(view):
                # With its bytes on the way, the connection is of no more use.
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
        """Writes the buffers as one block into the segment of `total` bytes that is leased there.

        The first block makes the segment; each lies behind the one before. Raises BlockRefused,
        or BlockGone where the segment was removed meanwhile.
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

    def ping(self, address: Address) -> None:
        """Returns when the node has answered; raises PeerLost if it does not."""
        self._exchange(address, lambda link: link.ask([PING]))

    def close(self) -> None:
        """Closes all connections, and gives the buffers' memory back."""
        for link in self.links.values():
            link.close()
        self.links.clear()
        self.buffers.clear()

    def hang_up(self) -> None:
        """From any thread: who waits for a node gets PeerLost, and nothing more is sent."""
        self.has_hung_up = True
        link = self.talking
        if link is not None:
            link.hang_up()

    def _read(
        self, link: PeerLink, stretches: list[ByteRange], headers: list[bytes]
    ) -> list[memoryview | BlockGone]:
        found: list[memoryview | BlockGone] = []
        unsent = iter(headers)
        ahead = 0
        for stretch in stretches:
            if ahead <= WINDOW // 2:
                batch = list(islice(unsent, WINDOW - ahead))
                if batch:
                    link.send(batch)
                ahead += len(batch)
            view = self.buffers.take(stretch.length)
            reply = link.receive(view)
            ahead -= 1
            if reply.status is Status.OK:
                found.append(view.toreadonly())
                continue
            error = failure(reply, link.address, stretch)
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
        """Talks over the kept connection; over a new one, once, where that has broken."""
        self._check_process()
        link = self.links.pop(address, None)
        if link is not None:
            try:
                return self._talk(link, talk)
            except Broken:
                pass
        try:
            return self._talk(PeerLink(address, self.timeout_s), talk, is_new=True)
        except Broken as error:
            raise PeerLost(address, str(error)) from None

    def _check_process(self) -> None:
        """Leaves a parent's connections and buffers to it, in a process that was forked."""
        if os.getpid() != self.process:
            # Two processes on one connection would mix their words, and in one buffer their bytes.
            self.close()
            self.process = os.getpid()

    def _talk(self, link: PeerLink, talk: Callable[[PeerLink], T], is_new: bool = False) -> T:
        # Whoever is interrupted, even by a signal, leaves a connection in the middle of a word:
        # it is kept only when all has been said.
        try:
            self.talking = link
            if is_new and not self.has_hung_up:
                link.connect(self.secret)
            # Looked at when the connection is there: from now on, hanging up breaks it.
            if self.has_hung_up:
                raise Broken("the client has hung up")
            result = talk(link)
        except BaseException:
            self.talking = None
            link.close()
            raise
        self.talking = None
        self.links[link.address] = link
        if len(self.links) > MOST_LINKS:
            self.links.pop(next(iter(self.links))).close()
        return result


def failure(reply: Reply, address: Address, stretch: ByteRange) -> BlockGone | BlockRefused:
    """What a reply that is not OK means for who asked."""
    if reply.status is Status.GONE:
        kind = BlockSpoilt if reply.reason is Reason.SPOILT else BlockGone
        return kind(address, stretch.segment, stretch.offset, stretch.length)
    return BlockRefused(address, stretch.segment, MEANING[reply.reason])
