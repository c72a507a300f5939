"""What a member does now and then: ends what dead clients left half done, and removes blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from functools import partial

from pyrite.dht.client import DhtClient
from pyrite.dht.server import RingServer
from pyrite.ring.errors import RingUnavailable
from pyrite.ring.keys import key_of
from pyrite.ring.names import all_blocks, name_of
from pyrite.ring.operations import DEAD_WRITER_S, Operations
from pyrite.ring.record import Record, Version

EVERY_S = 5.0
# Those who read a file that was replaced or removed have this long.
TRASH_S = 60.0
# A rename that takes longer was left by a client that died.
RENAME_S = 30.0
ORPHANS_EVERY_S = 600.0
# A rename moves a file while names are read: who is missed once is seen the next time.
LOOKS = 3


class RingChores:
    """Looks after the records and blocks of one member."""

    def __init__(self, server: RingServer, client: DhtClient) -> None:
        self.server = server
        self.client = client
        self._ends = threading.Event()
        # Blocks that a file was seen to have.
        self._needed: set[str] = set()
        # Records with a rename under way, and since when.
        self._doubtful: dict[tuple[str, Version], float] = {}

    def run(self) -> None:
        """Until `stop`."""
        looked_s = time.monotonic()
        while not self._ends.wait(EVERY_S):
            try:
                self.tidy(time.time())
                if time.monotonic() - looked_s > ORPHANS_EVERY_S:
                    looked_s = time.monotonic()
                    self.remove_orphans(time.time())
            except (RingUnavailable, OSError):
                continue

    def stop(self) -> None:
        self._ends.set()

    def tidy(self, now_s: float) -> None:
        """Ends renames that were left half done, and empties the trash."""
        doubtful = {}
        for record in self._own_records():
            name = name_of(record)
            if name.incoming is not None or name.decided:
                key = record.path, record.version
                doubtful[key] = self._doubtful.get(key, now_s)
                if now_s - doubtful[key] > RENAME_S:
                    self.client.run(partial(Operations.tidy, record=record))
            if any(trash.since_s <= now_s - TRASH_S for trash in name.trash):
                empty = partial(Operations.empty_trash, path=record.path, before_s=now_s - TRASH_S)
                self.client.drop_names(self.client.run(empty))
        self._doubtful = doubtful

    def remove_orphans(self, now_s: float) -> int:
        """Removes blocks that are older than an hour and that no name has; returns how many."""
        with self.server.lock:
            blocks = list(self.server.process.repair.blocks)
        self._needed.intersection_update(blocks)
        old = {
            name
            for name in blocks
            if name not in self._needed and self.server.store.age_s(name, now_s) > DEAD_WRITER_S
        }
        for _ in range(LOOKS):
            if not old:
                return 0
            records, is_confirmed = self.client.run(lambda names: names.client.list("/"))
            if not is_confirmed:
                return 0
            named = _named(records.values())
            self._needed.update(old & named)
            old -= named
        for name in old:
            self.server.drop(name)
        return len(old)

    def _own_records(self) -> list[Record]:
        with self.server.lock:
            process = self.server.process
            if not process.settlement.is_settled:
                return []
            return [
                record
                for record in process.records.table.values()
                if process.standing.owns(key_of(record.path))
            ]


def _named(records: Iterable[Record]) -> set[str]:
    return {block.name for record in records for block in all_blocks(name_of(record))}
