"""Advice for tasks that fail since their node lacks what the driver has: a path, or a module."""

from __future__ import annotations

import socket
import traceback

from pyrite.execute.traces import HIDDEN
from pyrite.ids import NodeId


def lacking(error: BaseException, node: NodeId) -> str:
    """What the node lacks, and the cure; empty for other errors."""
    where = f"{node} (host {socket.gethostname()})"
    if isinstance(error, ModuleNotFoundError):
        return (
            f"; {where} lacks this module: send it with sc.addPyFile or --py-files, or install it "
            "on all nodes"
        )
    if isinstance(error, FileNotFoundError) and is_engines(error):
        return (
            f"; {where} lacks this path: a local path must be shared by all nodes, as a network "
            "folder is; else read and write through the ring (docs/ring.md) or an object store"
        )
    return ""


def is_engines(error: BaseException) -> bool:
    """Whether the engine itself looked for the path, not the user's function."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return bool(frames) and frames[-1].filename.startswith(HIDDEN)
