"""Agents that run nothing: they speak the real protocol, and answer each task at once.

One process has all of them; it reads their options from its standard input, as agents do.
"""

from __future__ import annotations

import select
import socket
import sys
from typing import Any

from pyrite.blocks.codec import encode
from pyrite.cluster.node.link import Link
from pyrite.cluster.node.meeting import meet_driver
from pyrite.cluster.node.options import AgentHello, AgentOptions
from pyrite.cluster.node.wire import Unpacker, pack
from pyrite.metrics import NO_METRICS

# What each partition gives: its number of rows, say.
RESULT = b"".join(encode([1]))
# No kept partitions, no losses, no spills, no inputs.
NO_REPORT = ([], [], [], (0, 0, 0, 0), [], 0, [])


class StubAgent:
    """One agent's connection, and its executors' streams."""

    def __init__(self, options: AgentOptions, poll: select.epoll, number: int) -> None:
        sock = socket.create_connection(options.driver)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        meet_driver(sock, bytes.fromhex(options.secret), options.ticket)
        self.link = Link(sock, poll)
        self.streams: dict[int, Unpacker] = {}
        address = ("127.0.0.1", 1 + number)
        hello = AgentHello(address, options.pool_bytes, 1, 1, "/nowhere", "/nowhere")
        self.link.outbox.send(pack(("hello", *hello)))

    def receive(self) -> bool:
        """Answers what has come; False once the driver has gone."""
        self.link.outbox.flush()
        for message in self.link.read():
            match message:
                case ("fork", id):
                    self.streams[id] = Unpacker()
                    self._answer(id, pack(("ready", 1, "stub")))
                case ("x", id, data):
                    self._work(id, data)
                case ("ping",):
                    self.link.outbox.add(pack(("pong",)))
        self.link.outbox.flush()
        return not self.link.closed

    def _work(self, id: int, data: bytes) -> None:
        answers = b""
        for message in self.streams[id].feed(data):
            if message[0] == "task":
                answers += pack(ended(message[1], message[3]))
        if answers:
            self._answer(id, answers)

    def _answer(self, id: int, data: bytes) -> None:
        self.link.outbox.add(pack(("x", id, data)))


def ended(attempt: int, partitions: tuple[int, ...]) -> tuple[Any, ...]:
    """What an executor says of a task that has succeeded."""
    made = [(RESULT, None, None, None, ()) for _ in partitions]
    return ("ok", attempt, made, *NO_REPORT, tuple(NO_METRICS))


def main() -> None:
    poll = select.epoll()
    agents: dict[int, StubAgent] = {}
    # All of them first: the driver lets nobody in while it starts others.
    for line in list(iter(sys.stdin.readline, "ready\n")):
        agent = StubAgent(AgentOptions.from_json(line), poll, len(agents))
        agents[agent.link.sock.fileno()] = agent
    while agents:
        for fd, _ in poll.poll():
            if not agents[fd].receive():
                agents.pop(fd).link.close()


if __name__ == "__main__":
    main()
