"""Clients of a played ring: they do things with files, and write down what they saw."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from ringworld import TIMEOUT_S, Once, RingWorld, Violation, content

from pyrite.ring.client import AskMembers, Pause, RingClient
from pyrite.ring.errors import RingUnavailable
from pyrite.ring.keys import key_of
from pyrite.ring.names import FileBlock, FileMeta, Name, all_blocks, name_of
from pyrite.ring.operations import Operations

PATHS = ["/a", "/b", "/d/c", "/d/e"]
FOREVER_S = float("inf")
FOLDER = "folder"
DROP_AFTER_S = 4.0
BLOCK_TRIES = 20


@dataclass
class Happened:
    """One operation in a client's history."""

    kind: str
    path: str
    began_s: float
    target: str = ""
    ended_s: float = FOREVER_S
    # "ok", the error's name, or "unknown" as long as it may still take effect.
    outcome: str = "unknown"
    value: Any = None
    # Files that a rename may have moved.
    moved: list[str] = field(default_factory=list)
    is_confirmed: bool = True


class Full(OSError):
    """A disk is full."""


class NotedOperations(Operations):
    """Notes which files a rename tries to move."""

    happened: Happened | None = None

    def _set(self, record: Any, name: Name) -> Any:
        if self.happened is not None and name.incoming is not None:
            self.happened.moved.append(name.incoming.file.id)
        return super()._set(record, name)


