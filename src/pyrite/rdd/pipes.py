"""A command that rows flow through as lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from subprocess import PIPE, Popen
from threading import Thread
from typing import IO, Any


class PipeFailed(RuntimeError):
    """A piped command could not be started or said that it failed."""


class Pipe:
    """Starts the command once per partition, feeds it the rows and yields what it prints."""

    def __init__(self, command: str, env: dict[str, str], check_code: bool) -> None:
        self.command = command
        self.env = env
        self.check_code = check_code

    def __call__(self, index: int, rows: Iterator[Any]) -> Iterator[str]:
        try:
            process = Popen(shlex.split(self.command), env=self.env, stdin=PIPE, stdout=PIPE)
        except OSError as error:
            raise PipeFailed(
                f"pipe could not start {self.command!r}: {error}; "
                "give its full path, or a PATH in `env`"
            ) from error
        assert process.stdin is not None and process.stdout is not None
        writer = PipeWriter(rows, process.stdin)
        writer.start()
        try:
            for line in process.stdout:
                yield line.rstrip(b"\n").decode("utf-8")
            code = process.wait()
            writer.join()
        finally:
            process.stdout.close()
            if process.poll() is None:
                process.kill()
                process.wait()
            writer.join()
        if writer.error is not None:
            raise writer.error
        if self.check_code and code:
            raise PipeFailed(f"pipe: {self.command!r} exited with code {code}")


class PipeWriter(Thread):
    """Feeds the rows to the command while its output is being read."""

    def __init__(self, rows: Iterator[Any], stdin: IO[bytes]) -> None:
        super().__init__(name="pipe writer", daemon=True)
        self.rows = rows
        self.stdin = stdin
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            # A command such as head may close its end early: what is left goes unread.
            with suppress(BrokenPipeError), self.stdin as stdin:
                for row in self.rows:
                    stdin.write((str(row).rstrip("\n") + "\n").encode("utf-8"))
        except BaseException as error:
            self.error = error
