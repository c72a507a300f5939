"""Whether the head of a Ray cluster answers at an address, and takes this program's token."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from typing import IO

from pyrite.cluster.node.wire import own_paths
from pyrite.errors import ClusterError

# How long a connection, and then an answer, may take before it is said that nobody answers.
ANSWER_S = 5.0
PROBE_S = 8.0
# How long a busy machine may take to load Ray.
LOAD_S = 30.0
TOKENS = (
    "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN, or put the cluster's token into ~/.ray/auth_token"
)

# Ray's client tries for 40 s, prints while it does, and ends its process where a token is missing:
# so it is tried in another process. What else is wrong there, or changes with Ray's versions, is
# left to be said when the cluster is joined.
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[3])
from ray._private.authentication import authentication_token_setup as tokens
from ray._raylet import GcsClient

print("loaded", flush=True)
if sys.argv[2] == "found":
    enable = getattr(tokens, "maybe_enable_token_auth_if_token_available", None)
    if enable is not None:
        # As ray.init does for a cluster that it finds by itself.
        enable(warn_if_disabled=False)
try:
    tokens.ensure_token_if_auth_enabled(None, create_token_if_missing=False)
    GcsClient(address=sys.argv[1])
except (ImportError, AttributeError, TypeError):
    pass
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    while error.__cause__ is not None:
        error = error.__cause__
        print(error, flush=True)
"""


class NobodyAnswers(ClusterError):
    """There is no head of a Ray cluster at an address."""


def require_head(address: str, was_found: bool) -> None:
    """Raises where no head answers at the address, or refuses this program's token; a cluster that
    was found, and not named, gets the token of this machine."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_S):
            pass
    except (OSError, ValueError) as error:
        raise nobody_answers(address, str(error)) from error
    said = probe(address, was_found)
    if said is None:
        raise nobody_answers(address, f"no word from a Ray head for {PROBE_S:g} s")
    if tells_of_token(said):
        raise token_error(f"the Ray cluster at {address}", said)
    if said:
        raise nobody_answers(address, f"what listens there is no Ray head: {first_line(said)}")


def probe(address: str, was_found: bool) -> str | None:
    """What a client of Ray's says that tries to reach a head: nothing if it does, None if it has
    not got an answer in time."""
    way = "found" if was_found else "named"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address, way, json.dumps(own_paths())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            loaded, ended = read_for(process.stdout, LOAD_S, len("loaded\n"))
            if ended or not loaded:
                return ""
            said, ended = read_for(process.stdout, PROBE_S)
            return said.decode(errors="replace").strip() if ended else None
        finally:
            process.kill()


def read_for(pipe: IO[bytes], seconds: float, most: int = 1 << 16) -> tuple[bytes, bool]:
    """What can be read in so many seconds, and whether that was all."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    read = b""
    end_s = time.monotonic() + seconds
    while len(read) < most and (rest_s := end_s - time.monotonic()) > 0:
        if poll.poll(rest_s * 1000):
            more = os.read(pipe.fileno(), most - len(read))
            if not more:
                return read, True
            read += more
    return read, False


def nobody_answers(address: str, reason: str) -> NobodyAnswers:
    return NobodyAnswers(
        f"nobody answers at {address} ({reason}): is the Ray cluster up, and is this the "
        "address that `ray start --head` printed?"
    )


def wants_token(error: BaseException) -> bool:
    """Whether Ray refused this program for its token."""
    if tells_of_token(str(error)):
        return True
    return error.__cause__ is not None and wants_token(error.__cause__)


def tells_of_token(said: str) -> bool:
    text = said.lower()
    return any(each in text for each in ("authentication", "unauthorized", "auth token"))


def token_error(where: str, said: str) -> ClusterError:
    # Ray's own advice is long.
    reason = first_line(said).partition(". ")[0]
    return ClusterError(f"{where} wants another token than this program's ({reason}): {TOKENS}")


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