class PlayedClient:
    """Runs one operation after another, until it dies or has done enough."""

    def __init__(self, world: RingWorld, name: str, history: list[Happened]) -> None:
        self.world = world
        self.name = name
        self.history = history
        self.is_done = False
        self.count = 0
        self.client = RingClient(list(world.members), lambda: world.now_s)
        self.names = NotedOperations(self.client, self.fresh, lambda: world.now_s)
        self.reads = 0

    def fresh(self) -> str:
        self.count += 1
        return f"{self.name}-{self.count}"

    def run(self, program: Generator[Any, Any, None]) -> None:
        self.is_done = False
        self.step(program, None)

    def step(self, program: Generator[Any, Any, None], reply: Any) -> None:
        try:
            wish = program.send(reply)
        except StopIteration:
            self.is_done = True
            return
        self.perform(wish, lambda value: self.step(program, value))

    def perform(self, wish: Any, then: Callable[[Any], None]) -> None:
        match wish:
            case Pause(seconds):
                self.world.after(seconds, then, None)
            case AskMembers(requests):
                replies: list[Any] = [None] * len(requests)
                left = [len(requests)]

                def take(index: int, reply: Any) -> None:
                    replies[index] = reply
                    left[0] -= 1
                    if not left[0]:
                        then(replies)

                for index, (address, request) in enumerate(requests):
                    self.ask(address, request, lambda reply, index=index: take(index, reply))
            case PlayedCall(address, method, args):
                once = Once(then)

                def answer(reply: Any) -> None:
                    self.world.carry(address, self.name, once, reply)

                member = self.world.members[address]
                self.world.carry(self.name, address, getattr(member, method), answer, *args)
                self.world.after(TIMEOUT_S, once, None)

    def ask(self, address: str, request: Any, then: Callable[[Any], None]) -> None:
        once = Once(then)
        member = self.world.members[address]
        self.world.carry(self.name, address, member.request, (self.name, once), request)
        self.world.after(TIMEOUT_S, once, None)

    # Programs

    def act(self, happened: Happened, steps: Generator[Any, Any, Any]) -> Any:
        """Runs one operation, and writes down how it ended."""
        self.history.append(happened)
        self.names.happened = happened
        try:
            happened.value = yield from steps
            happened.outcome = "ok"
        except RingUnavailable as error:
            if not error.maybe_done and happened.kind not in ("rename",):
                happened.outcome = "RingUnavailable"
        except (OSError, BlockingIOError) as error:
            happened.outcome = type(error).__name__
        if happened.outcome != "unknown":
            happened.ended_s = self.world.now_s
        self.names.happened = None
        return happened

    def work(self, count: int) -> Generator[Any, Any, None]:
        dice = self.world.dice
        for _ in range(count):
            yield Pause(dice.random() * 1.5)
            path = dice.choice(PATHS)
            kind = dice.choice(
                [
                    "read",
                    "read",
                    "write",
                    "write",
                    "create",
                    "remove",
                    "rename",
                    "rename",
                    "list",
                    "folder",
                ]
            )
            happened = Happened(kind, path, self.world.now_s)
            match kind:
                case "read":
                    yield from self.act(happened, self.read(happened))
                case "write" | "create":
                    yield from self.act(happened, self.write(path, kind == "create", happened))
                case "remove":
                    yield from self.act(happened, self.names.remove(path))
                case "folder":
                    yield from self.act(happened, self.names.make_folder(path))
                case "rename":
                    happened.target = dice.choice([each for each in PATHS if each != path])
                    steps = self.names.rename(path, happened.target)
                    yield from self.act(happened, steps)
                    if happened.outcome == "ok":
                        happened.moved = [happened.value.id]
                case "list":
                    yield from self.list()

    def read(self, happened: Happened) -> Generator[Any, Any, Any]:
        seen = yield from self.names.look(happened.path)
        happened.is_confirmed = seen.is_confirmed
        happened.ended_s = self.world.now_s
        if seen.name.is_folder:
            return FOLDER
        if seen.name.file is None:
            return None
        file = seen.name.file
        if seen.is_confirmed:
            for block in file.blocks:
                yield from self.get_block(block)
        return file.id

    def list(self) -> Generator[Any, Any, None]:
        """A look at all paths at once: as good as a read of each."""
        seen = [Happened("read", path, self.world.now_s) for path in PATHS]
        try:
            names, is_confirmed = yield from self.names.list_below("/")
        except RingUnavailable:
            return
        for each in seen:
            name = names.get(each.path, Name())
            each.value = FOLDER if name.is_folder else name.file and name.file.id
            each.outcome, each.is_confirmed = "ok", is_confirmed
            each.ended_s = self.world.now_s
            self.history.append(each)

    def write(self, path: str, is_new: bool, happened: Happened) -> Generator[Any, Any, Any]:
        id = self.fresh()
        blocks = []
        for index in range(self.world.dice.randrange(3)):
            name = f"{id}.{index}"
            try:
                yield from self.put_block(name)
            except RingUnavailable as error:
                error.maybe_done = False
                raise
            blocks.append(FileBlock(name, len(content(name)), ()))
        file = FileMeta(id, 0, self.world.now_s, "", 0o644, tuple(blocks))
        happened.value = id
        yield from self.names.commit(path, file, is_new=is_new)
        return id

    def put_block(self, name: str) -> Generator[Any, Any, None]:
        """All copies of one view must have it."""
        for _ in range(BLOCK_TRIES):
            view = yield from self.client.current()
            good = 0
            copies = view.copies(key_of(name))
            for each in copies:
                args = view.number, name, content(name)
                reply = yield PlayedCall(each.address, "put_block", args)
                if reply == "full":
                    raise Full("the disk is full")
                good += reply is True
            if good == len(copies):
                return
            yield Pause(0.3)
            yield from self.client.refresh()
        raise RingUnavailable(f"{name} can't be written")

    def get_block(self, block: FileBlock) -> Generator[Any, Any, None]:
        """Any copy will do; a spoilt one is passed over."""
        for _ in range(BLOCK_TRIES):
            view = yield from self.client.current()
            holders = [each.address for each in view.copies(key_of(block.name))]
            # Before a repair is over, the block lies where it was.
            others = [each.address for each in view.members if each.address not in holders]
            for address in [*holders, *others]:
                data = yield PlayedCall(address, "get_block", (block.name,))
                if data == content(block.name):
                    self.reads += 1
                    return
            yield Pause(0.5)
            yield from self.client.refresh()
        raise RingUnavailable(f"{block.name} can't be read")

    def sweep(self) -> Generator[Any, Any, None]:
        """What members do now and then: end what was left half done, empty the trash."""
        try:
            records, _ = yield from self.client.list("/")
            for path, record in records.items():
                yield from self.names.tidy(record)
                gone = yield from self.names.empty_trash(path, self.world.now_s - DROP_AFTER_S)
                view = yield from self.client.current()
                for name in gone:
                    for each in view.copies(key_of(name)):
                        yield PlayedCall(each.address, "drop_block", (name,))
        except RingUnavailable:
            return

    def scrub(self) -> Generator[Any, Any, None]:
        """Reads every copy of every block, so that spoilt ones are found."""
        records, _ = yield from self.client.list("/")
        view = yield from self.client.refresh()
        for record in records.values():
            for block in all_blocks(name_of(record)):
                for each in view.copies(key_of(block.name)):
                    yield PlayedCall(each.address, "get_block", (block.name,))

    def inspect(self, kept: dict[str, list[FileBlock]]) -> Generator[Any, Any, None]:
        """At the end: what is there, path by path, and that it can be read."""
        for path in PATHS:
            happened = Happened("read", path, self.world.now_s)
            yield from self.act(happened, self.read(happened))
            record = (yield from self.client.read(path)).record
            name = name_of(record)
            kept[path] = all_blocks(name._replace(trash=()))
            if name.incoming is not None or name.decided:
                raise Violation(f"a rename is left half done at {path}: {name}")


@dataclass
class PlayedCall:
    """Asks a member for blocks, as sockets would."""

    address: str
    method: str
    args: tuple[Any, ...]
