"""Serves pages until it is told to end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import BinaryIO

from pyrite.ui.address import Address
from pyrite.ui.library import Library


def serve(
    library: Library,
    address: Address,
    until: BinaryIO | None = None,
    stacks: Callable[[str], str] | None = None,
) -> None:
    """Answers requests until Ctrl-C, or until the other end of `until` is closed."""
    import uvicorn

    from pyrite.ui.server import make_app

    app = make_app(library, address.token, address.cookie, stacks)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", ws="none", server_header=False
    )
    server = uvicorn.Server(config)
    if until is not None:

        def wait_for_end() -> None:
            until.read()
            server.should_exit = True
            # Requests that hang must not keep it alive.
            server.force_exit = True

        threading.Thread(target=wait_for_end, daemon=True, name="pyrite ui end").start()
    try:
        server.run(sockets=[address.listener])
    finally:
        library.close()
