"""Blocks over the network: sent and received with their checksums."""

from __future__ import annotations

import os
import zlib

from pyrite.dht.frames import MOST_WORDS, Call, pack_frame
from pyrite.dht.links import BLOCK_S, RingLinks
from pyrite.dht.store import CHUNK_BYTES, BlockStore
from pyrite.dht.words import pack, unpack
from pyrite.remote.protocol import Status
from pyrite.ring.names import FileBlock
from pyrite.ring.turn import CopyBlock
from pyrite.ring.views import RingMember

STORED = "stored"
FULL = "full"
ELSEWHERE = "elsewhere"


class BadChecksum(OSError):
    """A copy of a block is not as it was written."""


def put_block(
    links: RingLinks, member: RingMember, view: int, block: FileBlock, data: memoryview
) -> str:
    """Gives a member a block; returns what it says, "stored" when it is on its disk."""
    words = pack((member.id, view, block.name, block.checksums))
    with links.link(member.address, BLOCK_S) as link:
        link.send([pack_frame(Call.PUT, words, len(data)), data])
        _, reply = link.receive_any(_buffer, MOST_WORDS)
        return str(unpack(reply))


def send_block(
    links: RingLinks, store: BlockStore, order: CopyBlock, checksums: tuple[int, ...]
) -> bool:
    """Gives a member a block from this member's disk; returns whether it has it."""
    name, id, address, view = order
    found = store.open(name)
    if found is None:
        return False
    fd, length = found
    try:
        with links.link(address, BLOCK_S) as link:
            link.send([pack_frame(Call.PUT, pack((id, view, name, checksums)), length)])
            at = 0
            while at < length:
                at += os.sendfile(link.sock.fileno(), fd, at, length - at)
            _, reply = link.receive_any(_buffer, MOST_WORDS)
            return bool(unpack(reply) == STORED)
    finally:
        os.close(fd)


def get_chunks(
    links: RingLinks, address: str, block: FileBlock, first: int, target: memoryview
) -> bool:
    """Reads chunks of a block into the target, from the one with this index on.

    Returns False if the member does not have the block; raises BadChecksum, PeerLost.
    """
    start = first * CHUNK_BYTES
    with links.link(address, BLOCK_S) as link:
        link.send([pack_frame(Call.GET, pack((block.name, start, len(target))))])
        reply = link.receive(target)
    if reply.status is not Status.OK:
        return False
    for index, at in enumerate(range(0, len(target), CHUNK_BYTES), start=first):
        if zlib.crc32(target[at : at + CHUNK_BYTES]) != block.checksums[index]:
            raise BadChecksum(f"chunk {index} of {block.name} from {address}")
    return True


def _buffer(size: int) -> memoryview:
    return memoryview(bytearray(size))
