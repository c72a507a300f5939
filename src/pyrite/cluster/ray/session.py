"""The connection to a Ray cluster: found, joined or started, and left again."""

from __future__ import annotations

import os
import socket
from types import ModuleType

from pyrite.errors import ClusterError, UserError

# How long a cluster may take to answer before it is said that nobody does.
ANSWER_S = 5.0
CLIENT = "ray://"
# What a cluster that is started for one program does not need.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0"}
LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "[::1]")
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
OBJECT_STORE_BYTES = 128 << 20
TOKENS = (
    "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN, or put the cluster's token into ~/.ray/auth_token"
)


class Session:
    """A driver's connection to Ray; it is closed only if it was opened here."""

    def __init__(self, address: str) -> None:
        wanted = address or os.environ.get("RAY_ADDRESS", "")
        if wanted.startswith(LOOPBACKS):
            # Ray takes addresses of loopback for others of the machine, unless this is set before
            # it is loaded.
            os.environ.setdefault(LOOPBACK_ONLY, "0")
        self.ray = load_ray()
        self.is_ours = not self.ray.is_initialized()
        if self.is_ours:
            self._connect(wanted)
        elif address and address != self.address():
            raise UserError(
                f"this program is connected to Ray at {self.address()} already: "
                f"use the master ray, or call ray.shutdown() to join {address}"
            )

    def _connect(self, address: str) -> None:
        if address.startswith(CLIENT):
            raise UserError(
                f"{address!r} is an address of Ray's client, and nodes must reach the driver: "
                "send the program to the cluster with pyrite submit --ray ADDRESS script.py"
            )
        if address not in ("", "auto", "local"):
            require_answer(address)
        if address != "local":
            require_token(address)
        try:
            self._init(address)
        except Exception as error:
            self.ray.shutdown()
            where = f"the Ray cluster at {address}" if address else "a Ray cluster"
            if wants_token(error):
                raise token_error(where, error) from error
            raise ClusterError(f"{where} could not be joined: {one_line(error)}") from error

    def _init(self, address: str) -> None:
        options = {"log_to_driver": False, "logging_level": "error"}
        if address in ("", "auto"):
            try:
                self.ray.init(address="auto", **options)
                return
            except ConnectionError:
                # This machine is in no cluster.
                if address:
                    raise
        elif address != "local":
            self.ray.init(address=address, **options)
            return
        for name, text in QUIET.items():
            os.environ.setdefault(name, text)
        self.ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address=LOOPBACK,
            **options,
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


def require_answer(address: str) -> None:
    """Raises where nobody listens at the address: Ray itself would try for much longer."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_S):
            pass
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"nobody answers at {address} ({error}): is the Ray cluster up, and is this the "
            "address that `ray start --head` printed?"
        ) from error


def require_token(address: str) -> None:
    """Raises where a cluster refuses this program's token: Ray itself would try for 25 s."""
    try:
        from ray._private.authentication import authentication_token_setup as tokens
        from ray._private.services import get_ray_address_from_environment
        from ray._raylet import GcsClient  # type: ignore[attr-defined]

        found = address or "auto"
        if found == "auto":
            found = get_ray_address_from_environment(found, None)
        # The client itself would end this process if there were none.
        tokens.ensure_token_if_auth_enabled(None, create_token_if_missing=False)
        GcsClient(address=found)
    except Exception as error:
        # Whatever else is wrong, or changes with Ray's versions, is said when it is joined.
        if wants_token(error):
            where = f"the Ray cluster at {address}" if address else "this machine's Ray cluster"
            raise token_error(where, error) from error


def wants_token(error: BaseException) -> bool:
    """Whether Ray refused this program for its token."""
    text = str(error).lower()
    if "authentication" in text or "unauthorized" in text or "auth token" in text:
        return True
    return error.__cause__ is not None and wants_token(error.__cause__)


def token_error(where: str, error: BaseException) -> ClusterError:
    # Ray's own advice is long.
    said = one_line(error).partition(". ")[0]
    return ClusterError(f"{where} wants another token than this program's ({said}): {TOKENS}")


def one_line(error: BaseException) -> str:
    """The essence of an error of Ray's, which may have many lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"
