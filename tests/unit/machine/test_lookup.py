"""A lookup finds what a dict of the same keys would."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from pyrite.machine import lookup
from pyrite.machine._rows import Groups
from pyrite.machine.lookup import Lookup

MODULUS = 2**61 - 1


class Named:
    """Equal to one text, with its hash."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return other == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Odd(int):
    """Equal to another int than it looks."""

    def __eq__(self, other: object) -> bool:
        return other == 17

    def __hash__(self) -> int:
        return 17


def looked_up(layout: str, rows: list[Any], missing: tuple[Any, ...] = ()) -> Lookup:
    groups = Groups(layout)
    assert groups.put(layout, rows) == len(rows)
    assert groups.reserve()
    groups.close()
    return Lookup(groups, layout, missing)


INTS = [*range(-3, 40), *(MODULUS * n + 5 for n in range(-4, 4)), MODULUS, -MODULUS, 2**63 - 1]
INTS += [-(2**63), 2**53, 2**53 + 1]
KEYS: list[Any] = [
    *INTS,
    True,
    False,
    1.0,
    -0.0,
    2.5,
    float("nan"),
    float(2**53),
    1e300,
    1 + 0j,
    2j,
]
KEYS += [Decimal(7), Fraction(8), Fraction(1, 2), Odd(3), None, "a", (1, 2), 2**70, -2.0, -1.0]


def test_ints_are_found_as_in_a_dict() -> None:
    rows = [(key, number) for number, key in enumerate(INTS * 2)]
    table: dict[Any, list[int]] = {}
    for key, value in rows:
        table.setdefault(key, []).append(value)
    found = looked_up("(ii)", rows, (None,))
    for key in KEYS * 2:
        assert list(found[key]) == table.get(key, [None]), key


def test_texts_are_found_as_in_a_dict() -> None:
    names = [f"k{number}" for number in range(9000)]
    found = looked_up("(sf)", [(name, number * 0.5) for number, name in enumerate(names)])
    text = type("OddText", (str,), {})
    for number in (0, 4095, 4096, 8999):
        for key in (names[number], Named(names[number]), text(names[number])):
            assert found[key] == [number * 0.5]
    for key in (1, None, b"k1", "\ud800", "", Named("k9000"), text("k"), ("k1",)):
        assert found[key] == ()


class Counted:
    """Groups that count how often their keys are asked for."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.asked = 0

    def __len__(self) -> int:
        return len(self.groups)

    def find(self, layout: str, key: Any) -> Any:
        return self.groups.find(layout, key)

    def keys(self, start: int, stop: int) -> list[Any]:
        self.asked += 1
        return self.groups.keys(start, stop)


def test_many_keys_of_another_type_are_not_each_compared_with_all_texts() -> None:
    found = looked_up("(sf)", [(f"k{number}", 0.5) for number in range(100)])
    found.groups = groups = Counted(found.groups)  # type: ignore[assignment]
    text = type("OddText", (str,), {})
    for number in range(100):
        assert found[text(f"k{number}")] == [0.5]
        for key in (number, number / 3, (number,), Decimal(number), Fraction(number, 7)):
            assert found[key] == ()
    assert groups.asked == 1


def test_keys_without_a_hash_raise_as_in_a_dict() -> None:
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        looked_up("(ii)", [(1, 1)])[[1]]  # type: ignore[index]


def test_few_values_are_kept_as_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_MOST_KEPT", 100)
    found = looked_up("(ii)", [(number % 500, number) for number in range(5000)])
    for number in range(5000):
        assert found[number % 700] == (
            () if number % 700 >= 500 else [*range(number % 700, 5000, 500)]
        )
        assert sum(map(len, found.values())) <= 100


def test_where_one_value_is_asked_for_no_others_are_kept() -> None:
    groups = looked_up("(ii)", [(number % 3, number) for number in range(3000)]).groups
    found = Lookup(groups, "(ii)", (), 1)
    assert [list(found[key]) for key in (0, 1, 2, 3, True)] == [[0], [1], [2], [], [1]]
    assert [list(found[key]) for key in (2, 1, 0)] == [[2], [1], [0]]
