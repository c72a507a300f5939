"""Spark's allocation file gives the pools of the FAIR mode."""

from pathlib import Path

import pytest

from pyrite.driver.start.pools import read_pools
from pyrite.errors import UserError
from pyrite.schedule.queue import PoolShare

FILE = """<?xml version="1.0"?>
<allocations>
  <pool name="production">
    <schedulingMode>FAIR</schedulingMode><weight>2</weight><minShare>3</minShare>
  </pool>
  <pool name="test"/>
</allocations>
"""


def test_pools_are_read_with_their_shares(tmp_path: Path) -> None:
    (tmp_path / "pools.xml").write_text(FILE)
    assert read_pools(str(tmp_path / "pools.xml")) == {
        "production": PoolShare(2, 3, fair=True),
        "test": PoolShare(),
    }


@pytest.mark.parametrize("text", ["<allocations>", "<allocations><pool/></allocations>"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "pools.xml").write_text(text)
    with pytest.raises(UserError, match=r"pools\.xml"):
        read_pools(str(tmp_path / "pools.xml"))
    with pytest.raises(UserError, match="nowhere"):
        read_pools("/nowhere")
