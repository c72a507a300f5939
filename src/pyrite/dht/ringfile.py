"""The file that tells where a ring is: addresses and the secret, for its owner's eyes only."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pyrite.errors import UserError
from pyrite.remote.handshake import SECRET_BYTES, check_secret

FOLDER = "PYRITE_RINGS"
DEFAULT_BLOCK_BYTES = 64 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class RingFile(NamedTuple):
    """What is needed to speak with a ring."""

    secret: bytes
    addresses: list[str]
    block_bytes: int


def ring_path(name: str) -> Path:
    """Where the file of a ring lies; raises UserError for a bad name."""
    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r} can't be a ring's name: letters, digits, '.', '_' and '-' only")
    folder = os.environ.get(FOLDER) or os.path.expanduser("~/.pyrite/rings")
    return Path(folder) / f"{name}.json"


def read_ring(name: str) -> RingFile:
    """Reads a ring's file; raises UserError if there is none, or if others may read it."""
    path = ring_path(name)
    try:
        text = path.read_text()
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        raise UserError(
            f"there is no ring {name!r}: {path} is missing; make one with "
            f"`pyrite ring start {name} --dir FOLDER`, or copy the file from one of its machines"
        ) from None
    if mode & 0o077:
        raise UserError(f"others may read the secret in {path}: chmod 600 {path}")
    try:
        told = json.loads(text)
        secret = check_secret(bytes.fromhex(told["secret"]))
        return RingFile(secret, list(told["addresses"]), int(told["block"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} can't be read: {error}; copy it from another machine") from None


def enter_ring(name: str, address: str, block_bytes: int) -> tuple[RingFile, bool]:
    """Adds a member's address to a ring's file, which is made with a new secret if there is none.

    Returns the file as it was before, and whether this address is the first.
    """
    path = ring_path(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(path):
        if path.exists():
            known = read_ring(name)
        else:
            known = RingFile(os.urandom(SECRET_BYTES), [], block_bytes)
        _write(path, known._replace(addresses=[*known.addresses, address]))
        return known, not known.addresses


def set_addresses(name: str, addresses: list[str]) -> None:
    """Says where the members are; if there is none left, the last ones stay."""
    path = ring_path(name)
    with _locked(path):
        known = read_ring(name)
        if addresses and addresses != known.addresses:
            _write(path, known._replace(addresses=addresses))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _write(path: Path, ring: RingFile) -> None:
    told = {
        "secret": ring.secret.hex(),
        "addresses": ring.addresses,
        "block": ring.block_bytes,
    }
    fresh = path.with_suffix(".new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(json.dumps(told, indent=1))
        file.flush()
        os.fsync(fd)
    os.replace(fresh, path)
