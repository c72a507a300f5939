"""What the tracer knows of a value, and the shapes of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, Literal, NamedTuple, TypeAlias

from pyrite.machine.bytecode import NotTraced

# An int of 64 bits, a float, a bool.
Kind: TypeAlias = Literal["i", "f", "b"]
KINDS: dict[type, Kind] = {int: "i", float: "f", bool: "b"}
# In layouts there are texts, too.
WORD_KINDS = "ifbs"
# What Python has several values in: a list, a set, or what a grouping gives.
Form: TypeAlias = Literal["list", "set", "values"]

DEEPEST_SHAPE = 8
MOST_LEAVES = 128


class TupleShape(NamedTuple):
    """A tuple with items of these shapes."""

    items: tuple[Shape, ...]


class ListShape(NamedTuple):
    """A list of any length, whose items have one shape."""

    item: Shape


class OpaqueShape(NamedTuple):
    """An object of another type, which the machine does not look into."""

    name: str


Shape: TypeAlias = Kind | Literal["s"] | TupleShape | ListShape | OpaqueShape


class Known:
    """A value that is known when the function is traced: a number, None, a function, a module, or a
    container of them."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Number:
    """A number in a register.

    `is_asked` says that something was decided by its type: the row must be checked for it then,
    even if nothing reads the number.
    """

    __slots__ = ("is_asked", "kind", "register")

    def __init__(self, kind: Kind, register: int) -> None:
        self.kind = kind
        self.register = register
        self.is_asked = False


class Text:
    """A text in a register."""

    __slots__ = ("register",)

    def __init__(self, register: int) -> None:
        self.register = register


class Texts:
    """Texts that the machine has made, in a register; their number differs by row."""

    __slots__ = ("form", "register")

    def __init__(self, register: int, form: Form = "list") -> None:
        self.register = register
        self.form = form


class Opaque:
    """An object of the row that can be passed by, and nothing else."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class RecordPiece(Opaque):
    """Bytes of a row that is bytes, from the first up to the last of them, as far as it goes."""

    __slots__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        super().__init__("bytes")
        self.first = first
        self.last = last


class Method:
    """A method of a text, which is called on the spot."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        self.owner = owner
        self.name = name


class Items:
    """A tuple or a list whose items are known one by one."""

    __slots__ = ("is_list", "items")

    def __init__(self, items: Sequence[Value], is_list: bool = False) -> None:
        self.items = tuple(items)
        self.is_list = is_list


