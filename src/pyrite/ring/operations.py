"""What a user does with names: each operation takes effect at one moment, or not at all.

A rename touches two records. It first writes into the target's record what is coming, and from
where. It happens when the source's record gives up the file and remembers the rename, which is one
write of one record. Then the target takes the file, and the source forgets the rename. Whoever
finds a target with something coming asks the source's record whether it has happened. So a client
that dies half way leaves nothing in doubt, and whoever wants to write there finishes the rename,
or makes it impossible by giving the source's record a new version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyrite.ring.client import RingClient, Steps
from pyrite.ring.errors import NO_MAJORITY, RingUnavailable
from pyrite.ring.messages import SetDone
from pyrite.ring.names import Appender, Decided, FileMeta, Incoming, Name, name_of
from pyrite.ring.record import Record

# A writer that has been silent for this long is dead; what it wrote may go.
DEAD_WRITER_S = 3600.0


class Seen(NamedTuple):
    """What a path is to a reader, and the record that says so."""

    name: Name
    record: Record
    is_confirmed: bool


class Operations:
    """Reading and changing names through a client.

    `fresh` makes a text that is used once, and `time` tells the time of day.
    """

    def __init__(
        self, client: RingClient, fresh: Callable[[], str], time: Callable[[], float]
    ) -> None:
        self.client = client
        self.fresh = fresh
        self.time = time

    def look(self, path: str) -> Steps[Seen]:
        """What is at a path."""
        while True:
            found = yield from self.client.read(path)
            name = name_of(found.record)
            if name.incoming is None:
                return Seen(name, found.record, found.is_confirmed)
            source = yield from self.client.read(name.incoming.source)
            is_confirmed = found.is_confirmed and source.is_confirmed
            if name_of(source.record).has_decided(name.incoming.rename):
                seen = name._replace(file=name.incoming.file)
                return Seen(seen, found.record, is_confirmed)
            # If the target is unchanged, the source has not forgotten the rename: it didn't happen.
            again = yield from self.client.read(path)
            if again.record.version == found.record.version or not again.is_confirmed:
                return Seen(name, found.record, is_confirmed and again.is_confirmed)

    def list_below(self, folder: str) -> Steps[tuple[dict[str, Name], bool]]:
        """All files and folders below a folder, by path."""
        prefix = folder.rstrip("/") + "/"
        records, is_confirmed = yield from self.client.list(prefix)
        names = {}
        for path, record in records.items():
            name = name_of(record)
            if name.incoming is not None:
                name = (yield from self.look(path)).name
            if name.exists:
                names[path] = name
        return names, is_confirmed

    def make_folder(self, path: str) -> Steps[bool]:
        """Makes a folder; False if it is there. Raises FileExistsError for a file."""
        while True:
            seen = yield from self._free(path)
            if seen.name.is_folder:
                return False
            if seen.name.file is not None:
                raise FileExistsError(f"{path} is a file")
            if (yield from self._set(seen.record, seen.name._replace(is_folder=True))):
                return True

    def commit(self, path: str, file: FileMeta, is_new: bool = False) -> Steps[None]:
        """Gives a path a file; with `is_new` only if there is nothing yet."""
        while True:
            seen = yield from self._free(path)
            if seen.name.is_folder:
                raise IsADirectoryError(f"{path} is a folder")
            if is_new and seen.name.file is not None:
                raise FileExistsError(f"{path} exists")
            name = seen.name.rewritten(file, self.time())._replace(appender=None)
            if (yield from self._set(seen.record, name)):
                return

    def change_mode(self, path: str, mode: int) -> Steps[None]:
        """Gives a file another mode: the version of it that is there by then."""
        while True:
            seen = yield from self._free(path)
            if seen.name.file is None:
                kind = IsADirectoryError if seen.name.is_folder else FileNotFoundError
                raise kind(path)
            changed = seen.name._replace(file=seen.name.file._replace(mode=mode))
            if (yield from self._set(seen.record, changed)):
                return

    def begin_append(self, path: str, writer: str) -> Steps[FileMeta | None]:
        """Makes a writer the only one to append to a file; returns the file as it is."""
        while True:
            seen = yield from self._free(path)
            if seen.name.is_folder:
                raise IsADirectoryError(f"{path} is a folder")
            other, now_s = seen.name.appender, self.time()
            if other is not None and now_s < other.since_s + DEAD_WRITER_S:
                raise BlockingIOError(f"another writer appends to {path}: wait until it closes")
            mine = seen.name._replace(appender=Appender(writer, now_s))
            if (yield from self._set(seen.record, mine)):
                return seen.name.file

    def end_append(self, path: str, writer: str, file: FileMeta | None) -> Steps[None]:
        """Gives the file what was appended, or nothing, and lets others append."""
        while True:
            seen = yield from self._free(path)
            if seen.name.appender is None or seen.name.appender.writer != writer:
                raise FileNotFoundError(f"{path} was replaced or removed while it was appended to")
            name = seen.name if file is None else seen.name.rewritten(file, self.time())
            if (yield from self._set(seen.record, name._replace(appender=None))):
                return

    def remove(self, path: str) -> Steps[None]:
        """Removes a file, or a folder's own record."""
        while True:
            seen = yield from self._free(path)
            if not seen.name.exists:
                raise FileNotFoundError(path)
            name = seen.name.replaced(None, self.time())._replace(is_folder=False, appender=None)
            if (yield from self._set(seen.record, name)):
                return

    def rename(self, source: str, target: str) -> Steps[FileMeta]:
        """Moves a file to another path, where it replaces what is there; returns the file."""
        while True:
            from_ = yield from self._free(source)
            if from_.name.file is None:
                kind = IsADirectoryError if from_.name.is_folder else FileNotFoundError
                raise kind(source)
            to = yield from self._free(target)
            if to.name.is_folder:
                raise IsADirectoryError(f"{target} is a folder")
            if source == target:
                return from_.name.file
            rename = self.fresh()
            coming = Incoming(rename, source, from_.record.version, from_.name.file)
            if not (yield from self._set(to.record, to.name._replace(incoming=coming))):
                continue
            decided = (*from_.name.decided, Decided(rename, target))
            given_up = from_.name._replace(file=None, decided=decided, appender=None)
            has_happened = yield from self._set(from_.record, given_up)
            try:
                yield from self.finish(target)
            except RingUnavailable:
                # Whoever comes to the target next ends it.
                if not has_happened:
                    raise
            if has_happened:
                return from_.name.file

    def finish(self, path: str) -> Steps[None]:
        """Ends a rename to a path, whoever began it: it has happened, or never will."""
        while True:
            record = yield from self._sure(path)
            name = name_of(record)
            coming = name.incoming
            if coming is None:
                return
            source = yield from self._sure(coming.source)
            has_happened = name_of(source).has_decided(coming.rename)
            if not has_happened and not (yield from self._is_impossible(coming)):
                continue
            ended = name._replace(incoming=None)
            if has_happened:
                ended = ended.replaced(coming.file, self.time())._replace(appender=None)
            if (yield from self._set(record, ended)) and has_happened:
                yield from self.forget(coming.source, coming.rename)

    def forget(self, path: str, rename: str) -> Steps[None]:
        """Takes a rename that is over from its source's record."""
        while True:
            record = yield from self._sure(path)
            name = name_of(record)
            if not name.has_decided(rename):
                return
            left = tuple(each for each in name.decided if each.rename != rename)
            if (yield from self._set(record, name._replace(decided=left))):
                return

    def tidy(self, record: Record) -> Steps[None]:
        """Ends what clients that have died left half done at a path."""
        yield from self.finish(record.path)
        for rename, target in name_of(record).decided:
            yield from self.finish(target)
            yield from self.forget(record.path, rename)

    def empty_trash(self, path: str, before_s: float) -> Steps[list[str]]:
        """Forgets trash from before a time; returns the blocks that may go, or none."""
        record = yield from self._sure(path)
        name = name_of(record)
        old = [trash for trash in name.trash if trash.since_s <= before_s]
        left = tuple(trash for trash in name.trash if trash not in old)
        if not old or not (yield from self._set(record, name._replace(trash=left))):
            return []
        return [block.name for trash in old for block in trash.blocks]

    def _free(self, path: str) -> Steps[Seen]:
        """What is at a path to which nothing is being renamed."""
        while True:
            record = yield from self._sure(path)
            name = name_of(record)
            if name.incoming is None:
                return Seen(name, record, True)
            yield from self.finish(path)

    def _sure(self, path: str) -> Steps[Record]:
        """A record that nothing may be based on unless it is the last."""
        found = yield from self.client.read(path)
        if not found.is_confirmed:
            raise RingUnavailable(f"can't change {path}: {NO_MAJORITY}")
        return found.record

    def _is_impossible(self, coming: Incoming) -> Steps[bool]:
        """Makes sure that a rename that has not happened never will."""
        source = yield from self._sure(coming.source)
        if name_of(source).has_decided(coming.rename):
            return False
        if source.version != coming.source_version:
            return True
        return (yield from self._set(source, name_of(source)))

    def _set(self, record: Record, name: Name) -> Steps[bool]:
        done = yield from self.client.compare_and_set(
            record.path, record.version, name.stored(), self.fresh()
        )
        return isinstance(done, SetDone)
