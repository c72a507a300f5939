"""Parts of other nodes' map outputs: only these cross the network, many outputs at a time."""

import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from outputs import lay, random_parts
from peers import PATIENCE_S, exactly, fds_of, prove, until_closed

from pyrite.blocks.parts import find_part, selection_header_bytes
from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote.asking import WINDOW, ByteRange
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import BlockGone, BlockRefused, OutputCorrupt, PeerLost
from pyrite.remote.process import ServerProcess
from pyrite.remote.protocol import (
    MAGIC,
    MOST_PARTS,
    REPLY,
    REQUEST,
    Kind,
    Reason,
    Status,
    pack_parts,
    pack_request,
    unpack_reply,
)
from pyrite.remote.rate import SPELL_BYTES

Fill = Callable[[str, int], bytes]
Start = Callable[..., ServerProcess]
Parts = list[bytes]


def stretches_of(
    folders: Folders, segment: str, outputs: list[Parts], medium: Medium = "memory"
) -> list[ByteRange]:
    return [ByteRange(*block) for block in lay(folders, segment, outputs, medium)]


def parts_in(selection: object, wanted: list[int]) -> Parts:
    assert isinstance(selection, memoryview) and selection.readonly
    return [bytes(find_part(selection, part) or b"") for part in wanted]


@pytest.mark.parametrize("medium", ["memory", "disk"])
@pytest.mark.parametrize("most_bytes", [10, 5000, 300_000])
def test_the_parts_of_many_outputs(
    server: ServerProcess, client: BlockClient, folders: Folders, medium: Medium, most_bytes: int
) -> None:
    random = Random(4)
    outputs = [random_parts(random, 20, most_bytes) for _ in range(2 * WINDOW)]
    blocks = stretches_of(folders, "e0-1", outputs, medium)
    for wanted in [0], [7], [19], [3, 4, 5], [0, 2, 9, 10, 18], list(range(20)):
        for batch in blocks[:1], blocks[: 5 if most_bytes > 5000 else None]:
            found = client.gather(server.address, batch, wanted)
            for selection, parts in zip(found, outputs, strict=False):
                assert parts_in(selection, wanted) == [parts[part] for part in wanted]
            assert len(found) == len(batch)