class Once:
    """What zip, map, enumerate and generator expressions return: it can be read once, so the
    tracer lets it be read on the spot only."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = tuple(items)


class RowList:
    """A list of the row, in a register; its length differs by row."""

    __slots__ = ("item", "register")

    def __init__(self, register: int, item: Shape) -> None:
        self.register = register
        self.item = item


class Vector:
    """The values of a key, or others that the machine has made, of one layout, in a register."""

    __slots__ = ("form", "layout", "register")

    def __init__(self, register: int, layout: str, form: Form = "values") -> None:
        self.register = register
        self.layout = layout
        self.form = form


# Sequences whose length differs by row.
Sequenced: TypeAlias = RowList | Texts | Vector


class LoopItems:
    """What a loop makes of each item of a list: the code of one round, the register that it finds
    the item in, its value, and the label of rounds that leave it out. `is_once` says that it is an
    iterator."""

    __slots__ = ("code", "is_once", "item_register", "over", "skip", "value")

    def __init__(
        self,
        over: Sequenced,
        item_register: int,
        code: list[Any],
        value: Value,
        skip: Any = None,
        is_once: bool = False,
    ) -> None:
        self.over = over
        self.item_register = item_register
        self.code = code
        self.value = value
        self.skip = skip
        self.is_once = is_once


class Iterator:
    """An iterator of a loop on the stack; a lazy one computes each item when it is asked for."""

    __slots__ = ("is_lazy", "items", "position")

    def __init__(
        self, items: tuple[Value, ...] | Sequenced, position: int = 0, is_lazy: bool = False
    ) -> None:
        self.items = items
        self.position = position
        self.is_lazy = is_lazy


class GatheredItems:
    """What a comprehension over a list of the row fills, once a round or not at all; `branches`
    says how many branches it lies in, `place` where its loop begins, and `skip` where a round
    without an item ends."""

    __slots__ = ("branches", "place", "skip", "value")

    def __init__(self, branches: int, place: int, skip: Any) -> None:
        self.branches = branches
        self.place = place
        self.skip = skip
        self.value: Value | None = None


class Cell:
    """A variable that is shared with an inner function."""

    __slots__ = ("value",)

    def __init__(self, value: Value | None) -> None:
        self.value = value


class Function:
    """A function that the traced code made."""

    __slots__ = ("cells", "code", "globals")

    def __init__(
        self, code: CodeType, cells: Mapping[str, Cell], globals: Mapping[str, Any]
    ) -> None:
        self.code = code
        self.cells = cells
        self.globals = globals


class Marker:
    """A place on the stack, or a variable, that holds no value."""


NULL = Marker()
UNSET = Marker()
# A set that a comprehension will fill.
NEW_SET = Marker()

Value: TypeAlias = (
    Known
    | Number
    | Text
    | Texts
    | Opaque
    | Method
    | Items
    | Once
    | RowList
    | Vector
    | LoopItems
    | Iterator
    | GatheredItems
    | Cell
    | Function
    | Marker
)


def storable(value: Value) -> Value:
    """A value that a variable may hold: iterators are read, and inner functions are called, on the
    spot only, so that it does not matter what becomes of them."""
    is_loop = isinstance(value, LoopItems) and value.is_once
    if is_loop or isinstance(value, Once | Iterator | GatheredItems | Function | Method):
        raise NotTraced("an iterator, or an inner function, in a variable")
    return value


def is_lazy(value: Value) -> bool:
    """Whether Python will read variables only when it reads, or calls, the value."""
    if isinstance(value, LoopItems):
        return value.is_once
    if isinstance(value, Iterator):
        return value.is_lazy
    return isinstance(value, Once | Function)


def constant_of(value: Any) -> Value:
    """A constant of the code; a tuple as its items."""
    if type(value) is tuple:
        return Items([constant_of(each) for each in value])
    return Known(value)


def is_empty_list(value: Value) -> bool:
    """Whether a value is a list that nothing was added to yet."""
    return isinstance(value, Items) and value.is_list and not value.items


def is_text(value: Value) -> bool:
    """Whether a value is a text, known or not."""
    return isinstance(value, Text) or (isinstance(value, Known) and type(value.value) is str)


def shape_of(row: Any, depth: int = 0) -> Shape:
    """The shape of a row.

    >>> shape_of((1, [2.0], "a"))
    TupleShape(items=('i', ListShape(item='f'), 's'))
    """
    kind = KINDS.get(type(row))
    if kind is not None:
        return kind
    if type(row) is str:
        return "s"
    if depth < DEEPEST_SHAPE and type(row) is tuple and 0 < len(row) <= MOST_LEAVES:
        return TupleShape(tuple(shape_of(each, depth + 1) for each in row))
    if depth < DEEPEST_SHAPE and type(row) is list and row:
        return ListShape(shape_of(row[0], depth + 1))
    if depth:
        return OpaqueShape(type(row).__name__)
    raise NotTraced(f"a row with a value of type {type(row).__name__}")


def leaves_of(value: Value) -> list[Known | Number | Text]:
    """The numbers and texts of a value, from left to right."""
    if isinstance(value, Items):
        return [leaf for each in value.items for leaf in leaves_of(each)]
    if isinstance(value, Number | Text):
        return [value]
    if isinstance(value, Known) and type(value.value) in (*KINDS, str):
        return [value]
    if isinstance(value, Known) and type(value.value) is tuple:
        return [leaf for each in value.value for leaf in leaves_of(Known(each))]
    raise NotTraced(f"a result that is not made of numbers and text{_type_of(value)}")


def layout_of(value: Value, depth: int = 0) -> str:
    """The layout of a value, as the machine reads and writes it: "(i(ff))"."""
    if isinstance(value, Items):
        if value.is_list and depth:
            # Two references to one list would become two lists.
            raise NotTraced("a result with a list inside")
        inner = "".join(layout_of(each, depth + 1) for each in value.items)
        return f"[{inner}]" if value.is_list else f"({inner})"
    if isinstance(value, Number):
        return value.kind
    if is_text(value):
        return "s"
    if isinstance(value, Known) and type(value.value) in KINDS:
        return KINDS[type(value.value)]
    if isinstance(value, Known) and type(value.value) is tuple:
        return f"({''.join(layout_of(Known(each), depth + 1) for each in value.value)})"
    raise NotTraced(f"a result that is not made of numbers and text{_type_of(value)}")


def _type_of(value: Value) -> str:
    return f", but of {value.name}" if isinstance(value, Opaque) else ""


def kinds_of(layout: str) -> str:
    """The kinds of a layout's words.

    >>> kinds_of("(i(fs))")
    'ifs'
    """
    return "".join(each for each in layout if each in WORD_KINDS)


def value_of_layout(layout: str, register: int) -> Value:
    """The value whose numbers and texts lie in the registers from this one on."""
    value, end, _ = _parsed(layout, 0, register)
    assert end == len(layout)
    return value


def _parsed(layout: str, at: int, register: int) -> tuple[Value, int, int]:
    opened = layout[at]
    if opened not in "([":
        if opened == "s":
            return Text(register), at + 1, register + 1
        kinds: dict[str, Kind] = {"i": "i", "f": "f", "b": "b"}
        return Number(kinds[opened], register), at + 1, register + 1
    items: list[Value] = []
    at += 1
    while layout[at] not in ")]":
        value, at, register = _parsed(layout, at, register)
        items.append(value)
    return Items(items, opened == "["), at + 1, register
