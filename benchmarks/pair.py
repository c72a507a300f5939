"""Two forked processes that work side by side: the skeleton of every hand-written program."""

import gc
import marshal
import mmap
import multiprocessing
import os
from collections.abc import Callable, Generator
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

Body = Callable[..., Generator[Any, Any, None]]

_fork = multiprocessing.get_context("fork")


class Peer:
    """One of the two processes, as the code that runs in it sees itself and the other."""

    def __init__(
        self, index: int, link: Connection, mine: tuple[int, int], theirs: tuple[int, int]
    ):
        self.index = index
        self._link = link
        self._mine = mine
        self._theirs = theirs
        self._turn = 0

    def exchange(self, goods: Any) -> Any:
        """Give `goods` (plain builtins) to the other process and take what it gives."""
        # Two buffers by turns: the other may still read the last one while we write this one,
        # and it can't still read the one before, since it has answered in between.
        mine, theirs = self._mine[self._turn], self._theirs[self._turn]
        self._turn = 1 - self._turn
        os.ftruncate(mine, 0)
        os.lseek(mine, 0, os.SEEK_SET)
        data = memoryview(marshal.dumps(goods))
        while data:
            data = data[os.write(mine, data) :]
        self._link.send_bytes(b"ready")
        self._link.recv_bytes()
        with mmap.mmap(theirs, 0, access=mmap.ACCESS_READ) as shared:
            return marshal.loads(shared)


class Pair:
    """The driver's end: asks both processes the same, and gathers their two answers.

    The body is a generator function, called as `body(peer, *args)` in each process. It starts at
    the first question; each `yield answer` answers one and waits for the next.
    """

    def __init__(self, body: Body, *args: Any):
        buffers = [(os.memfd_create("a"), os.memfd_create("b")) for _ in range(2)]
        links = _fork.Pipe()
        self._pipes: list[Connection] = []
        self._processes = []
        for index in range(2):
            ours, its = _fork.Pipe()
            peer = Peer(index, links[index], buffers[index], buffers[1 - index])
            # A fork inherits these; left open there, nobody would see the other side's end.
            not_its_own = [*self._pipes, ours, links[1 - index]]
            process = _fork.Process(
                target=_serve, args=(peer, its, not_its_own, body, args), daemon=True
            )
            process.start()
            its.close()
            self._pipes.append(ours)
            self._processes.append(process)
        for link in links:
            link.close()
        for descriptor in buffers[0] + buffers[1]:
            os.close(descriptor)

    def ask(self, question: Any = None) -> tuple[Any, Any]:
        """Send both processes the question; return their answers. The first one must be None."""
        first, second = self._pipes
        first.send(question)
        second.send(question)
        return first.recv(), second.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()


def _serve(
    peer: Peer, pipe: Connection, not_its_own: list[Connection], body: Body, args: tuple[Any, ...]
) -> None:
    for connection in not_its_own:
        connection.close()
    # Plain rows make no cycles, and walking millions of them for nothing is slow.
    gc.disable()
    steps = body(peer, *args)
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        pipe.send(steps.send(question))


def half(count: int, index: int) -> range:
    """The positions 0..count-1 that process `index` of the two works on."""
    middle = count // 2
    return range(middle) if index == 0 else range(middle, count)


def lines_of_half(path: str, index: int) -> list[str]:
    """The lines of the half of a text file that process `index` of the two works on."""
    with open(path, "rb") as file:
        middle = os.path.getsize(path) // 2
        file.seek(middle)
        file.readline()
        middle = file.tell()
        file.seek(middle if index else 0)
        text = (file.read() if index else file.read(middle)).decode()
    return text.removesuffix("\n").split("\n")
