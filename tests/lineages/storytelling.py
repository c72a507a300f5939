"""Stories for tests: told by any scheduler, read back, and written again."""

from collections.abc import Iterable
from pathlib import Path

from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.story.format import StoryHeader
from pyrite.story.read import StoryReader
from pyrite.story.records import ApplicationEnded, Record
from pyrite.story.tell import Teller
from pyrite.story.write import StoryWriter

HEADER = StoryHeader(
    application="app-1",
    name="test",
    pyrite="0",
    python="3",
    host="here",
    pid=7,
    wall_s=1000.0,
    clock_s=0.0,
    master="local[2]",
    settings={"spark.app.name": "test"},
)


class Told:
    """Writes the story of a run: a listener of its scheduler."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = StoryWriter(str(path), HEADER, threaded=False)
        self.teller = Teller(lambda _: None)
        self.last_s = 0.0

    def record(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.last_s = now_s
        self.writer.add(self.teller.tell(now_s, event, commands))

    def close(self) -> None:
        self.writer.add([ApplicationEnded(self.last_s)])
        self.writer.close()


def records_of(path: Path | str) -> list[Record]:
    with StoryReader(path) as reader:
        return list(reader.records())


def write_story(path: Path | str, records: Iterable[Record]) -> None:
    """Writes these records, in place of what is there."""
    Path(path).unlink(missing_ok=True)
    writer = StoryWriter(str(path), HEADER, threaded=False)
    for record in records:
        writer.add([record])
    writer.close()
