"""fsspec's own tests of file systems, on five real members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fsspec
import pytest
from fsspec.tests import abstract
from realrings import RealRing

RING = "abstract"


class RingFixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self, ring: RealRing) -> Any:
        return fsspec.filesystem("dht", ring=ring.name)

    @pytest.fixture
    def fs_path(self, fs: Any) -> Iterator[str]:
        fs.makedirs("/abstract", exist_ok=True)
        yield "/abstract"
        fs.rm("/abstract", recursive=True)

    @pytest.fixture
    def fs_join(self) -> Any:
        return lambda *parts: (
            "/".join(str(part).rstrip("/") for part in parts[:-1]) + "/" + parts[-1]
        )


class TestRingCopy(abstract.AbstractCopyTests, RingFixtures):
    pass


class TestRingGet(abstract.AbstractGetTests, RingFixtures):
    pass


class TestRingPut(abstract.AbstractPutTests, RingFixtures):
    pass


class TestRingOpen(abstract.AbstractOpenTests, RingFixtures):
    pass


class TestRingPipe(abstract.AbstractPipeTests, RingFixtures):
    pass
