"""A hash of keys that every process agrees on, whatever its PYTHONHASHSEED.

Executors run with PYTHONHASHSEED=0, where the builtin hash of text is already stable and fast;
any other process computes the same numbers in Python. The values for None, numbers, text and
tuples equal those of PySpark run with that seed, so partition layouts agree too.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from pyrite.globalnames import class_name, global_name

Hasher = Callable[[Any], int]

NATIVE = (
    not sys.flags.hash_randomization
    and sys.hash_info.algorithm == "siphash13"
    and sys.hash_info.cutoff == 0
)

_MASK = 0xFFFFFFFFFFFFFFFF
_MOST = 0x7FFFFFFFFFFFFFFF
_DAY_US = 86_400_000_000

# Classes made in closures arrive anew with every job; a full table stops growing.
_REMEMBERED_TYPES = 512


class UnstableHash(TypeError):
    """A key whose hash depends on where it happens to lie in memory."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        cure = "key by something else, such as a name or an id"
        if kind.__name__ == "function":
            cure = "import the function from a module, or key by its __name__"
        elif kind.__module__ not in ("builtins", "types", "weakref"):
            cure = (
                f"define __eq__ and __hash__ on {kind.__name__} "
                f"(a frozen dataclass has both), or {cure}"
            )
        super().__init__(
            f"a key of type {class_name(kind)} is hashed by its identity, "
            f"which differs between processes: {cure}"
        )


