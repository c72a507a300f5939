"""A table of the machine holds what a dict would, and deals it as rows are dealt."""

import resource
import subprocess
import sys
from random import Random

import pytest

from pyrite.hashing import portable_hash
from pyrite.machine._rows import Table, unpack

ODD_KEYS = [0, -1, 1, 2**61 - 1, -(2**61) + 1, 2**61, 2**63 - 1, -(2**63), 2**62, 1 << 32]


def test_it_holds_what_a_dict_would() -> None:
    table, expected = Table(3), {}
    random = Random(1)
    for number in range(20_000):
        key = random.choice([random.randrange(5000), *ODD_KEYS])
        row = (key, (number * 0.5, number))
        assert table.put("(i(fi))", row)
        expected[key] = row[1]
    assert len(table) == len(expected)
    assert dict(table.rows("(i(fi))", 0, 1 << 40)) == expected
    assert [key for key, _ in table.rows("(i(fi))", 0, 1 << 40)] == list(expected)
    assert all(table.find("(i(fi))", key) == (key, state) for key, state in expected.items())
    assert table.find("(i(fi))", 5001) is None


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 200, 1000])
def test_it_deals_by_the_portable_hash(parts: int) -> None:
    table = Table(2)
    random = Random(parts)
    keys = list(
        dict.fromkeys([*ODD_KEYS, *(random.randrange(-(2**63), 2**63) for _ in range(3000))])
    )
    for key in keys:
        table.put("(ii)", (key, 0))
    dealt = [unpack("(ii)", *packed) for packed in table.deal(parts, 0, 1 << 40)]
    for part, rows in enumerate(dealt):
        wanted = [(key, 0) for key in keys if portable_hash(key) % parts == part]
        assert rows == wanted


@pytest.mark.parametrize("row", [(1, 2), (1.0, 2.0), (True, 2.0), (2**63, 2.0), [1, 2.0], (1,), 7])
def test_a_row_of_another_layout_is_not_put(row: object) -> None:
    table = Table(2)
    assert not table.put("(if)", row)
    assert len(table) == 0


def test_it_knows_its_bytes_and_gives_them_back() -> None:
    table = Table(2)
    empty = table.nbytes
    for key in range(10_000):
        table.put("(ii)", (key, key))
    assert table.nbytes >= 10_000 * 16
    table.clear()
    assert table.nbytes == empty and len(table) == 0


def test_it_says_where_there_is_no_memory() -> None:
    code = """
import resource
from pyrite.machine._rows import Table
table = Table(2)
resource.setrlimit(resource.RLIMIT_DATA, (96 << 20, 96 << 20))
try:
    for key in range(1 << 30):
        table.put("(ii)", (key, key))
except MemoryError:
    print(len(table) == len(table.rows("(ii)", 0, 100)) - 100 + len(table))
"""
    assert resource.RLIMIT_DATA
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_wrong_arguments_are_refused() -> None:
    table = Table(2)
    for wrong in [(0,), (256,), ("x",)]:
        with pytest.raises((ValueError, TypeError)):
            Table(*wrong)
    with pytest.raises(ValueError):
        table.rows("(iii)", 0, 1)
    with pytest.raises(IndexError):
        table.rows("(ii)", 5, 9)
    with pytest.raises(ValueError):
        table.deal(0, 0, 1)
