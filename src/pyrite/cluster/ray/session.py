"""The connection to a Ray cluster: found, joined or started, and left again."""

from __future__ import annotations

import logging
import os
import sys
from types import ModuleType
from typing import Any

from pyrite.cluster.ray.head import (
    NobodyAnswers,
    first_line,
    require_head,
    token_error,
    wants_token,
)
from pyrite.errors import ClusterError, UserError

CLIENT = "ray://"
# Not the name of a cluster: the one that this machine is in.
FOUND = ("", "auto")
# What a cluster that is started for one program does not need.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0"}
LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "[::1]")
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
OBJECT_STORE_BYTES = 128 << 20
OPTIONS: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}


class Session:
    """A driver's connection to Ray; it is closed only if it was opened here."""

    def __init__(self, address: str) -> None:
        wanted = address or os.environ.get("RAY_ADDRESS", "")
        keep_loopback(wanted)
        self.ray = load_ray()
        self.is_ours = not self.ray.is_initialized()
        if self.is_ours:
            self._connect(wanted)
        elif address and address != self.address():
            raise UserError(
                f"this program is connected to Ray at {self.address()} already: "
                f"use the master ray, or call ray.shutdown() to join {address}"
            )

    def _connect(self, wanted: str) -> None:
        if wanted.startswith(CLIENT):
            raise UserError(
                f"{wanted!r} is an address of Ray's client, and nodes must reach the driver: "
                "send the program to the cluster with pyrite submit --ray ADDRESS script.py"
            )
        address = head_of(wanted)
        where = f"the Ray cluster at {address}" if address else "a Ray cluster"
        try:
            if address is None:
                self._start()
            else:
                # Where it was found by itself, Ray takes this machine's token for it.
                joined = "auto" if wanted in FOUND else address
                self.ray.init(address=joined, **OPTIONS)
        except Exception as error:
            self.ray.shutdown()
            if wants_token(error):
                raise token_error(where, one_line(error)) from error
            raise ClusterError(f"{where} could not be joined: {one_line(error)}") from error

    def _start(self) -> None:
        for name, text in QUIET.items():
            os.environ.setdefault(name, text)
        self.ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address=LOOPBACK,
            **OPTIONS,
        )

    def address(self) -> str:
        """The address of the cluster's head."""
        found: str = self.ray.get_runtime_context().gcs_address
        return found

    def close(self) -> None:
        if self.is_ours:
            self.ray.shutdown()


def load_ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise UserError(
            f"the master ray needs the package ray ({error}): pip install 'pyrite[ray]'"
        ) from error
    module: ModuleType = ray
    return module


def head_of(wanted: str) -> str | None:
    """The address of the cluster to join, whose head answers; None if one is to be started."""
    if wanted == "local":
        return None
    if wanted not in FOUND:
        require_head(wanted, was_found=False)
        return wanted
    address = found_address()
    if address is None:
        if wanted:
            raise ClusterError(
                f"RAY_ADDRESS is {wanted}, and this machine is in no Ray cluster: "
                "start one with `ray start --head`, or unset RAY_ADDRESS"
            )
        return None
    keep_loopback(address)
    try:
        require_head(address, was_found=True)
    except NobodyAnswers as error:
        if wanted:
            raise
        logging.getLogger("pyrite").warning("a new Ray cluster is started: %s", error)
        return None
    return address


def found_address() -> str | None:
    """The address of the cluster that this machine is in, or was in when it was last told."""
    from ray._private.services import get_ray_address_from_environment

    try:
        found: str = get_ray_address_from_environment("auto", None)
    except ConnectionError:
        return None
    return found


def keep_loopback(address: str) -> None:
    """Has Ray take an address of loopback as such, and not for another of this machine."""
    if address.rpartition(":")[0] not in LOOPBACKS:
        return
    os.environ.setdefault(LOOPBACK_ONLY, "0")
    constants = sys.modules.get("ray._private.ray_constants")
    if constants is not None and os.environ[LOOPBACK_ONLY] == "0":
        # Ray was loaded before, with another value.
        constants.ENABLE_RAY_CLUSTER = False  # type: ignore[attr-defined]


def one_line(error: BaseException) -> str:
    """The essence of an error of Ray's, which may have many lines."""
    return f"{type(error).__name__}: {first_line(str(error))}"
