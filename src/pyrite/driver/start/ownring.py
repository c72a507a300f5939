"""A ring of the application's own: a member for each of its nodes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

from pyrite.dht.ringfile import ring_path
from pyrite.errors import ClusterError


class OwnRing:
    """Members that end with this process, and their folders with them.

    A member ends when its standard input does, so also if this process is killed.
    """

    def __init__(self, nodes: int, local_dir: str) -> None:
        self.name = f"own-{uuid.uuid4().hex[:16]}"
        self.folder = tempfile.mkdtemp(prefix="pyrite-ring-", dir=local_dir.split(",")[0])
        self._pid = os.getpid()
        self._members: list[subprocess.Popen[str]] = []
        try:
            for number in range(max(1, nodes)):
                self._start(os.path.join(self.folder, f"member-{number}"))
            for member in self._members:
                self._wait(member)
        except BaseException:
            self.close()
            raise

    def _start(self, folder: str) -> None:
        command = [sys.executable, "-m", "pyrite", "ring", "start", self.name, "--dir", folder]
        member = subprocess.Popen(
            [*command, "--transient"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for the program, which ends its ring itself.
            start_new_session=True,
        )
        self._members.append(member)
        if len(self._members) == 1:
            # The first makes the ring that the others join.
            self._wait(member)

    @staticmethod
    def _wait(member: subprocess.Popen[str]) -> None:
        """Waits until a member serves; the first is asked twice."""
        assert member.stdout is not None
        if member.stdout.closed:
            return
        line = member.stdout.readline()
        if not line.startswith("serving "):
            raise ClusterError(
                "a member of the application's own ring did not start: see its message above"
            )
        member.stdout.close()

    def close(self) -> None:
        """Ends all members at once: nothing is left of what they held."""
        if os.getpid() != self._pid:
            return
        for member in self._members:
            with contextlib.suppress(ProcessLookupError):
                member.send_signal(signal.SIGKILL)
        for member in self._members:
            member.wait()
            for pipe in (member.stdin, member.stdout):
                if pipe is not None:
                    pipe.close()
        self._members.clear()
        path = ring_path(self.name)
        for file in (path, path.with_suffix(".lock"), path.with_suffix(".new")):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
