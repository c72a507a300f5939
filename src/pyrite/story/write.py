"""Writes a story: records are gathered, and encoded in the background twice a second."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from contextlib import suppress

from pyrite.story.format import HEADLINE, Batch, StoryHeader, encode_dictionary, encode_header
from pyrite.story.records import Record

# A killed driver loses at most so much.
DELAY_S = 0.4
# So many records are encoded at once, even if no time has passed.
MOST_RECORDS = 4096
# A writer that falls behind by so many makes the driver wait.
FAR_BEHIND = 16 * MOST_RECORDS


class StoryWriter:
    """Appends to one file, which only its user may read, and which no other context writes.

    With a thread, a batch is written when it is old by the clock on the wall. Without one, it is
    written when it is old by the time of its records, so that a simulated run has the same bytes
    each time.

    A disk that fails ends the story with a warning, never the job.
    """

    def __init__(self, path: str, header: StoryHeader, threaded: bool = True) -> None:
        self.path = path
        self.fd = create(path, HEADLINE + encode_header(header) + encode_dictionary())
        self.blob_count = 0
        self._batch = Batch()
        self._began_s: float | None = None
        self._changing = threading.Lock()
        self._writing = threading.Lock()
        # Something is there to be written; and it is much, or the last.
        self._some = threading.Event()
        self._wanted = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._loop, name="pyrite-story", daemon=True)
            self._thread.start()

    def add(self, records: list[Record]) -> None:
        """Takes the records of one chapter."""
        with self._changing:
            batch = self._batch
            for record in records:
                batch.add(record)
            count = len(batch.order)
        if self._thread is None:
            if self._began_s is None:
                self._began_s = records[0].at_s
            if count >= MOST_RECORDS or records[-1].at_s - self._began_s >= DELAY_S:
                self.flush()
            return
        if count == len(records):
            self._some.set()
        if count >= MOST_RECORDS:
            self._wanted.set()
            if count >= FAR_BEHIND:
                self.flush()

    def add_blob(self, data: bytes) -> int:
        """Takes bytes that a record refers to; returns their number."""
        with self._changing:
            number = self.blob_count
            self.blob_count += 1
            self._batch.blobs.append((number, data))
        return number

    def flush(self) -> None:
        """Writes what was taken so far."""
        with self._writing:
            with self._changing:
                batch, self._batch = self._batch, Batch()
                self._began_s = None
            if self.fd < 0 or not (batch.order or batch.blobs):
                return
            try:
                write_all(self.fd, batch.encode())
            except Exception as error:
                # Whatever it is: neither the driver's loop nor the end of a context may fail by it.
                self._give_up(error)

    def close(self) -> None:
        """Writes the rest; nothing is taken any more."""
        self._closed = True
        self._some.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
        with self._writing:
            if self.fd >= 0:
                os.close(self.fd)
                self.fd = -1

    def _loop(self) -> None:
        while not self._closed:
            self._some.wait()
            self._some.clear()
            self._wanted.wait(DELAY_S)
            self._wanted.clear()
            self.flush()

    def _give_up(self, error: Exception) -> None:
        os.close(self.fd)
        self.fd = -1
        logging.getLogger("pyrite").warning(
            "the story %s can't be written any more (%s): it ends here, and the application goes "
            "on without it",
            self.path,
            getattr(error, "strerror", None) or f"{type(error).__name__}: {error}",
        )


def create(path: str, beginning: bytes) -> int:
    """Makes the file with its beginning in one step, so that it is a story at every moment; raises
    FileExistsError where there is one. It stays locked while it is written."""
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    hidden = os.path.join(folder, f".{name}.{os.getpid()}.{threading.get_ident()}")
    fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    try:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(fd, beginning)
        os.link(hidden, path)
    except BaseException:
        os.close(fd)
        raise
    finally:
        os.unlink(hidden)
    return fd


def write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
