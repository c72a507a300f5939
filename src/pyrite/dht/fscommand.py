"""What the command `pyrite fs` does with the files of a ring."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from typing import Any, BinaryIO

from tqdm import tqdm

from pyrite.dht.filesystem import RingFileSystem
from pyrite.errors import UserError
from pyrite.ring.names import name_of
from pyrite.ring.operations import Operations

COPY_BYTES = 8 << 20


def run_fs(chosen: argparse.Namespace) -> int:
    """Does one of the commands; returns the exit code."""
    do = {
        "ls": _ls,
        "put": _put,
        "get": _get,
        "cat": _cat,
        "mv": _mv,
        "rm": _rm,
        "stat": _stat,
        "du": _du,
        "fsck": _fsck,
    }[chosen.action]
    try:
        return do(chosen)
    except BrokenPipeError:
        # Whoever reads `pyrite fs cat` has seen enough: the command line knows what to do.
        raise
    except FileNotFoundError as error:
        # The ring's own have the path alone, those of local files a number and words as well.
        raise UserError(f"there is no {error.filename or error}") from None
    except IsADirectoryError as error:
        raise UserError(f"{error.filename or error} is a folder, not a file") from None
    except OSError as error:
        raise UserError(str(error)) from None


def _located(address: str) -> tuple[RingFileSystem, str]:
    if not address.startswith("dht://"):
        raise UserError(f"{address}: write dht://RING/path")
    ring = address.removeprefix("dht://").partition("/")[0]
    return RingFileSystem(ring), RingFileSystem._strip_protocol(address)


def _ls(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.path)
    for entry in storage.ls(path):
        is_folder = entry["type"] == "directory"
        when = "" if is_folder else time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["mtime"]))
        owner = entry.get("owner", "")
        size = "-" if is_folder else entry["size"]
        print(f"{owner:<10} {size:>14} {when:<16} {entry['name']}{'/' * is_folder}")
    return 0


def _put(chosen: argparse.Namespace) -> int:
    storage, target = _located(chosen.target)
    for source, path in _pairs_to_put(chosen.source, storage, target):
        size = os.path.getsize(source)
        with open(source, "rb") as reader, storage.open(path, "wb") as writer:
            _copy(reader, writer, size, path)
    return 0


def _pairs_to_put(source: str, storage: RingFileSystem, target: str) -> list[tuple[str, str]]:
    name = os.path.basename(os.path.abspath(source))
    if not os.path.isdir(source):
        return [(source, f"{target}/{name}" if storage.isdir(target) else target)]
    pairs = []
    for folder, _, files in os.walk(source):
        below = os.path.relpath(folder, source)
        base = target if below == "." else f"{target}/{below}"
        storage.makedirs(base, exist_ok=True)
        pairs += [(os.path.join(folder, each), f"{base}/{each}") for each in sorted(files)]
    return pairs


def _get(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.source)
    if storage.isdir(path):
        pairs = [
            (each, os.path.join(chosen.target, each.removeprefix(path.rstrip("/") + "/")))
            for each in storage.find(path)
        ]
    else:
        name = path.rpartition("/")[2]
        is_folder = os.path.isdir(chosen.target)
        pairs = [(path, os.path.join(chosen.target, name) if is_folder else chosen.target)]
    for each, local in pairs:
        os.makedirs(os.path.dirname(os.path.abspath(local)), exist_ok=True)
        with storage.open(each, "rb") as reader, open(local, "wb") as writer:
            _copy(reader, writer, reader.size, each)
    return 0


def _copy(reader: Any, writer: Any, size: int, name: str) -> None:
    is_quiet = not sys.stderr.isatty()
    with tqdm(total=size, desc=name, unit="B", unit_scale=True, disable=is_quiet) as bar:
        while piece := reader.read(COPY_BYTES):
            writer.write(piece)
            bar.update(len(piece))


def _cat(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.path)
    out: BinaryIO = sys.stdout.buffer
    with storage.open(path, "rb") as reader:
        while piece := reader.read(COPY_BYTES):
            out.write(piece)
    out.flush()
    return 0


def _mv(chosen: argparse.Namespace) -> int:
    storage, source = _located(chosen.source)
    other, _ = _located(chosen.target)
    if other.ring != storage.ring:
        raise UserError(f"{chosen.source} and {chosen.target} are on two rings: get, put and rm")
    if not storage.exists(source):
        raise FileNotFoundError(chosen.source)
    storage.mv(source, chosen.target, recursive=True)
    return 0


def _rm(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.path)
    if storage.isdir(path) and not chosen.recursive:
        raise UserError(f"{chosen.path} is a folder: pyrite fs rm -r {chosen.path}")
    storage.rm(path, recursive=chosen.recursive)
    return 0


def _stat(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.path)
    for key, value in storage.info(path).items():
        if key == "block_ends":
            key, value = "blocks", len(value)
        print(f"{key}: {value:o}" if key == "mode" else f"{key}: {value}")
    return 0


def _du(chosen: argparse.Namespace) -> int:
    storage, path = _located(chosen.path)
    storage.info(path)
    found = storage.find(path, detail=True)
    print(f"{sum(entry['size'] for entry in found.values())}\t{len(found)} files\t{path}")
    return 0


def _fsck(chosen: argparse.Namespace) -> int:
    """Reads every copy of every block; a member that finds its own spoilt gets it from others."""
    storage, path = _located(chosen.path)
    client = storage.client
    storage.info(path)
    records, is_confirmed = client.run(lambda names: names.client.list(path.rstrip("/")))
    below = path.rstrip("/") + "/"
    records = {each: found for each, found in records.items() if f"{each}/".startswith(below)}
    if chosen.repair:
        for record in records.values():
            client.run(partial(Operations.tidy, record=record))
    files = {each: name_of(record).file for each, record in records.items()}
    blocks = {block: each for each, file in files.items() if file for block in file.blocks}
    bad = 0
    for block, each in tqdm(blocks.items(), unit="block", disable=not sys.stderr.isatty()):
        found = client.check(block, repairs=chosen.repair)
        for member, is_good in found:
            if not is_good:
                bad += 1
                what = "does not answer" if is_good is None else "has no good copy"
                print(f"{each}: {member.id} at {member.address} {what} of {block.name}")
    state = "" if is_confirmed else ", as far as the members that answer know"
    print(f"{len(records)} names, {len(blocks)} blocks, {bad} bad copies{state}")
    return 1 if bad else 0
