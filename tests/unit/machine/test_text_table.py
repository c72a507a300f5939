"""A table by text holds what a dict would, and deals it as rows are dealt."""

from random import Random

import pytest

from pyrite.hashing import portable_hash
from pyrite.machine._rows import Table, unpack

ODD_TEXTS = ["", "a", "é", "ÿ", "Ā", "\uffff", "\N{GRINNING FACE}", "a" * 7, "a" * 8, "a" * 9, "\0"]
LAYOUT = "(s(fi))"


def texts(random: Random, count: int) -> list[str]:
    alphabet = ["ab", "abé", "aĀ☃", "a\N{GRINNING FACE}"]
    made = (
        "".join(random.choices(random.choice(alphabet), k=random.randrange(40)))
        for _ in range(count)
    )
    return list(dict.fromkeys([*ODD_TEXTS, *made]))


def test_it_holds_what_a_dict_would() -> None:
    table, expected = Table(3, True), {}
    random = Random(1)
    keys = texts(random, 3000)
    for number in range(20_000):
        key = random.choice(keys)
        assert table.put(LAYOUT, (key, (number * 0.5, number)))
        expected[key] = (number * 0.5, number)
    assert len(table) == len(expected)
    assert table.rows(LAYOUT, 0, 1 << 40) == list(expected.items())
    assert all(table.find(LAYOUT, key) == (key, state) for key, state in expected.items())
    assert table.find(LAYOUT, "not there") is None
    table.clear()
    assert len(table) == 0 and table.find(LAYOUT, "a") is None


@pytest.mark.parametrize("parts", [1, 2, 7, 1000])
def test_it_deals_by_the_portable_hash(parts: int) -> None:
    table = Table(2, True)
    keys = texts(Random(parts), 800)
    wanted: list[list[tuple[str, int]]] = [[] for _ in range(parts)]
    for key in keys:
        table.put("(si)", (key, 0))
        wanted[portable_hash(key) % parts].append((key, 0))
    assert [unpack("(si)", *packed) for packed in table.deal(parts, 0, 1 << 40)] == wanted


class OddText(str):
    """A text that is not one exactly."""


@pytest.mark.parametrize("key", [1, None, b"a", OddText("a"), "\ud800", ("a",)])
def test_other_keys_are_not_put(key: object) -> None:
    table = Table(2, True)
    assert not table.put("(si)", (key, 1))
    assert table.find("(si)", key) is None
    assert len(table) == 0


def test_a_table_has_one_kind_of_keys() -> None:
    with pytest.raises(ValueError):
        Table(2, True).put("(ii)", (1, 1))
    with pytest.raises(ValueError):
        Table(2).put("(si)", ("a", 1))
    with pytest.raises(ValueError):
        Table(2, True).put("(ss)", ("a", "b"))


def test_it_knows_the_bytes_of_its_texts() -> None:
    table = Table(2, True)
    table.put("(si)", ("x" * (1 << 20), 1))
    assert table.nbytes >= 1 << 20
