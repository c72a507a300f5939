"""`pyrite ui`: serves the page of a run, or of a folder's runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import sys

from pyrite.errors import UserError
from pyrite.ui.address import DEFAULT_PORT, MORE_PORTS, Address, new_address
from pyrite.ui.extra import check_extra
from pyrite.ui.library import Library
from pyrite.ui.serve import serve


def show_page(chosen: argparse.Namespace) -> int:
    """Serves until it is told to end; returns the exit code."""
    try:
        check_extra()
        if chosen.listener is not None:
            return serve_context(chosen)
        library = Library(chosen.paths)
        problem = load_files(library)
        address = (
            new_address(DEFAULT_PORT, MORE_PORTS)
            if chosen.port is None
            else new_address(chosen.port)
        )
    except UserError as error:
        print(f"pyrite ui: {error}", file=sys.stderr)
        return 1
    if problem is not None:
        print(f"pyrite ui: {problem}", file=sys.stderr)
    print(f"{address.url}\nCtrl-C ends it", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        serve(library, address, stacks=stacks_text)
    return 0


def load_files(library: Library) -> str | None:
    """Reads the first named story before the address is printed; says where it is damaged."""
    named = [each for each in library.shelf.values() if each.path in library.paths]
    return library.run(named[0].id).problem if named else None


def serve_context(chosen: argparse.Namespace) -> int:
    """The page of a running context, which ends with it."""
    token = sys.stdin.buffer.readline().decode().strip()
    if not token:
        # Its driver is gone already; without a token it would let everybody in.
        return 1
    listener = socket.socket(fileno=chosen.listener)
    try:
        serve(Library(chosen.paths), Address(listener, token), sys.stdin.buffer, stacks_text)
    finally:
        if chosen.remove:
            shutil.rmtree(chosen.remove, ignore_errors=True)
    return 0


def stacks_text(path: str) -> str:
    """Where the running tasks of a story are."""
    from pyrite.cli.stacks import find_executors, stack_lines, stacks_of

    parts = []
    for executor in find_executors(os.fspath(path)):
        if executor.busy and (text := stacks_of(executor.pid)) is not None:
            parts.append(
                "\n".join([executor.title, *(f"  {line}" for line in stack_lines(text, False))])
            )
    return "\n\n".join(parts)
