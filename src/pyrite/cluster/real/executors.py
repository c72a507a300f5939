"""The executors of a cluster, as the driver knows them: their starts, words and ends."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Hashable, Iterable
from textwrap import indent

from pyrite.cluster.conversation import Conversation, decode
from pyrite.cluster.node.exitcode import describe_exit
from pyrite.cluster.node.watch import Watch
from pyrite.cluster.node.wire import Message
from pyrite.cluster.real.agentlink import AgentLink
from pyrite.cluster.real.clusternode import ClusterNode
from pyrite.cluster.real.executorlink import ExecutorLink, RelayedExecutor, SocketExecutor
from pyrite.cluster.real.printer import Printer
from pyrite.ids import ExecutorId
from pyrite.schedule import events as ev
from pyrite.schedule.events import Event


class LinkedExecutors:
    """Starts executors through agents, and turns what is heard of them into events."""

    def __init__(
        self,
        conversation: Conversation,
        events: deque[Event],
        watch: Watch[Hashable],
        poll: select.epoll,
    ) -> None:
        self.conversation = conversation
        self.events = events
        self.watch = watch
        self.poll = poll
        self.by_id: dict[ExecutorId, ExecutorLink] = {}
        # Those with sockets of their own, by descriptor.
        self.by_fd: dict[int, SocketExecutor] = {}
        # Those with messages that were not sent yet, in order.
        self.unsent: dict[ExecutorLink, None] = {}
        self.nodes: dict[ExecutorId, ClusterNode] = {}
        self.printer = Printer()
        self.next_id = 0

    def start(self, node: ClusterNode, agent: AgentLink) -> None:
        """Orders an executor on a node."""
        id = self._new_id()
        try:
            executor = agent.start_executor(id, self._note_unsent)
        except OSError as error:
            self.fail(id, node, f"could not be forked: {error}")
            return
        if isinstance(executor, SocketExecutor):
            self.by_fd[executor.link.sock.fileno()] = executor
        self.by_id[id] = executor
        self.conversation.peers[id] = executor
        self.nodes[id] = node

    def _new_id(self) -> ExecutorId:
        self.next_id += 1
        return ExecutorId(self.next_id - 1)

    def fail(self, id: ExecutorId | None, node: ClusterNode, reason: str) -> None:
        """Reports an executor that could not be started."""
        self.events.append(ev.StartFailed(self._new_id() if id is None else id, node.id, reason))

    def _note_unsent(self, executor: ExecutorLink) -> None:
        self.unsent[executor] = None

    def flush(self) -> None:
        """Sends what waits to be sent."""
        if self.unsent:
            for executor in self.unsent:
                executor.flush()
            self.unsent.clear()

    # What is heard

    def read(self, fd: int) -> None:
        """Reads from an executor's own socket."""
        executor = self.by_fd[fd]
        executor.link.outbox.flush()
        self._hear(executor, executor.link.read())
        if executor.link.closed:
            # The fork server will report how it ended.
            self._close(executor)

    def hear_through_agent(self, agent: AgentLink, id: ExecutorId, data: bytes) -> None:
        executor = agent.executors.get(id)
        if isinstance(executor, RelayedExecutor):
            self._hear(executor, executor.unpacker.feed(data))

    def _hear(self, executor: ExecutorLink, messages: Iterable[Message]) -> None:
        for message in messages:
            if message[0] == "copied":
                self.conversation.holders.note(message[1], message[2], executor.node)
                continue
            if message[0] == "adopted":
                self.conversation.forget_gone(executor.id, message[1])
                continue
            if message[0] == "ready":
                executor.pid = message[1]
                executor.joined = self.nodes[executor.id].proven = True
            self.events.extend(decode(executor, message))

    def note(self, agent: AgentLink, message: Message, now_s: float) -> bool:
        """Handles an agent's message about an executor; False if it is not about one."""
        if message[0] not in ("forked", "not forked", "stopped", "continued", "exited"):
            return False
        executor = agent.executors.get(message[1])
        if executor is None:
            return True
        match message:
            case ("forked", _, pid):
                executor.pid = pid
            case ("not forked", _, reason):
                self.bury(executor, f"could not be forked: {reason}")
            case ("stopped", _):
                what = f"executor {executor.id} (pid {executor.pid})"
                self.watch.stops(executor.id, what, now_s)
            case ("continued", _):
                self.watch.continues(executor.id)
            case ("exited", _, code, last, stacks):
                end = describe_exit(code)
                if not executor.joined and code > 0 and not last:
                    end += "; see its error output"
                self.bury(executor, end, last, stacks)
        return True

    # Ends

    def bury(
        self, executor: ExecutorLink, reason: str, last: str = "", stacks: Iterable[str] = ()
    ) -> None:
        """Reads the last messages of an executor that has ended, then reports its end."""
        if isinstance(executor, SocketExecutor) and not executor.link.closed:
            self._hear(executor, executor.link.read())
            self._close(executor)
        self.unsent.pop(executor, None)
        del executor.agent.executors[executor.id]
        del self.by_id[executor.id]
        del self.conversation.peers[executor.id]
        del self.nodes[executor.id]
        reason = self.watch.end_of(executor.id, reason)
        self.watch.forget(executor.id)
        reason = f"{reason} ({executor.kill_reason})" if executor.kill_reason else reason
        if last:
            reason = f"{reason}{ev.PRINTED}{indent(last, '    ')}"
        if executor.joined:
            # What it printed may be rows, and is in the reason alone.
            self.events.append(ev.ExecutorLost(executor.id, reason, tuple(stacks)))
        else:
            self.events.append(ev.StartFailed(executor.id, executor.node, reason))

    def _close(self, executor: SocketExecutor) -> None:
        if self.by_fd.pop(executor.link.sock.fileno(), None) is not None:
            self.poll.unregister(executor.link.sock)
        executor.link.closed = True
        executor.close()

    def bury_all(self, agent: AgentLink, reason: str) -> None:
        """Reports the ends of all executors of an agent."""
        for executor in list(agent.executors.values()):
            self.bury(executor, reason)

    def cancel(self, id: ExecutorId, attempt: int) -> None:
        executor = self.by_id.get(id)
        if executor is not None:
            executor.agent.cancel(id, attempt)

    def kill(self, id: ExecutorId, reason: str) -> None:
        executor = self.by_id.get(id)
        if executor is not None:
            executor.kill_reason = reason
            executor.agent.kill(id)

    def close(self) -> None:
        for executor in self.by_id.values():
            executor.close()
        self.printer.close()
