"""The process of an exchange's desk, and its owner's end of it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from typing import Any

from pyrite.cluster.scratch import Scratch
from pyrite.descriptors import hold_standard_descriptors
from pyrite.errors import PyriteError
from pyrite.exchange.book import NODE
from pyrite.exchange.errors import ExchangeNotStarted
from pyrite.exchange.forks import not_in_children
from pyrite.exchange.options import Options
from pyrite.exchange.server import ExchangeServer
from pyrite.remote.ending import wait_or_kill

START_S = 60.0
STOP_S = 30.0
BOOT = "import sys; from pyrite.exchange.process import main; main(int(sys.argv[1]))"


class ExchangeServerProcess:
    """A running desk with folders and a block server; it ends with this process at the latest."""

    def __init__(self, options: Options, secret: bytes) -> None:
        hold_standard_descriptors()
        self.control, theirs = socket.socketpair()
        command = [sys.executable, "-c", BOOT, str(theirs.fileno())]
        path = os.pathsep.join(each or os.getcwd() for each in sys.path)
        with theirs:
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                # Ctrl-C in the terminal is the owner's to handle.
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
        not_in_children(self)
        try:
            self.control.settimeout(START_S)
            # Through a socket, since others can read command lines.
            self.control.sendall(json.dumps([options, secret.hex()]).encode() + b"\n")
            self.address = self._read_address()
        except BaseException:
            self.control.close()
            self.process.kill()
            self.process.wait()
            raise

    def _read_address(self) -> tuple[str, int]:
        with self.control.makefile("rb") as lines:
            line = lines.readline()
        if not line:
            raise ExchangeNotStarted(
                "the exchange's process ended before it listened; see its error output"
            )
        match json.loads(line):
            case ["address", [host, port]]:
                return host, port
            case [_, reason]:
                raise ExchangeNotStarted(f"the exchange could not be opened: {reason}")
        raise ExchangeNotStarted("the exchange's process speaks another language")

    def stop(self) -> None:
        """Ends the desk and waits until it has gone, and its folders with it."""
        self.control.close()
        wait_or_kill(self.process, STOP_S)

    def let_go(self) -> None:
        self.control.close()


def main(control_fd: int) -> None:
    """A desk's life: told its options by its owner, it ends when the owner does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Who stops everything stops the owner too, and this ends, and cleans up, after it. Not
        # ignored, which the block server would inherit.
        signal.signal(number, lambda _signal, _frame: None)
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.socket(fileno=control_fd) as control:
        with control.makefile("rb") as lines:
            line = lines.readline()
        if line:
            live(control, *json.loads(line))


def live(control: socket.socket, values: list[Any], secret: str) -> None:
    """Opens the exchange as its owner wants it, or says why it can't; serves until the end."""
    options = Options(*values)
    scratch = desk = None
    try:
        try:
            scratch = Scratch(options.local_dir).make()
            desk = ExchangeServer(options, scratch.folders(NODE), bytes.fromhex(secret))
            said = ["address", desk.address]
        except (OSError, PyriteError) as error:
            said = ["error", f"{type(error).__name__}: {error}"]
        control.sendall(json.dumps(said).encode() + b"\n")
        if desk is not None:
            gc.freeze()
            desk.serve(control)
    except BrokenPipeError:
        # The owner has gone already.
        pass
    finally:
        if desk is not None:
            desk.close()
        if scratch is not None:
            scratch.remove()
