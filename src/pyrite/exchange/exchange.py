"""An exchange: a pool of shared memory, with a disk behind it, that programs shuffle through."""

from __future__ import annotations

import os
import tempfile
from operator import index
from types import TracebackType
from typing import Any

from pyrite.blocks.writer import SEGMENT_BYTES
from pyrite.errors import UserError
from pyrite.exchange.book import MOST_PARTS
from pyrite.exchange.desk import Options
from pyrite.exchange.process import DeskProcess
from pyrite.exchange.shuffle import Shuffle
from pyrite.exchange.visit import VISITS
from pyrite.remote.handshake import SECRET_BYTES
from pyrite.settings import parse_bytes

# So many clients can write at once before a small pool is divided up between them.
SEGMENTS = 64
SMALLEST_BYTES = 64 << 10


class Exchange:
    """Shuffles for processes of this machine, and of others that can reach `host`.

    It lives until it is closed, or this process ends: then what was put is gone.

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
        """Starts the exchange's processes: `memory` is the pool, `local_dir` takes what is more.

        With `direct=False` not even processes of this machine open the pool's files: all bytes go
        through the block server, as they do for other machines and users in any case.
        """
        memory_bytes = parse_bytes(memory) if isinstance(memory, str) else memory
        folder = os.path.abspath(local_dir or tempfile.gettempdir())
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UserError(
                f"the exchange can't write to {folder}: give local_dir a folder that exists and "
                "that you can write to"
            )
        if host in ("", "0.0.0.0"):
            raise UserError(
                f"an exchange can't listen at {host!r}, since handles carry its address: give the "
                "host's name or address by which others reach it"
            )
        segment_bytes = min(SEGMENT_BYTES, max(SMALLEST_BYTES, memory_bytes // SEGMENTS))
        options = Options(memory_bytes, segment_bytes, folder, host, direct)
        self.secret = os.urandom(SECRET_BYTES)
        self.desk = DeskProcess(options, self.secret)
        self.address = self.desk.address
        self.owner = os.getpid()

    def register(self, maps: int, reducers: int) -> Shuffle:
        """A new shuffle: a handle to be sent to whoever puts its maps or gets its parts."""
        maps, reducers = index(maps), index(reducers)
        if not (0 <= maps <= MOST_PARTS and 1 <= reducers <= MOST_PARTS):
            raise UserError(
                f"a shuffle of {maps} maps and {reducers} reducers can't be registered: it has at "
                f"least one reducer, and at most {MOST_PARTS} of each"
            )
        with VISITS.visit((self.address, self.secret)) as visit:
            id = visit.ask("register", maps, reducers)[1]
        return Shuffle(self.address, self.secret, id, maps, reducers)

    def close(self) -> None:
        """Ends the exchange and frees all it holds; a forked child's copy does nothing."""
        if os.getpid() == self.owner:
            VISITS.end((self.address, self.secret))
            self.desk.stop()

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
