"""Digests of values and functions that are the same in every process.

Functions of the user's own count by their code, what they captured, the globals that they read and
the functions that they call. Libraries count by their version. Neither line numbers nor hash seeds
matter. What can't be read raises Unreadable.
"""

from __future__ import annotations

import builtins
import copyreg
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import cached_property
from hashlib import blake2b
from importlib.util import resolve_name
from struct import Struct
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from pyrite.accumulators import Accumulator
from pyrite.broadcast import Broadcast
from pyrite.driver.tags.codedigest import Import, facts_of, names_of
from pyrite.driver.tags.library import library_version
from pyrite.driver.tags.unseen import unseen_name, unseen_value

SIZE = 16
# What a class has besides what its author wrote, or what is looked at apart.
UNWRITTEN = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__"),
    *("__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl"),
    *("__orig_bases__", "__parameters__", "__slotnames__", "__annotations_cache__"),
}
# What a module has from its import.
IMPORTED = {
    *("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__cached__"),
    *("__path__", "__builtins__", "__annotations__"),
}
COMPILED = (
    *(MethodDescriptorType, WrapperDescriptorType),
    *(ClassMethodDescriptorType, GetSetDescriptorType),
)
DESCRIPTORS = (*COMPILED, MemberDescriptorType)
MISSING = object()


class Unreadable(Exception):
    """Something that a fingerprint can't cover."""


