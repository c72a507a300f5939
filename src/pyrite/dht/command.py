"""What the commands `pyrite ring` and `pyrite fs` do."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyrite.dht.chores import RingChores
from pyrite.dht.client import DhtClient
from pyrite.dht.door import RingDoor
from pyrite.dht.folder import MemberFolder
from pyrite.dht.links import parsed_address
from pyrite.dht.ringfile import enter_ring, ring_path, set_addresses
from pyrite.dht.server import RingServer
from pyrite.errors import UserError

LEAVE_S = 30.0
BACKLOG = 128
# Who waits for longer says for whom.
TELL_S = 5.0


def start_member(chosen: argparse.Namespace) -> int:
    """Makes or joins a ring, and serves it until SIGTERM."""
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    try:
        host, port = parsed_address(chosen.listen)
    except ValueError:
        raise UserError(f"--listen {chosen.listen}: write HOST:PORT, such as 127.0.0.1:0") from None
    try:
        folder = MemberFolder(Path(chosen.dir))
    except OSError as error:
        raise UserError(f"--dir {chosen.dir}: {error.strerror}: name a folder of yours") from None
    try:
        listener = socket.create_server((host, port), backlog=BACKLOG)
    except OSError as error:
        raise UserError(
            f"--listen {chosen.listen}: {error.strerror}: name an address of this machine, "
            "and a port that is free (0 finds one)"
        ) from None
    address = f"{host}:{listener.getsockname()[1]}"
    ring, is_first = enter_ring(chosen.name, address, chosen.block)
    server = RingServer(folder, address, ring.secret)
    door = RingDoor(server, listener, ring.secret)
    threading.Thread(target=door.run, name="ring door", daemon=True).start()
    server.start(ring.addresses, founds=is_first and server.process.standing.view is None)
    chores = RingChores(server, DhtClient(chosen.name))
    _wait_for_view(server, asked, ring.addresses)
    set_addresses(chosen.name, _addresses(server))
    print(f"serving ring {chosen.name} at {address} from {folder.path}", flush=True)
    if chosen.transient:
        threading.Thread(target=_end_with_parent, args=(folder.path, chosen.name)).start()
    threading.Thread(target=chores.run, name="ring chores", daemon=True).start()
    asked.wait()
    chores.stop()
    is_whole = server.leave(LEAVE_S)
    set_addresses(chosen.name, [each for each in _addresses(server) if each != address])
    server.stop()
    if not is_whole:
        raise UserError("left before all copies were elsewhere: start it again with its folder")
    return 0


def show_status(chosen: argparse.Namespace) -> int:
    """Tells of a ring's members and copies."""
    told = ring_status(DhtClient(chosen.name))
    if chosen.json:
        print(json.dumps(told, indent=1))
        return 0
    print(f"view {told['view']}, coordinator {told['coordinator'] or 'being elected'}")
    print(f"under-replicated blocks: {told['underReplicated']}")
    for each in told["members"]:
        print(f"{each['id']}  {each['address']}  {_shown(each['bytes'])}  {each['dir']}")
    return 0


def ring_status(client: DhtClient) -> dict[str, Any]:
    """A ring's state, as data; a member that does not answer has no folder and no bytes."""
    view, statuses = client.statuses()
    members = []
    for member, status in zip(view.members, statuses, strict=True):
        known = status or {"id": member.id, "address": member.address, "dir": None, "bytes": None}
        members.append({key: known[key] for key in ("id", "address", "dir", "bytes")})
    there = [each for each in statuses if each is not None]
    leaders = {each["coordinator"] for each in there if each["view"] == view.number} - {""}
    return {
        "view": view.number,
        "coordinator": leaders.pop() if len(leaders) == 1 else None,
        "underReplicated": max((each["underReplicated"] for each in there), default=0),
        "whole": len(there) == len(members) and all(each["whole"] for each in there),
        "members": members,
    }


def _wait_for_view(server: RingServer, asked: threading.Event, others: list[str]) -> None:
    began_s, is_told = time.monotonic(), False
    while not asked.wait(0.05):
        with server.lock:
            if server.process.standing.is_admitted and server.process.settlement.is_settled:
                return
        if not is_told and time.monotonic() - began_s > TELL_S:
            is_told = True
            where = ", ".join(others) or "the others"
            print(f"waiting for a majority of the ring's members: {where}", file=sys.stderr)


def _end_with_parent(folder: Path, name: str) -> None:
    """Ends the process when its standard input does, and leaves nothing behind."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    # Where this was the last member.
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
    path = ring_path(name)
    for file in (path, path.with_suffix(".lock"), path.with_suffix(".new")):
        file.unlink(missing_ok=True)
    os._exit(0)


def _addresses(server: RingServer) -> list[str]:
    """Where the members of the last view are."""
    with server.lock:
        view = server.process.standing.view
        return [] if view is None else [member.address for member in view.members]


def _shown(size: int | None) -> str:
    if size is None:
        return "no answer"
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB"
