"""An exchange: a pool of shared memory, with a disk behind it, that programs shuffle through."""

from __future__ import annotations

import os
from operator import index
from types import TracebackType
from typing import Any

from pyrite.errors import UserError
from pyrite.exchange.book import MOST_PARTS
from pyrite.exchange.options import checked
from pyrite.exchange.process import ExchangeServerProcess
from pyrite.exchange.serverconnection import CONNECTIONS
from pyrite.exchange.shuffle import Shuffle
from pyrite.remote.handshake import SECRET_BYTES


class Exchange:
    """Shuffles for processes of this machine, and of others that can reach `host`.

    It lives until it is closed or this process ends: all outputs are lost then.

    >>> with Exchange(memory="64m") as exchange:
    ...     shuffle = exchange.register(maps=2, reducers=2)
    ...     shuffle.put(1, [b"c", b"d"]), shuffle.put(0, [b"a", b"b"])
    ...     [bytes(part) for part in shuffle.get(reducer=1)]
    (True, True)
    [b'b', b'd']
    """

    def __init__(
        self,
        memory: str | int = "1g",
        *,
        local_dir: str | None = None,
        host: str = "127.0.0.1",
        direct: bool = True,
    ) -> None:
        """Starts the exchange's processes: `memory` is the pool, `local_dir` takes the overflow.

        With `direct=False` even processes of this machine do not open the pool's files: all bytes
        go through the block server, as they always do for other machines and users.
        """
        options = checked(memory, local_dir, host, direct)
        self.secret = os.urandom(SECRET_BYTES)
        self.server = ExchangeServerProcess(options, self.secret)
        self.address = self.server.address
        self.owner = os.getpid()
        OPEN.add(self)

    def register(self, maps: int, reducers: int) -> Shuffle:
        """Registers a shuffle; returns a handle for the processes that put maps or get parts."""
        maps, reducers = index(maps), index(reducers)
        if not (0 <= maps <= MOST_PARTS and 1 <= reducers <= MOST_PARTS):
            raise UserError(
                f"a shuffle of {maps} maps and {reducers} reducers can't be registered: it has at "
                f"least one reducer, and at most {MOST_PARTS} of each"
            )
        with CONNECTIONS.borrow((self.address, self.secret)) as connection:
            id = connection.ask("register", maps, reducers)[1]
        return Shuffle(self.address, self.secret, id, maps, reducers)

    def close(self) -> None:
        """Ends the exchange and frees all its memory; does nothing in a forked child."""
        if os.getpid() == self.owner:
            CONNECTIONS.end((self.address, self.secret))
            self.server.stop()
            OPEN.discard(self)

    def __enter__(self) -> Exchange:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise UserError(
            "an Exchange stays with its owner: send other processes the Shuffle that register gives"
        )


# Open exchanges: they live on without references, as other processes may hold their handles. A
# forked child has copies, which end nothing.
OPEN: set[Exchange] = set()
