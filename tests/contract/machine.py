"""The first process of a machine: gives it folders of its own, and starts a node of Ray's.

It runs in new namespaces, and reaps nobody but its child, as the first process of a container may.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def raise_loopback() -> None:
    """Brings up the only device of a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def make_folders(shm_mb: int, shared: list[str]) -> None:
    """Mounts a /dev/shm and a /tmp; of the old /tmp there is only what machines share."""
    mount("-t", "tmpfs", "-o", f"size={shm_mb}m,mode=1777", "none", "/dev/shm")
    mount("-t", "tmpfs", "-o", "mode=1777", "none", "/mnt")
    for path in shared:
        if path.startswith("/tmp/"):
            place = "/mnt/" + path.removeprefix("/tmp/")
            os.makedirs(place, exist_ok=True)
            mount("--bind", path, place)
    mount("--rbind", "/mnt", "/tmp")


def main(network: bool, shm_mb: int, shared: list[str], command: list[str]) -> None:
    if network:
        raise_loopback()
    make_folders(shm_mb, shared)
    subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # The machine ends with this process, and this process with the test.
    sys.stdin.read()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
