"""The options of `pyrite ring` and `pyrite fs`."""

from __future__ import annotations

import argparse
from typing import Any

from pyrite.quantities import parse_bytes

RING = """\
Keep files on a ring of machines, without a name node: each block and each name lies on three of
them, and the ring goes on when one is lost. `pyrite ring start` runs one member in the foreground
and makes the ring if there is none of this name; SIGTERM lets it leave in order, and it comes back
with its folder. Where a ring is, and its secret, stands in $PYRITE_RINGS/NAME.json
(~/.pyrite/rings); copy that file to every machine that shall use the ring.
"""

RING_EXAMPLES = """\
examples:
  pyrite ring start lab --dir /data/ring --listen 10.0.0.5:7700     on each machine
  pyrite ring status lab                                            who is in it, what it lacks
"""

FS = """\
Use the files of a ring. Paths are dht://RING/path; a write is seen when it is complete.
"""

FS_EXAMPLES = """\
examples:
  pyrite fs put logs dht://lab/logs          a file, or a folder with all that is in it
  pyrite fs ls dht://lab/logs
  pyrite fs cat dht://lab/logs/monday.txt | head
  pyrite fs fsck dht://lab/ --repair         read every copy, and replace the spoilt ones
"""

_ACTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ls": ("list a folder", ("path",)),
    "put": ("copy a local file or folder to the ring", ("source", "target")),
    "get": ("copy a file or folder from the ring", ("source", "target")),
    "cat": ("write a file to the standard output", ("path",)),
    "mv": ("rename a file or folder: no data is moved", ("source", "target")),
    "rm": ("remove a file, or a folder with -r", ("path",)),
    "stat": ("tell what is known of a path", ("path",)),
    "du": ("count the bytes below a path", ("path",)),
    "fsck": ("read every copy of every block", ("path",)),
}


def add_ring_options(parser: argparse.ArgumentParser) -> None:
    """Adds the actions of `pyrite ring` to its parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    start = actions.add_parser("start", help="run a member", description=RING)
    start.add_argument("name", metavar="NAME", help="of the ring")
    start.add_argument("--dir", metavar="FOLDER", required=True, help="where the member keeps all")
    start.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:0", help="(127.0.0.1, any free port)"
    )
    start.add_argument(
        "--block",
        type=_block,
        default=64 << 20,
        metavar="SIZE",
        help="of the files' blocks, for a new ring (64m)",
    )
    # For a ring that ends with the program that has started it.
    start.add_argument("--transient", action="store_true", help=argparse.SUPPRESS)
    status = actions.add_parser("status", help="tell of its members and copies")
    status.add_argument("name", metavar="NAME", help="of the ring")
    status.add_argument("--json", action="store_true", help="as JSON")


def add_fs_options(parser: argparse.ArgumentParser) -> None:
    """Adds the actions of `pyrite fs` to its parser."""
    actions: Any = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (about, places) in _ACTIONS.items():
        action = actions.add_parser(name, help=about, description=about.capitalize() + ".")
        for place in places:
            action.add_argument(place, metavar=place.upper())
        if name == "rm":
            action.add_argument("-r", "--recursive", action="store_true", help="folders too")
        if name == "fsck":
            action.add_argument(
                "--repair", action="store_true", help="replace spoilt and missing copies"
            )


def _block(text: str) -> int:
    try:
        value = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not 4096 <= value <= 1 << 30:
        raise argparse.ArgumentTypeError(f"{text}: a block has 4k to 1g")
    return value
