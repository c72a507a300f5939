"""A ring of five real members, for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from realrings import RealRing

from pyrite.dht.filesystem import RingFileSystem


@pytest.fixture(scope="module")
def ring(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealRing]:
    # fsspec keeps file systems by name, so each module's ring has its own; tests of a module that
    # are run apart from each other have several rings of that name.
    RingFileSystem.clear_instance_cache()
    folder = tmp_path_factory.mktemp("ring")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYRITE_RINGS", str(folder / "rings"))
        made = RealRing(request.module.RING, folder)
        try:
            for number in range(5):
                made.start(number)
            made.wait_whole(5)
            yield made
        finally:
            made.end()