class HashUnknownHere(TypeError):
    """A key with a __hash__ of its own, whose value only an executor can tell."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        super().__init__(
            f"the hash that executors give to a key of type {class_name(kind)} can't be computed "
            "in this process, because Python randomises hashes here: "
            "ask an executor, or start Python with PYTHONHASHSEED=0"
        )


def portable_hash(key: Any) -> int:
    """The hash of a key, equal for equal keys in every process.

    >>> portable_hash(None), portable_hash(1.0), portable_hash("key")
    (0, 1, -2350400668935514176)
    >>> portable_hash((None, 1)) & 0xFFFFFFFF
    219750521
    """
    return HASHERS[type(key)](key)


class _Hashers(dict[type, Hasher]):
    """The hasher of each type; hot loops index it directly to save a call."""

    def __missing__(self, kind: type) -> Hasher:
        hasher = _resolve(kind)
        if len(self) < _REMEMBERED_TYPES:
            self[kind] = hasher
        return hasher


def _resolve(kind: type) -> Hasher:
    owner = next(base for base in kind.__mro__ if "__hash__" in vars(base))
    slot = vars(owner)["__hash__"]
    if slot is None:
        return _refuse_unhashable
    # `__hash__ = tuple.__hash__` in a class body means the tuple's hash.
    owner = getattr(slot, "__objclass__", owner)
    known = _BY_OWNER.get(class_name(owner))
    if known is not None:
        return known
    if any(class_name(base) == "numpy.generic" for base in kind.__mro__):
        return _hash_numpy
    if owner.__module__.partition(".")[0] == "pathlib":
        return _hash_path
    fields = _hashed_fields(owner, slot)
    if fields is not None:
        return _dataclass_hasher(fields)
    return hash if NATIVE else _refuse_unknown


def _hashed_fields(owner: type, slot: Any) -> tuple[str, ...] | None:
    """The fields that a __hash__ written by @dataclass covers; None for any other __hash__."""
    code = getattr(slot, "__code__", None)
    if code is None or "__dataclass_fields__" not in vars(owner):
        return None
    from dataclasses import fields

    names = tuple(
        field.name
        for field in fields(owner)
        if (field.compare if field.hash is None else field.hash)
    )
    # Nothing marks a generated method; its file name and the names it reads give it away.
    if code.co_filename == "<string>" and code.co_names == ("hash", *names):
        return names
    return None


def _dataclass_hasher(names: tuple[str, ...]) -> Hasher:
    def hash_dataclass(key: Any) -> int:
        return _hash_tuple([getattr(key, name) for name in names])

    return hash_dataclass


def _refuse_unhashable(key: Any) -> int:
    cure = {
        "list": "use a tuple",
        "bytearray": "use bytes",
        "set": "use a frozenset",
        "dict": "use a tuple of its items, such as tuple(sorted(d.items()))",
        "ndarray": "use a tuple, such as tuple(a.tolist()), or its bytes",
    }.get(type(key).__name__, "use a tuple of its parts, or define __hash__ beside __eq__")
    raise TypeError(
        f"a key of type {class_name(type(key))} is unhashable, "
        f"so it can't be assigned to a partition: {cure}"
    )


def _hash_global(key: Any) -> int:
    """The hash of something that is compared by identity: there must be one in each process."""
    name = global_name(key)
    if name is None:
        raise UnstableHash(type(key))
    return _hash_str(name)


def _hash_generic(key: Any) -> int:
    return _hash_tuple((key.__origin__, *key.__args__))


def _hash_alternatives(key: Any) -> int:
    return _hash_frozenset(frozenset(key.__args__))


def _hash_annotated(key: Any) -> int:
    return _hash_tuple((key.__origin__, *key.__metadata__))


def _refuse_unknown(key: Any) -> int:
    raise HashUnknownHere(type(key))


def _hash_none(_: None) -> int:
    return 0


def _hash_float(key: float | complex) -> int:
    # Python hashes each NaN by its identity; all of them belong in one partition.
    return hash(key) if key == key else 0


def _hash_decimal(key: Any) -> int:
    return 0 if key.is_nan() else hash(key)


def _hash_tuple(key: Iterable[Any]) -> int:
    value = 0x345678
    length = 0
    for item in key:
        value = ((value ^ HASHERS[type(item)](item)) * 1000003) & _MOST
        length += 1
    return value ^ length


def _hash_frozenset(key: frozenset[Any]) -> int:
    # A sum does not depend on the order; mixing first keeps {1, 4} and {2, 3} apart.
    total = len(key)
    for item in key:
        value = HASHERS[type(item)](item) & _MASK
        value = ((value ^ (value >> 31)) * 0x9E3779B97F4A7C15) & _MASK
        total += value ^ (value >> 29)
    return total & _MOST


def _hash_range(key: range) -> int:
    length = len(key)
    if length < 2:
        return _hash_tuple((length, key.start if length else None, None))
    return _hash_tuple((length, key.start, key.step))


def _hash_enum(key: Any) -> int:
    return _hash_str(f"{type(key).__qualname__}.{key.name}")


def _hash_flag(key: Any) -> int:
    return _hash_tuple((type(key).__qualname__, key.value))


def _hash_uuid(key: Any) -> int:
    return hash(key.int)


def _hash_path(key: Any) -> int:
    text = key.as_posix()
    # Paths of Windows are equal whatever their case.
    windows = any(base.__name__ == "PureWindowsPath" for base in type(key).__mro__)
    return _hash_str(text.lower() if windows else text)


def _hash_date(key: Any) -> int:
    # As midnight, since numpy holds a date and the midnight it begins with to be equal.
    return _hash_tuple((key.toordinal() - 1, 0))


def _hash_datetime(key: Any) -> int:
    # Equality within one zone ignores fold, so the hash must.
    offset = key.replace(fold=0).utcoffset()
    day_us = _time_of_day_us(key)
    if offset is not None:
        day_us -= _timedelta_us(offset)
    days, day_us = divmod(day_us, _DAY_US)
    return _hash_tuple((key.toordinal() - 1 + days, day_us))


def _hash_time(key: Any) -> int:
    offset = key.replace(fold=0).utcoffset()
    return _hash_tuple((_time_of_day_us(key) - (_timedelta_us(offset) if offset else 0),))


def _hash_timedelta(key: Any) -> int:
    return _hash_tuple((key.days, key.seconds * 1_000_000 + key.microseconds))


def _hash_timezone(key: Any) -> int:
    return _hash_timedelta(key.utcoffset(None))


def _time_of_day_us(key: Any) -> int:
    seconds: int = (key.hour * 60 + key.minute) * 60 + key.second
    return seconds * 1_000_000 + int(key.microsecond)


def _timedelta_us(key: Any) -> int:
    return int(key.days) * _DAY_US + int(key.seconds) * 1_000_000 + int(key.microseconds)


def _hash_numpy(key: Any) -> int:
    """Numpy scalars as the Python values they equal, without importing numpy."""
    kind, name = key.dtype.kind, str(key.dtype)
    # One unit for all, so that equal moments and durations of different units meet.
    if kind == "M":
        key = key.astype("datetime64[us]")
    elif kind == "m" and name != "timedelta64":
        key = key.astype("timedelta64[M]" if name.endswith(("Y]", "M]")) else "timedelta64[us]")
    value = key.item()
    if type(value) is type(key):
        # Python has no long double: the nearest double is equal whenever a double can be.
        value = complex(key) if kind == "c" else float(key)
    return portable_hash(value)


def _hash_memoryview(key: memoryview) -> int:
    hash(key)  # refuses writable memory
    return _hash_bytes(key.tobytes())


def _siphash13(data: bytes) -> int:
    """SipHash-1-3 with a zero key, as CPython hashes a buffer under PYTHONHASHSEED=0."""
    if not data:
        return 0
    v0, v1, v2, v3 = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
    tail = len(data) & 7
    whole = len(data) - tail
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56)
    # Three rounds over zero words finish; xoring zero changes nothing.
    words += (0, 0, 0)
    last = len(words) - 4
    for index, word in enumerate(words):
        v3 ^= word
        v0 = (v0 + v1) & _MASK
        v2 = (v2 + v3) & _MASK
        v1 = ((v1 << 13) & _MASK | v1 >> 51) ^ v0
        v3 = ((v3 << 16) & _MASK | v3 >> 48) ^ v2
        v0 = (v0 << 32) & _MASK | v0 >> 32
        v2 = (v2 + v1) & _MASK
        v0 = (v0 + v3) & _MASK
        v1 = ((v1 << 17) & _MASK | v1 >> 47) ^ v2
        v3 = ((v3 << 21) & _MASK | v3 >> 43) ^ v0
        v2 = (v2 << 32) & _MASK | v2 >> 32
        v0 ^= word
        if index == last:
            v2 ^= 0xFF
    value = v0 ^ v1 ^ v2 ^ v3
    value -= (value >> 63) << 64
    return -2 if value == -1 else value


def _siphash_str(key: str) -> int:
    """The hash of the buffer in which CPython keeps a text: 1, 2 or 4 bytes a character."""
    widest = max(key, default="")
    if widest <= "\xff":
        return _siphash13(key.encode("latin-1"))
    if widest <= "\uffff":
        return _siphash13(key.encode("utf-16-le", "surrogatepass"))
    return _siphash13(key.encode("utf-32-le", "surrogatepass"))


_hash_str: Hasher = hash if NATIVE else _siphash_str
_hash_bytes: Hasher = hash if NATIVE else _siphash13

# Keyed by the class that defines __hash__, by name: subclasses that inherit it follow, and
# the modules of the rarer types need no import.
_BY_OWNER: dict[str, Hasher] = {
    "builtins.NoneType": _hash_none,
    "builtins.int": hash,
    "builtins.float": _hash_float,
    "builtins.complex": _hash_float,
    "builtins.str": _hash_str,
    "builtins.bytes": _hash_bytes,
    "builtins.memoryview": _hash_memoryview,
    "builtins.tuple": _hash_tuple,
    "builtins.frozenset": _hash_frozenset,
    "builtins.range": _hash_range,
    "decimal.Decimal": _hash_decimal,
    "fractions.Fraction": hash,
    "datetime.date": _hash_date,
    "datetime.datetime": _hash_datetime,
    "datetime.time": _hash_time,
    "datetime.timedelta": _hash_timedelta,
    "datetime.timezone": _hash_timezone,
    "enum.Enum": _hash_enum,
    "enum.Flag": _hash_flag,
    "uuid.UUID": _hash_uuid,
    "builtins.object": _hash_global,
    "builtins.type": _hash_global,
    "builtins.method": _hash_global,
    "builtins.builtin_function_or_method": _hash_global,
    "builtins.method-wrapper": _hash_global,
    "builtins.weakref": _hash_global,
    "weakref.ReferenceType": _hash_global,
    "types.GenericAlias": _hash_generic,
    "types.UnionType": _hash_alternatives,
    "typing._GenericAlias": _hash_generic,
    "typing._UnionGenericAlias": _hash_alternatives,
    "typing.Union": _hash_alternatives,
    "typing._LiteralGenericAlias": _hash_alternatives,
    "typing._AnnotatedAlias": _hash_annotated,
}

HASHERS = _Hashers()
HASHERS[type(None)] = _hash_none
