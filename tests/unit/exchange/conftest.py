"""Real exchanges: one whose clients open the pool's files, one whose clients can't."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from exchange_players import folders_of

from pyrite.exchange import Exchange


@pytest.fixture(scope="session")
def lasting() -> Iterator[dict[str, Exchange]]:
    """An exchange of each kind, which no test may end."""
    exchanges = {
        "in place": Exchange(memory="64m"),
        "through the server": Exchange(memory="64m", direct=False),
    }
    yield exchanges
    for exchange in exchanges.values():
        folders = folders_of(exchange)
        exchange.close()
        assert exchange.server.process.returncode == 0
        assert not os.path.exists(folders.memory) and not os.path.exists(folders.disk)


@pytest.fixture(params=["in place", "through the server"])
def exchange(request: pytest.FixtureRequest, lasting: dict[str, Exchange]) -> Exchange:
    found = lasting[request.param]
    return found
