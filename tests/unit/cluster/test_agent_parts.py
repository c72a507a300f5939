"""Small parts of agents and of the driver's side: output, addresses, peers that were given up."""

from __future__ import annotations

import os

from pyrite.cluster.node.lostpeers import SLOTS, LostPeers
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.node.output import BURST_BYTES, LAST_LINES, RATE_BYTES_PER_S, OutputPipe
from pyrite.cluster.real.addressbook import AddressBook
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")


class Printer:
    """The writing end of an executor's output."""

    def __init__(self) -> None:
        read, self.fd = os.pipe()
        self.pipe = OutputPipe(read, 0.0)

    def say(self, text: str) -> None:
        os.write(self.fd, text.encode())


def test_lines_come_as_they_end() -> None:
    printer = Printer()
    printer.say("one\ntwo\nthr")
    assert printer.pipe.read(0.0) == ["one", "two"]
    printer.say("ee\n")
    assert printer.pipe.read(0.0) == ["three"]
    printer.say("end")
    assert printer.pipe.read(0.0) == []
    assert printer.pipe.read(0.0, to_end=True) == ["end"]
    os.close(printer.fd)
    assert printer.pipe.close(0.0) == []


def test_what_is_too_much_is_left_out_and_said() -> None:
    printer = Printer()
    line = "x" * 999
    shown = []
    for _ in range(40):
        printer.say(f"{line}\n" * 60)
        shown += printer.pipe.read(0.0)
    assert len(shown) == BURST_BYTES // 1000
    printer.say("after a while\n")
    later = printer.pipe.read(2.0)
    assert later[1:] == ["after a while"]
    assert later[0].startswith(f"... {2400 - len(shown)} lines left out")
    assert f"{RATE_BYTES_PER_S >> 10} KB" in later[0]
    assert printer.pipe.tail().splitlines()[-1] == "after a while"
    assert len(printer.pipe.tail().splitlines()) == LAST_LINES
    os.close(printer.fd)
    printer.pipe.close(2.0)


def test_what_is_left_out_at_the_end_is_said_too() -> None:
    printer = Printer()
    for _ in range(40):
        printer.say("x" * 59_999 + "\n")
        printer.pipe.read(0.0)
    os.close(printer.fd)
    assert "lines left out" in printer.pipe.close(0.0)[-1]


def test_bytes_that_are_no_text_are_shown() -> None:
    printer = Printer()
    os.write(printer.fd, b"\xff\n")
    assert printer.pipe.read(0.0) == ["\\xff"]
    os.close(printer.fd)
    printer.pipe.close(0.0)


def test_addresses_are_told_as_changes() -> None:
    book = AddressBook()
    book.add(A, ("host", 1))
    book.add(B, ("host", 2))
    assert book.since(0) == ({A: ("host", 1), B: ("host", 2)}, [])
    told = len(book.changes)
    assert book.since(told) == ({}, [])
    book.remove(A)
    book.add(C, ("host", 3))
    # It went and is back, elsewhere.
    book.remove(B)
    book.add(B, ("host", 4))
    assert book.since(told) == ({C: ("host", 3), B: ("host", 4)}, [A])
    book.remove(NodeId("unknown"))
    assert book.since(0)[0] == {C: ("host", 3), B: ("host", 4)}


def test_lost_peers_reach_a_forked_process() -> None:
    lost = LostPeers()
    lost.add(("before", 1))
    read, write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        lost.skip()
        os.write(write, b"!")
        os.read(go_read, 1)
        os.write(write, repr(lost.take()).encode())
        os._exit(0)
    assert os.read(read, 1) == b"!"
    lost.add(("10.0.0.7", 4567))
    lost.add(("fe80::1", 89))
    os.write(go_write, b"x")
    os.waitpid(pid, 0)
    assert os.read(read, 1000).decode() == "[('10.0.0.7', 4567), ('fe80::1', 89)]"
    for fd in (read, write, go_read, go_write):
        os.close(fd)


def test_the_latest_lost_peers_are_kept() -> None:
    lost = LostPeers()
    for port in range(3 * SLOTS):
        lost.add(("host", port))
    assert lost.take() == [("host", port) for port in range(2 * SLOTS, 3 * SLOTS)]
    assert lost.take() == []


def test_options_survive_json() -> None:
    limits = WorkerLimits(1, 2, 3, 4, 5)
    options = AgentOptions(A, "t", "ab", ("h", 1), ("::1", 0), "/tmp", 2, 3, 0, limits, None, 7)
    assert AgentOptions.from_json(options.to_json()) == options
