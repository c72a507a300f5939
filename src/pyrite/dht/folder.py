"""The folder of a member: who it is, what it promised, and its blocks."""

from __future__ import annotations

import fcntl
import os
import uuid
from pathlib import Path
from typing import Any

from pyrite.dht.journal import RingJournal, SpoiltJournal
from pyrite.dht.store import BlockStore
from pyrite.errors import UserError
from pyrite.ring.views import NO_WISH

ME = "me"


class MemberFolder:
    """Opens a member's folder for one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise UserError(f"{path} is in use: each member needs a folder of its own") from None
        self.store = BlockStore(self.path)
        self.journal = self._open_journal()
        self.is_new = ME not in self.journal.values
        id, incarnation, position = self.journal.values.get(ME, (uuid.uuid4().hex[:12], 0, NO_WISH))
        self.id: str = id
        self.incarnation: int = incarnation + 1
        self.position: int = position
        self._write_me()

    def saved(self) -> dict[str, Any]:
        """What the decisions saved."""
        return {name: value for name, value in self.journal.values.items() if name != ME}

    def remember(self, position: int) -> None:
        """Keeps the position for the next start."""
        if position != self.position:
            self.position = position
            self._write_me()

    def close(self) -> None:
        self.journal.close()
        os.close(self._lock)

    def _write_me(self) -> None:
        self.journal.write([[(ME, (self.id, self.incarnation, self.position))]])

    def _open_journal(self) -> RingJournal:
        path = self.path / "journal"
        try:
            return RingJournal(path)
        except SpoiltJournal:
            # What it promised can't be known: it comes back as somebody else, with its blocks.
            os.replace(path, self.path / "journal.spoilt")
            return RingJournal(path)
