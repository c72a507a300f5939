"""Where the two ways of a branch meet, and what a value is when it can come from either."""

from __future__ import annotations

from pyrite.machine.bytecode import Instruction, NotTraced
from pyrite.machine.emit import Code, Label, Line, kind_of
from pyrite.machine.values import (
    KINDS,
    Cell,
    Function,
    Items,
    Iterator,
    Known,
    Number,
    Text,
    Value,
    is_text,
)


def joined(
    code: Code,
    one: Value,
    two: Value,
    one_lines: list[Line | Label],
    two_lines: list[Line | Label],
) -> Value:
    """A value that is `one` after the first way and `two` after the second."""
    if one is two or _are_same_constant(one, two):
        return one
    if isinstance(one, Items) and isinstance(two, Items):
        if one.is_list == two.is_list and len(one.items) == len(two.items):
            pairs = zip(one.items, two.items, strict=True)
            items = [joined(code, *pair, one_lines, two_lines) for pair in pairs]
            return Items(items, one.is_list)
        raise NotTraced("a value whose length differs by branch")
    if isinstance(one, Iterator) and isinstance(two, Iterator):
        if one.items is two.items and one.position == two.position:
            return one
        raise NotTraced("a loop that a branch leaves")
    if is_text(one) and is_text(two):
        return Text(_moved(code, one, two, one_lines, two_lines))
    kind = kind_of(one)
    if kind is None or kind != kind_of(two) or isinstance(one, Cell | Function):
        raise NotTraced("a value whose type differs by branch")
    return Number(kind, _moved(code, one, two, one_lines, two_lines))


def _moved(
    code: Code,
    one: Value,
    two: Value,
    one_lines: list[Line | Label],
    two_lines: list[Line | Label],
) -> int:
    first, second = code.register(one), code.register(two)
    register = code.new()
    one_lines.append(Line("MOVE", register, first, 0))
    two_lines.append(Line("MOVE", register, second, 0))
    return register


def _are_same_constant(one: Value, two: Value) -> bool:
    if not isinstance(one, Known) or not isinstance(two, Known):
        return False
    if one.value is two.value:
        return True
    kinds = type(one.value), type(two.value)
    # By their text, since 0.0 == -0.0.
    return kinds[0] is kinds[1] and kinds[0] in (*KINDS, str) and repr(one.value) == repr(two.value)


def meeting_points(instructions: list[Instruction]) -> dict[int, int]:
    """For each branch the instruction where its two ways meet again, its immediate postdominator;
    -1 where they meet only at the end."""
    end = len(instructions)
    following = [_following(place, each, end) for place, each in enumerate(instructions)]
    behind: list[set[int]] = [set(range(end + 1)) for _ in instructions] + [{end}]
    changed = True
    while changed:
        changed = False
        for place in range(end - 1, -1, -1):
            new = {place}.union(set.intersection(*(behind[each] for each in following[place])))
            if new != behind[place]:
                behind[place] = new
                changed = True
    found: dict[int, int] = {}
    for place, each in enumerate(instructions):
        if each.op in ("branch", "jump_or_pop"):
            later = behind[place] - {place}
            nearest = next((point for point in later if behind[point] >= later), end)
            found[place] = -1 if nearest == end else nearest
    return found


def _following(place: int, instruction: Instruction, end: int) -> list[int]:
    if instruction.op == "return":
        return [end]
    if instruction.op == "jump":
        return [instruction.target]
    if instruction.op in ("branch", "jump_or_pop", "for"):
        return [place + 1, instruction.target]
    return [place + 1]
