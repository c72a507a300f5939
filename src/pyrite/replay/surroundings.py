"""What tasks find around them: broadcasts, added files, folders of modules, a scratch folder."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from pyrite.blocks.codec import decode
from pyrite.broadcast import Broadcast
from pyrite.ids import BroadcastId
from pyrite.replay.recording import CantReplay, Recording
from pyrite.sparkfiles import SparkFiles

LIMIT = "raise pyrite.story.codeLimit and run the program again"


class TaskSurroundings:
    """Makes the story's values and files available in this process; `close` removes them."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.folder = tempfile.mkdtemp(prefix="pyrite-replay-")
        self.files = os.path.join(self.folder, "files")
        self.scratch = os.path.join(self.folder, "scratch")
        for each in (self.files, self.scratch):
            os.mkdir(each, 0o700)
        self._write_files()
        SparkFiles._root_directory = self.files
        for told in recording.code.values():
            self._import_from(told.python_paths)

    def close(self) -> None:
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)

    def load_broadcasts(self, stage: int) -> None:
        """Decodes the broadcasts that a stage's functions captured."""
        for number in self.recording.code[stage].broadcasts:
            told = self.recording.broadcasts.get(number)
            name = "" if told is None else told.name
            if Broadcast._loaded.get(BroadcastId(number), ("", None))[0] == name != "":
                continue
            if told is None or told.blob is None:
                size = "" if told is None else f" of {told.bytes} bytes"
                raise CantReplay(
                    f"broadcast {number}{size}, which stage {stage} reads, was too large for the "
                    f"story: {LIMIT}"
                )
            value: Any = decode(self.recording.reader.blob(told.blob))[0]
            Broadcast._loaded[BroadcastId(number)] = told.name, value

    def _write_files(self) -> None:
        for told in self.recording.files.values():
            path = os.path.normpath(os.path.join(self.files, told.name))
            if told.blob is None or not path.startswith(self.files + os.sep):
                continue
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as file:
                file.write(self.recording.reader.blob(told.blob))

    def _import_from(self, paths: Any) -> None:
        """Imports modules from where tasks did; from the story's copy of what was added."""
        for path in paths:
            copy = os.path.join(self.files, os.path.basename(path))
            found = path if os.path.exists(path) else copy if os.path.exists(copy) else self.files
            if found not in sys.path:
                sys.path.append(found)
