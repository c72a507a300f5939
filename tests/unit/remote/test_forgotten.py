"""A bounded memory of names."""

from pyrite.remote.forgotten import Forgotten


def test_the_last_names_are_remembered() -> None:
    forgotten = Forgotten(3)
    forgotten.add(["a", "b"])
    forgotten.add(["b", "c"])
    assert all(name in forgotten for name in "abc") and "d" not in forgotten
    forgotten.add(["d", "e"])
    assert [name for name in "abcde" if name in forgotten] == ["c", "d", "e"]
    assert len(forgotten.names) == len(forgotten.order) == 3
