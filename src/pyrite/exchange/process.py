"""The process of an exchange's server, and its owner's side."""

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
    """A running server with folders and a block server; it ends with this process at latest."""

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
                # The owner alone handles Ctrl-C in the terminal.
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
        not_in_children(self)
        try:
            self.control.settimeout(START_S)
            # Not on the command line, which other users can read.
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
        raise ExchangeNotStarted("the exchange's process sent an unknown message")

    def stop(self) -> None:
        """Ends the server, and waits until it has removed its folders."""
        self.control.close()
        wait_or_kill(self.process, STOP_S)

    def let_go(self) -> None:
        self.control.close()


def main(control_fd: int) -> None:
    """Runs a server: it receives its options from its owner, and ends with it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A signal to all processes ends the owner too; the server cleans up after that. Handled,
        # not ignored: the block server would inherit that.
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
    """Opens the exchange, or reports why it can't; serves until the end."""
    options = Options(*values)
    scratch = server = None
    try:
        try:
            scratch = Scratch(options.local_dir).make()
            server = ExchangeServer(options, scratch.folders(NODE), bytes.fromhex(secret))
            message = ["address", server.address]
        except (OSError, PyriteError) as error:
            message = ["error", f"{type(error).__name__}: {error}"]
        control.sendall(json.dumps(message).encode() + b"\n")
        if server is not None:
            gc.freeze()
            server.serve(control)
    except BrokenPipeError:
        # The owner has ended already.
        pass
    finally:
        if server is not None:
            server.close()
        if scratch is not None:
            scratch.remove()