def test_only_what_is_wanted_is_sent(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    blocks = stretches_of(folders, "e0-1", [[os.urandom(1 << 20), b"little", b"x" * 5000]])
    (selection,) = client.gather(server.address, blocks, [1])
    assert isinstance(selection, memoryview)
    assert len(selection) == selection_header_bytes(1) + len(b"little")


def test_as_many_parts_as_a_server_takes(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    output = [b"%d" % number for number in range(MOST_PARTS + 10)]
    blocks = stretches_of(folders, "e0-1", [output]) * 3
    wanted = list(range(5, MOST_PARTS + 5))
    for selection in client.gather(server.address, blocks, wanted):
        assert isinstance(selection, memoryview)
        frames = b"".join(output[5 : MOST_PARTS + 5])
        assert selection[selection_header_bytes(MOST_PARTS) :] == frames
        assert find_part(selection, 77) == b"77"


def test_gone_and_spoilt_ones_among_others(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    outputs = [[b"a%d" % number, b"b", b"c"] for number in range(2 * WINDOW)]
    blocks = stretches_of(folders, "e0-1", outputs)
    path = Path(folders.path("e0-1", "memory"))
    data = bytearray(path.read_bytes())
    data[blocks[3].offset + 8] ^= 1
    path.write_bytes(data)
    blocks[7] = ByteRange("e0-9", 0, 100)
    blocks[9] = ByteRange("e0-1", len(data) - 50, 100)
    blocks[11] = ByteRange("e0-1", 0, 0)
    kinds = {3: OutputCorrupt, 7: BlockGone, 9: BlockGone, 11: OutputCorrupt}
    for place, found in enumerate(client.gather(server.address, blocks, [0])):
        if place in kinds:
            assert type(found) is kinds[place] and found.segment == blocks[place].segment
        else:
            assert parts_in(found, [0]) == [outputs[place][0]]
    # What is spoilt elsewhere in the output is no matter to who does not want it.
    assert isinstance(client.gather(server.address, blocks[3:4], [1])[0], memoryview)
    with pytest.raises(OutputCorrupt):
        client.gather_into(server.address, blocks[3], [0], memoryview(bytearray(100)))
    with pytest.raises(BlockGone):
        client.gather_into(server.address, blocks[7], [0], memoryview(bytearray(100)))


def test_no_more_comes_than_was_allowed(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    small = [[bytes(10)]] * 40
    outputs = small + [[os.urandom(1 << 20)]] * 8
    blocks = stretches_of(folders, "e0-1", outputs)
    # The large ones are more than the small ones let expect: they end the exchange.
    assert len(client.gather(server.address, blocks, [0], most_bytes=100_000)) == 40
    assert len(client.gather(server.address, blocks[40:], [0], most_bytes=100_000)) == 1
    found = client.gather(server.address, blocks[40:], [0], most_bytes=3_500_000)
    assert [parts_in(each, [0]) for each in found] == outputs[40:43]


def test_none_comes_where_the_first_is_too_long(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    blocks = stretches_of(folders, "e0-1", [[bytes(100_000), b"x"], [b"y", b"z"]])
    longest = selection_header_bytes(1) + 100_000
    for wanted, most, found in ([0], longest, 2), ([0], longest - 1, 0), ([1], 40, 2):
        assert len(client.gather(server.address, blocks, wanted, 1 << 20, most)) == found
    # What is behind it does not come at its cost.
    blocks.reverse()
    assert len(client.gather(server.address, blocks, [0], 1000, 40)) == 1


def test_a_part_that_a_selection_does_not_have_is_no_loss_of_the_node(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    (block,) = stretches_of(folders, "e0-1", [[b"a", b"b", b"c", b"d", b"e", b"f"]])
    copy = memoryview(bytearray(1000))
    length = client.gather_into(server.address, block, [0, 5], copy)
    Path(folders.path("e0-2", "memory")).write_bytes(copy[:length])
    (link,) = client.links.values()
    (found,) = client.gather(server.address, [ByteRange("e0-2", 0, length)], [0, 3, 5])
    assert isinstance(found, OutputCorrupt)
    assert list(client.links.values()) == [link]


def test_a_selection_straight_into_memory(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    output = [os.urandom(size) for size in (0, 10, 70_000, 3 << 20)]
    (block,) = stretches_of(folders, "e0-1", [output], "disk")
    for wanted in [0], [1], [1, 2], [0, 3]:
        room = memoryview(bytearray(4 << 20))
        length = client.gather_into(server.address, block, wanted, room)
        assert parts_in(room[:length].toreadonly(), wanted) == [output[part] for part in wanted]
        assert not any(room[length : length + 1000])


def test_a_selection_that_does_not_fit(
    server: ServerProcess, client: BlockClient, folders: Folders
) -> None:
    (block,) = stretches_of(folders, "e0-1", [[bytes(100_000), b"x"]])
    room = memoryview(bytearray(1000))
    with pytest.raises(ValueError, match="have 100032 bytes where there is room for 1000"):
        client.gather_into(server.address, block, [0], room)
    assert not client.links
    assert client.gather_into(server.address, block, [1], room) == 33


@pytest.mark.parametrize("parts", [[3, 2], [2, 2]])
def test_parts_that_do_not_ascend_are_refused(
    server: ServerProcess, client: BlockClient, folders: Folders, parts: list[int]
) -> None:
    blocks = stretches_of(folders, "e0-1", [[b"x"] * 5])
    with pytest.raises(BlockRefused, match="malformed"):
        client.gather(server.address, blocks, parts)
    with pytest.raises(BlockRefused, match="malformed"):
        client.gather_into(server.address, blocks[0], parts, memoryview(bytearray(99)))
    assert parts_in(client.gather(server.address, blocks, [2, 3])[0], [2, 3]) == [b"x", b"x"]


@pytest.mark.parametrize("count", [0, MOST_PARTS + 1, 1 << 44])
def test_too_many_parts_end_the_connection(
    server: ServerProcess, secret: bytes, client: BlockClient, count: int
) -> None:
    sock = prove(server.address, secret)
    sock.sendall(REQUEST.pack(MAGIC, Kind.GATHER, 1, 0, 100, count, b"e0-1"))
    reply = unpack_reply(until_closed(sock))
    assert (reply.status, reply.reason) == (Status.REFUSED, Reason.MALFORMED)
    client.ping(server.address)


def test_a_request_that_comes_byte_by_byte(
    server: ServerProcess, secret: bytes, folders: Folders
) -> None:
    (block,) = stretches_of(folders, "e0-1", [[b"x", b"yy", b"zzz"]])
    request = pack_request(Kind.GATHER, *block, 2) + pack_parts([0, 2])
    sock = prove(server.address, secret)
    for byte in 2 * request:
        sock.sendall(bytes([byte]))
    for _ in range(2):
        reply = unpack_reply(exactly(sock, REPLY.size))
        selection = memoryview(exactly(sock, reply.length)).toreadonly()
        assert parts_in(selection, [0, 2]) == [b"x", b"zzz"]
    sock.close()


def test_who_goes_in_the_middle_of_a_request_is_forgotten(
    server: ServerProcess, secret: bytes, client: BlockClient
) -> None:
    client.ping(server.address)
    before = len(fds_of(server))
    sock = prove(server.address, secret)
    sock.sendall(pack_request(Kind.GATHER, "e0-1", 0, 100, total=9) + bytes(7))
    client.ping(server.address)
    sock.close()
    while len(fds_of(server)) > before:
        client.ping(server.address)


def test_who_does_not_read_waits_alone(
    server: ServerProcess, secret: bytes, client: BlockClient, folders: Folders
) -> None:
    outputs = [[os.urandom(2000) for _ in range(8000)]]
    (block,) = stretches_of(folders, "e0-1", outputs)
    wanted = list(range(0, 8000, 2))
    slow = prove(server.address, secret)
    slow.sendall(pack_request(Kind.GATHER, *block, len(wanted)) + pack_parts(wanted))
    for _ in range(3):
        assert parts_in(client.gather(server.address, [block], [5])[0], [5]) == outputs[0][5:6]
    reply = unpack_reply(exactly(slow, REPLY.size))
    selection = exactly(slow, reply.length)
    assert selection[selection_header_bytes(len(wanted)) :] == b"".join(outputs[0][::2])
    slow.close()


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_an_output_that_is_cut_while_it_is_sent(
    server: ServerProcess, secret: bytes, client: BlockClient, folders: Folders, medium: Medium
) -> None:
    outputs = [[os.urandom(4 << 20) for _ in range(8)]]
    (block,) = stretches_of(folders, "e0-1", outputs, medium)
    wanted = [0, 2, 4, 6]
    slow = prove(server.address, secret)
    slow.sendall(pack_request(Kind.GATHER, *block, len(wanted)) + pack_parts(wanted))
    reply = unpack_reply(exactly(slow, REPLY.size))
    os.truncate(folders.path("e0-1", medium), 5 << 20)
    assert len(until_closed(slow)) < reply.length
    assert isinstance(client.gather(server.address, [block], [7])[0], BlockGone)


def test_replies_that_can_not_be(secret: bytes) -> None:
    for reply in (
        struct.pack("<4sBB2xQ", MAGIC, Status.OK, 0, 1 << 40),
        struct.pack("<4sBB2xQ", MAGIC, Status.GONE, 0, 1),
        b"?" * REPLY.size,
    ):
        listener = socket.create_server(("127.0.0.1", 0))
        liar = threading.Thread(target=lie, args=(listener, secret, reply))
        liar.start()
        client = BlockClient(secret, timeout_s=PATIENCE_S)
        with pytest.raises(PeerLost, match="another protocol"):
            client.gather(listener.getsockname(), [ByteRange("e0-1", 0, 100)], [0])
        client.close()
        liar.join()


def lie(listener: socket.socket, secret: bytes, reply: bytes) -> None:
    """A server that answers anything with the same."""
    from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce

    sock, _ = listener.accept()
    nonce = fresh_nonce()
    sock.sendall(nonce)
    sock.sendall(counter_proof(secret, nonce, exactly(sock, ANSWER_BYTES)) or b"")
    exactly(sock, REQUEST.size + 4)
    sock.sendall(reply)
    until_closed(sock)
    listener.close()


def test_a_server_that_starts_anew_is_asked_for_the_rest(
    start: Start, client: BlockClient, folders: Folders
) -> None:
    server = start()
    blocks = stretches_of(folders, "e0-1", [[b"x"]] * 3)
    client.gather(server.address, blocks, [0])
    (link,) = client.links.values()
    link.sock.shutdown(socket.SHUT_RDWR)
    found = client.gather(server.address, blocks, [0])
    assert [parts_in(each, [0]) for each in found] == [[b"x"]] * 3


def test_the_rate_holds_bytes_but_nothing_else(
    start: Start, secret: bytes, client: BlockClient, fill: Fill
) -> None:
    server = start(send_bytes_per_s=1)
    data = fill("e0-1", 1 << 20)
    client.ping(server.address)
    before = len(fds_of(server))
    held = [prove(server.address, secret) for _ in range(2)]
    for sock in held:
        sock.sendall(pack_request(Kind.READ, "e0-1", 0, 1 << 20))
    # One gets all that is there at once, whichever is first; in years the other would get some.
    sent = SPELL_BYTES - REPLY.size
    first = next(sock for sock in held if readable(sock, held))
    assert exactly(first, SPELL_BYTES)[REPLY.size :] == data[:sent]
    client.ping(server.address)
    client.write(server.address, "e77-1", 0, [bytes(1 << 20)], 1 << 20)
    for sock in held:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        sock.close()
    while len(fds_of(server)) > before + 1:
        client.ping(server.address)


def readable(sock: socket.socket, among: list[socket.socket]) -> bool:
    """Whether this is one of those that something comes to, when something has come."""
    import select

    return sock in select.select(among, [], [], PATIENCE_S)[0]


def test_bytes_are_right_at_any_rate(
    start: Start, secret: bytes, client: BlockClient, folders: Folders
) -> None:
    server = start(send_bytes_per_s=50_000_000)
    outputs = [[os.urandom(100_000) for _ in range(4)] for _ in range(20)]
    blocks = stretches_of(folders, "e0-1", outputs)
    found: list[list[memoryview | BlockGone]] = []

    def gather() -> None:
        other = BlockClient(secret, timeout_s=PATIENCE_S)
        found.append(other.gather(server.address, blocks, [1, 3]))
        other.close()

    threads = [threading.Thread(target=gather) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for each in found:
        assert [parts_in(one, [1, 3]) for one in each] == [[out[1], out[3]] for out in outputs]