class ValueDigest:
    """Digests values; each object once."""

    def __init__(self, read: Callable[[Broadcast[Any]], Any] | None = None) -> None:
        # Gives the value of a broadcast as tasks see it.
        self._read = read or (lambda known: known.value)
        self._done: MutableMapping[int, bytes] = {}
        # Objects being digested, which may refer to themselves: numbered as they are met. How deep
        # they lie would not do, since a digest is also used in other depths.
        self._numbers: dict[int, int] = {}
        self._count = 0
        # Ids are only good while their objects live.
        self._alive: list[object] = []

    def of(self, value: Any) -> bytes:
        """The digest of a value; raises Unreadable."""
        plain = _plain(value)
        if plain is not None:
            return plain
        id_ = id(value)
        if id_ in self._done:
            return self._done[id_]
        if id_ in self._numbers:
            return _digest("again", [str(self._numbers[id_]).encode()])
        self._numbers[id_] = self._count
        self._count += 1
        try:
            found = self._digest(value)
        except RecursionError:
            raise Unreadable(f"a {type(value).__name__} that is nested too deep") from None
        finally:
            del self._numbers[id_]
        self._done[id_] = found
        self._alive.append(value)
        return found

    def _digest(self, value: Any) -> bytes:
        if (name := unseen_value(value)) is not None:
            raise Unreadable(f"{name}, which finds what the code does not name")
        match value:
            case FunctionType():
                return self._function(value)
            case CodeType():
                return _digest("code", map(self.of, facts_of(value)))
            case type():
                return self._class(value)
            case ModuleType():
                return self._module(value)
            case MethodType():
                return _digest("method", [self.of(value.__func__), self.of(value.__self__)])
            case property():
                return self._all("property", (value.fget, value.fset, value.fdel))
            case staticmethod() | classmethod():
                return self._all(type(value).__name__, (value.__func__,))
            case cached_property():
                return self._all("cached property", (value.func,))
            case Struct():
                return self._all("struct", (value.format,))
            case BuiltinFunctionType():
                return self._builtin(value)
            case Broadcast():
                return self._all("broadcast", (self._read(value),))
            case Accumulator():
                raise Unreadable("an accumulator, which reuse would not update")
        kind = type(value)
        if kind in (list, tuple):
            return self._all(kind.__name__, value)
        if isinstance(value, set | frozenset):
            return self._set(value)
        if kind in (dict, MappingProxyType):
            return _digest("dict", self._pairs(value))
        if kind in DESCRIPTORS:
            return _digest("descriptor", [self._name(value.__objclass__), _text(value.__name__)])
        return self._reduced(value)

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return _digest(kind, map(self.of, values))

    def _pairs(self, values: Mapping[Any, Any]) -> Iterable[bytes]:
        return (each for key, value in values.items() for each in (self.of(key), self.of(value)))

    def _set(self, values: set[Any] | frozenset[Any]) -> bytes:
        kind = type(values)
        if kind in (set, frozenset):
            return _digest(kind.__name__, sorted(map(self._member, values)))
        state = self.of(getattr(values, "__dict__", None))
        return _digest("set", [self.of(kind), state, *sorted(map(self._member, values))])

    def _member(self, value: Any) -> bytes:
        """The digest of a set's member, whichever others were met before it."""
        plain = _plain(value)
        if plain is not None:
            return plain
        done, count = self._done, self._count
        self._done = ChainMap({}, done)
        try:
            return self.of(value)
        finally:
            self._done, self._count = done, count

    # Code

    def _function(self, function: FunctionType) -> bytes:
        cells = function.__closure__ or ()
        captured = [self._captured(cell) for cell in cells]
        captured.append(self.of(function.__defaults__))
        captured.append(self.of(function.__kwdefaults__))
        # Not its __module__, which functools.wraps copies from another function.
        version = library_version(function.__globals__.get("__name__") or "__main__")
        if version is not None:
            # Lambdas of one place have one name.
            code = self.of(function.__code__)
            return _digest("library", [self._name(function), _text(version), code, *captured])
        if (name := unseen_name(function.__code__)) is not None:
            raise Unreadable(f"{name}, which finds what the code does not name")
        return _digest(
            "function",
            [
                _text(function.__name__),
                self.of(function.__code__),
                self._annotations(getattr(function, "__annotations__", None)),
                self.of({k: v for k, v in vars(function).items() if k != "__wrapped__"}),
                self.of(vars(function).get("__wrapped__")),
                *captured,
                *self._globals(function),
            ],
        )

    def _captured(self, cell: CellType) -> bytes:
        try:
            content = cell.cell_contents
        except ValueError:
            # A variable that has no value yet.
            return _NOTHING
        return self.of(content)

    def _globals(self, function: FunctionType) -> list[bytes]:
        """What the function reads by name, as it is now."""
        known = function.__globals__
        names = names_of(function.__code__)
        found = []
        for name, *attributes in names.chains:
            value = known.get(name, getattr(builtins, name, MISSING))
            found += [_text(name), self._chain(value, attributes)]
        for each in names.imports:
            found += self._imported(each, known.get("__package__") or "")
        return found

    def _chain(self, value: Any, attributes: list[str]) -> bytes:
        """The digest of a global, or of what is read of it: of a module only that counts."""
        while isinstance(value, ModuleType) and attributes:
            inner = getattr(value, attributes[0], MISSING)
            if _is_library(value):
                # Its version says all of it, but not what some of it may find.
                if unseen_value(inner) is not None:
                    value = inner
                break
            value, attributes = inner, attributes[1:]
        return _NOTHING if value is MISSING else self.of(value)

    def _annotations(self, values: Mapping[str, Any] | None) -> bytes:
        """What is written of types: it may be looked at, and seldom is."""
        return _digest("annotations", map(self._annotation, (values or {}).items()))

    def _annotation(self, item: tuple[str, Any]) -> bytes:
        name, value = item
        try:
            return _digest(name, [self.of(value)])
        except Unreadable:
            return _digest(name, [_text(repr(value))])

    def _imported(self, each: Import, package: str) -> list[bytes]:
        """The modules that an import statement reads."""
        try:
            name = resolve_name("." * each.level + each.name, package)
        except ImportError:
            raise Unreadable(f"module {each.name}, which a function imports") from None
        version = library_version(name)
        if version is not None:
            for taken in each.taken:
                self._chain(sys.modules.get(name), [taken])
            return [_text(f"{name} {version}")]
        # `import a.b` makes all of `a` known.
        wanted = {name: None, (name if each.taken else name.partition(".")[0]): None}
        for taken in each.taken:
            if not hasattr(sys.modules.get(name), taken) and taken != "*":
                wanted[f"{name}.{taken}"] = None
        if not wanted.keys() <= sys.modules.keys():
            raise Unreadable(f"module {name}, which a function imports")
        return [self.of(sys.modules[module]) for module in wanted]

    def _class(self, kind: type) -> bytes:
        version = library_version(kind.__module__)
        if version is not None:
            return _digest("library", [self._name(kind), _text(version)])
        written = {}
        for name, value in sorted(vars(kind).items()):
            is_own = getattr(value, "__objclass__", None) is kind
            if name in UNWRITTEN or (is_own and isinstance(value, MemberDescriptorType)):
                continue
            if is_own and isinstance(value, COMPILED):
                raise Unreadable(f"{kind.__qualname__}, which is compiled, of no known version")
            written[name] = value
        # Names count: a class may use its own.
        parts = [_text(kind.__name__), self.of(type(kind)), *map(self.of, kind.__bases__)]
        parts.append(self._annotations(vars(kind).get("__annotations__")))
        return _digest("class", [*parts, self.of(written)])

    def _module(self, module: ModuleType) -> bytes:
        version = library_version(module.__name__)
        if version is not None:
            return _digest("module", [_text(module.__name__), _text(version)])
        names = [name for name in sorted(vars(module)) if name not in IMPORTED]
        return _digest("own module", self._pairs({name: vars(module)[name] for name in names}))

    def _builtin(self, function: Any) -> bytes:
        owner = function.__self__
        if owner is None or isinstance(owner, ModuleType):
            version = library_version(function.__module__ or "builtins")
            if version is None:
                raise Unreadable(f"{function.__qualname__}, which is compiled, of no known version")
            return _digest("builtin", [self._name(function), _text(version)])
        return _digest("builtin method", [self._name(function), self.of(owner)])

    @staticmethod
    def _name(value: Any) -> bytes:
        return _text(f"{value.__module__}.{value.__qualname__}")

    # Other objects

    def _reduced(self, value: Any) -> bytes:
        """As pickle takes it apart."""
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
            if not isinstance(parts, str):
                # What makes it, its arguments and state, and iterators of rows and pairs.
                more = (None if each is None else list(each) for each in parts[3:5])
                parts = [*parts[:3], *more]
        except Exception as error:
            raise Unreadable(f"a {type(value).__name__}: {error}") from None
        if isinstance(parts, str):
            return self._named(value, parts)
        content = [*parts, None, None, None][:5]
        return _digest("object", [self.of(type(value)), *map(self.of, content)])

    def _named(self, value: Any, name: str) -> bytes:
        """The digest of what pickle finds by its name in a module."""
        wrapped = getattr(value, "__wrapped__", None)
        module = pickle.whichmodule(value, name)  # type: ignore[attr-defined]
        version = library_version(module)
        # Something else may have that name: numpy's frompyfunc gives what it makes any.
        is_there = getattr(sys.modules.get(module), name, None) is value
        if wrapped is None and (version is None or not is_there):
            raise Unreadable(f"{module}.{name}, which is named and can't be read")
        named = _text(f"{module}.{name} {version}")
        return _digest("global", [self.of(type(value)), named, self.of(wrapped)])


def _plain(value: Any) -> bytes | None:
    """The digest of a value without parts."""
    write = _PLAIN.get(type(value))
    return None if write is None else _digest(type(value).__name__, [write(value)])


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"",
    type(Ellipsis): lambda _: b"",
    type(NotImplemented): lambda _: b"",
    bool: lambda value: b"1" if value else b"0",
    int: lambda value: str(value).encode() if abs(value) < 1 << 64 else hex(value).encode(),
    float: lambda value: value.hex().encode(),
    complex: lambda value: repr(value).encode(),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: bytes,
    bytearray: bytes,
}


def _digest(kind: str, parts: Iterable[bytes]) -> bytes:
    made = blake2b(kind.encode() + b";", digest_size=SIZE)
    for part in parts:
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.digest()


# The digest of what has no value.
_NOTHING = _digest("nothing", [])


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_library(module: ModuleType) -> bool:
    return library_version(module.__name__) is not None
