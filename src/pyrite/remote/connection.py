"""One client's connection to a block server: non-blocking, and without copies of large blocks.

It holds the list of requested parts, up to 256 KB, and the start of a reply: a block of up to
64 KB, or the header of a selection, up to 1 MB.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, cast

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parts import select
from pyrite.remote.files import OpenFile, OpenFiles, Write, WriteRefused, WrittenSegments
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.protocol import (
    PART_BYTES,
    REQUEST,
    Kind,
    Malformed,
    Reason,
    Request,
    Status,
    pack_reply,
    unpack_parts,
    unpack_request,
)
from pyrite.remote.rate import TokenBucket
from pyrite.remote.replysender import SMALL_BYTES, ReplySender, read_exactly

if TYPE_CHECKING:
    from pyrite.remote.tls import TlsSocket

# The bytes that one connection may transfer before the others get their turn.
TURN_BYTES = 2 << 20
# A buffer of this size stays in the processor's cache between receiving and writing.
SCRATCH_BYTES = 256 << 10
# With the kernel's defaults a block of 1 MB takes several turns; with more than this, TCP gets
# slower for larger blocks, whose bytes have left the processor's cache before they are read.
TCP_SEND_BYTES = 512 << 10
UNIX_SEND_BYTES = 2 << 20
INBOUND_BYTES = 32 * REQUEST.size


class Phase(Enum):
    """The state of a connection."""

    PROVING = 1
    ASKING = 2
    SENDING = 3
    RECEIVING = 4
    LISTING = 5
    CLOSED = 6


class Service(NamedTuple):
    """What all connections of a server share."""

    secret: bytes
    files: OpenFiles
    written: WrittenSegments
    scratch: memoryview
    rate: TokenBucket
    # Whether what goes through the network is encrypted.
    has_tls: bool


class Connection:
    """A state machine that the server's loop advances whenever its socket is ready."""

    def __init__(self, sock: socket.socket, service: Service, now_s: float) -> None:
        self.sock = sock
        self.service = service
        self.phase = Phase.PROVING
        self.touched_s = now_s
        self.nonce = fresh_nonce()
        self.has_greeted = False
        self.inbound = memoryview(bytearray(INBOUND_BYTES))
        self.start = self.end = 0
        # The reply that is being sent, and its segment.
        self.is_tls = service.has_tls and sock.family != socket.AF_UNIX
        self.sender = ReplySender(sock, service.rate, self.is_tls)
        self.segment = ""
        # The block that is being received; None if it is discarded, to be refused at its end.
        self.write: Write | None = None
        self.left = 0
        self.refusal = Reason.NONE
        # A request for parts of a map output, and the part numbers received so far.
        self.gather: Request | None = None
        self.parts = bytearray()
        self.budget = 0

    def greet(self) -> None:
        """Sends the server's nonce, or does so when the client has shown its certificate."""
        self.sock.setblocking(False)
        is_unix = self.sock.family == socket.AF_UNIX
        room = UNIX_SEND_BYTES if is_unix else TCP_SEND_BYTES
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room)
        if not is_unix:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(BlockingIOError):
            self._send_nonce()

    def _send_nonce(self) -> None:
        self.sock.send(self.nonce)
        self.has_greeted = True

    @property
    def is_idle(self) -> bool:
        """Whether all requests are answered."""
        return self.phase is Phase.ASKING and self.start == self.end

    @property
    def has_decrypted(self) -> bool:
        """Whether input waits that the kernel does not know of any more."""
        return self.is_tls and cast("TlsSocket", self.sock).pending() > 0

    @property
    def wants_to_send(self) -> bool:
        """Whether it waits for room to send; otherwise it waits for input."""
        if self.phase is Phase.ASKING:
            return self.end - self.start >= REQUEST.size
        return self.phase is Phase.SENDING

    @property
    def is_held(self) -> bool:
        """Whether the server's rate limit holds it."""
        return self.phase is Phase.SENDING and self.service.rate.is_dry

    def advance(self, now_s: float) -> None:
        """Does what can be done without waiting; raises OSError if the connection must close."""
        # A handshake has a deadline, even while its bytes trickle in.
        if self.phase is not Phase.PROVING:
            self.touched_s = now_s
        self.budget = TURN_BYTES
        try:
            if self.phase is Phase.SENDING:
                self._send()
            elif self.phase is Phase.RECEIVING:
                self._receive()
            elif self.phase is Phase.LISTING:
                self._list_parts()
            elif not self.wants_to_send:
                self._listen()
            while self.phase is Phase.ASKING and self.wants_to_send and self.budget > 0:
                self._answer()
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Ends the connection; discards a block that is being received."""
        if self.phase is Phase.SENDING:
            # The file may have been truncated: the client's next request must open it again.
            self.service.files.forget([self.segment])
        self.phase = Phase.CLOSED
        self.sender.clear()
        if self.write is not None:
            self.service.written.abandon(self.write)
            self.write = None
        self.sock.close()

    def _listen(self) -> None:
        if not self.has_greeted:
            self._send_nonce()
        if self.start:
            rest = bytes(self.inbound[self.start : self.end])
            self.inbound[: len(rest)] = rest
            self.start, self.end = 0, len(rest)
        wanted = ANSWER_BYTES if self.phase is Phase.PROVING else INBOUND_BYTES
        got = self.sock.recv_into(self.inbound[self.end : wanted])
        if got == 0:
            raise ConnectionResetError("the client has closed the connection")
        self.end += got
        if self.phase is Phase.PROVING and self.end == ANSWER_BYTES:
            self._check()

    def _check(self) -> None:
        answer = bytes(self.inbound[:ANSWER_BYTES])
        proof = counter_proof(self.service.secret, self.nonce, answer)
        if proof is None:
            raise ConnectionRefusedError("the client does not know the secret")
        self.sock.send(proof)
        self.start = self.end = 0
        self.phase = Phase.ASKING

    def _answer(self) -> None:
        try:
            request = unpack_request(self.inbound[self.start : self.start + REQUEST.size])
        except Malformed as error:
            # The start of the next request is unknown.
            self.sock.send(pack_reply(Status.REFUSED, reason=Reason.MALFORMED))
            raise ConnectionAbortedError("a malformed request") from error
        self.start += REQUEST.size
        if request.kind is Kind.READ:
            self._read(request)
        elif request.kind is Kind.WRITE:
            self._begin_write(request)
        elif request.kind is Kind.GATHER:
            self._begin_gather(request)
        else:
            self._reply(Status.OK)

    def _reply(self, status: Status, reason: Reason = Reason.NONE) -> None:
        self._start_sending([pack_reply(status, reason=reason)])

    def _read(self, request: Request) -> None:
        _, segment, offset, length, medium, _ = request
        file = self.service.files.find(segment, medium, offset + length)
        if file is None:
            self._reply(Status.GONE)
            return
        heads = [pack_reply(Status.OK, length)]
        stretches = [(offset, length)] if length else []
        if file.view is None and length <= SMALL_BYTES:
            try:
                heads.append(read_exactly(file.fd, length, offset))
            except ConnectionAbortedError:
                self._reply(Status.GONE)
                return
            stretches = []
        self.segment = segment
        self._start_sending(heads, file, stretches)

    def _begin_gather(self, request: Request) -> None:
        size = PART_BYTES * request.total
        early = min(size, self.end - self.start)
        self.parts[:] = self.inbound[self.start : self.start + early]
        self.start += early
        self.gather, self.phase = request, Phase.LISTING
        self._list_parts()

    def _list_parts(self) -> None:
        assert self.gather is not None
        while missing := PART_BYTES * self.gather.total - len(self.parts):
            got = self.sock.recv_into(self.service.scratch[: min(missing, SCRATCH_BYTES)])
            if got == 0:
                raise ConnectionResetError("the client has gone in the middle of a request")
            self.parts += self.service.scratch[:got]
        request, listed = self.gather, self.parts
        self.gather, self.parts = None, bytearray()
        self._gather(request, listed)

    def _gather(self, request: Request, listed: bytearray) -> None:
        _, segment, offset, length, medium, _ = request
        file = self.service.files.find(segment, medium, offset + length)
        if file is None:
            self._reply(Status.GONE)
            return
        fd = file.fd
        try:
            head, spans = select(
                lambda start, count: read_exactly(fd, count, offset + start),
                length,
                unpack_parts(listed),
            )
        except Malformed:
            self._reply(Status.REFUSED, Reason.MALFORMED)
        except CorruptBlock:
            self._reply(Status.GONE, Reason.CORRUPT)
        except OSError:
            self._reply(Status.GONE)
        else:
            self.segment = segment
            total = len(head) + sum(size for _, size in spans)
            heads = [pack_reply(Status.OK, total), head]
            stretches = [(offset + start, size) for start, size in spans]
            self._start_sending(heads, file, stretches)

    def _start_sending(
        self,
        heads: list[bytes],
        file: OpenFile | None = None,
        stretches: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.phase = Phase.SENDING
        self.sender.put(heads, file, stretches)
        self._send()

    def _send(self) -> None:
        self.budget -= self.sender.send(self.budget)
        if self.sender.is_empty:
            self.phase = Phase.ASKING

    def _begin_write(self, request: Request) -> None:
        _, name, offset, length, medium, total = request
        try:
            self.write = self.service.written.begin(name, offset, length, medium, total)
            if self.write.is_first:
                # A removed segment of the same name may still be open.
                self.service.files.forget([name])
        except WriteRefused as refused:
            self.refusal = refused.reason
            if offset + length > total:
                # Refused without receiving its bytes.
                self.sock.send(pack_reply(Status.REFUSED, reason=refused.reason))
                raise ConnectionAbortedError("an oversized request") from None
        self.phase, self.left = Phase.RECEIVING, length
        early = min(length, self.end - self.start)
        self._take(self.inbound[self.start : self.start + early])
        self.start += early
        self._receive()

    def _receive(self) -> None:
        scratch = self.service.scratch
        while self.left:
            if self.budget <= 0:
                return
            got = self.sock.recv_into(scratch[: min(self.left, SCRATCH_BYTES)])
            if got == 0:
                raise ConnectionResetError("the client has gone in the middle of a block")
            self._take(scratch[:got])
        self._end_write()

    def _take(self, piece: memoryview) -> None:
        self.left -= len(piece)
        self.budget -= len(piece)
        if self.write is None or not piece:
            return
        try:
            self.write.add(piece)
        except WriteRefused as refused:
            # The rest is still received: the client reads the reply only after sending all.
            self.refusal = refused.reason
            self.service.written.abandon(self.write)
            self.write = None

    def _end_write(self) -> None:
        write, refusal = self.write, self.refusal
        self.write, self.refusal = None, Reason.NONE
        if write is None:
            self._reply(Status.REFUSED, refusal)
        elif self.service.written.finish(write):
            self._reply(Status.OK)
        else:
            self._reply(Status.GONE)
