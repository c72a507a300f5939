"""Whether connections are encrypted: where RAY_USE_TLS is set, as for Ray's own connections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from pyrite.errors import UserError

if TYPE_CHECKING:
    from pyrite.remote.tls import Gate

USE = "RAY_USE_TLS"
# The certificate, its key, and the certificate of who has signed all of them.
FILES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
# One record of TLS. What is sent again after a wait must not be shorter than the first time: at
# most one record is sent at a time, and all of it is offered again.
RECORD_BYTES = 16 << 10
CURE = "give the files that Ray's nodes use, or unset RAY_USE_TLS on all of them"


def own_gate(environment: Mapping[str, str] = os.environ) -> Gate | None:
    """The gate of this process; None where connections are plain."""
    if environment.get(USE, "0").lower() not in ("1", "true"):
        return None
    return made_gate(*(environment.get(name, "") for name in FILES))


@cache
def made_gate(certificate: str, key: str, authority: str) -> Gate:
    """Loads the certificates; raises where it can't, with the file to blame."""
    # Most programs do without.
    from pyrite.remote.tls import Gate

    files = dict(zip(FILES, (certificate, key, authority), strict=True))
    for name, path in files.items():
        check_readable(name, path)
    try:
        return Gate(certificate, key, authority)
    except OSError as error:
        told = ", ".join(f"{name}={path}" for name, path in files.items())
        raise UserError(
            f"{USE} is set, and there is no TLS with {told} ({error}): {CURE}"
        ) from None


def check_readable(name: str, path: str) -> None:
    if not path:
        raise UserError(f"{USE} is set, and {name} is not: {CURE}")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise UserError(
            f"{USE} is set, and {name}={path} can't be read ({error.strerror}): {CURE}"
        ) from None
