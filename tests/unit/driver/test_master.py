"""Master URLs are read as Spark reads them; others are refused with the ones that work."""

import pytest

from pyrite.driver.master import Master, parse_master
from pyrite.errors import UserError
from pyrite.settings import usable_cores


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("local", Master(1, None)),
        ("local[4]", Master(4, None)),
        ("local[*]", Master(usable_cores(), None)),
        ("local[2,3]", Master(2, 3)),
        (" local[ 2 , 3 ] ", Master(2, 3)),
    ],
)
def test_local(url: str, expected: Master) -> None:
    assert parse_master(url) == expected


@pytest.mark.parametrize("url", ["", "local[0]", "local[-1]", "local[x]", "yarn", "spark://h:7077"])
def test_others(url: str) -> None:
    with pytest.raises(UserError, match=r"local\[4\]"):
        parse_master(url)
