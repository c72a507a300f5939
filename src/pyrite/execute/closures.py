"""Pickles functions and values for executors, and names the culprit if they can't be pickled."""

import re
from collections.abc import Iterator
from functools import partial
from pickle import PicklingError
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import cloudpickle

from pyrite.errors import UserError

_MOST_VALUES = 10_000
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_REFUSALS = ("TypeError", "PicklingError", "ReferencedInTask", "BroadcastDestroyed")

_CURES = {
    "_thread.lock": "A lock has no meaning in another process: create it inside the task.",
    "_thread.RLock": "A lock has no meaning in another process: create it inside the task.",
    "generator": "Make it a list first, or create it inside the task.",
    "module": "Import it inside the task.",
    "frame": "Keep its file and line as text instead.",
    "traceback": "Keep its text instead, from traceback.format_exc().",
}
_TOO_DEEP = "Make it flatter, such as a list of its parts, or build it inside the task."
_CURE = (
    "Create it inside the task, once for all rows of a partition with mapPartitions; "
    "or pass plain data that it can be made from, broadcast if it is large."
)


class NotSerializable(UserError, PicklingError):
    """A value can't be sent to an executor; the message names it as the user does.

    `path` leads to it from the user's function, such as ``self.lock`` or ``config['sock']``;
    `variable` is its first name; `functions` are the user's, innermost first, with file and line.
    """

    def __init__(
        self, what: str, path: str, type: str, functions: tuple[str, ...], reason: str, cure: str
    ) -> None:
        self.what = what
        self.path = path
        self.variable = re.split(r"\W", path)[0]
        self.type = type
        self.functions = functions
        self.reason = reason
        self.cure = cure
        culprit = f"{path}, of type {type}," if path else f"an object of type {type}"
        lines = [f"{what} can't be sent to an executor: {culprit} can't be pickled: {reason}"]
        lines += [
            f"  {'used by' if outer else 'in'} {function}"
            for outer, function in enumerate(functions)
        ]
        super().__init__("\n".join([*lines, cure]))

    def __reduce__(self) -> Any:
        parts = (self.what, self.path, self.type, self.functions, self.reason, self.cure)
        return NotSerializable, parts


def dumps(obj: Any, what: str) -> bytes:
    """Pickles an object with all it refers to; `what` describes it in an error.

    >>> import pickle
    >>> factor = 3
    >>> pickle.loads(dumps(lambda x: x * factor, "the function of map"))(2)
    6
    """
    try:
        pickled: bytes = cloudpickle.dumps(obj)
    except Exception as error:
        # The pickler's own frames do not help the user; those of a user's __reduce__ do.
        cause = None if type(error).__name__ in _REFUSALS else error
        raise _explained(obj, what, error) from cause
    return pickled


def large_captures(obj: Any, limit: int) -> list[tuple[str, int]]:
    """Returns the captured values whose pickles exceed the limit, the largest first."""
    sizes: dict[str, int] = {}
    for found in _captured(_entered("", obj, ())):
        try:
            size = len(cloudpickle.dumps(found.value))
        except Exception:
            continue
        if size > limit:
            sizes[found.path] = max(size, sizes.get(found.path, 0))
    return sorted(sizes.items(), key=lambda item: -item[1])


class _Found(NamedTuple):
    """A value on the way to the culprit: its path, and the user's functions that lead to it."""

    path: str
    value: Any
    functions: tuple[str, ...]


def _explained(obj: Any, what: str, error: Exception) -> NotSerializable:
    found, error = _culprit(_entered("", obj, ()), error)
    kind = _type_name(type(found.value))
    reason = str(error).strip()
    if type(error).__name__ not in _REFUSALS:
        reason = f"{type(error).__name__}: {reason}"
    cure = getattr(error, "cure", None)
    if cure:
        # Such errors end with their cure, which gets its own line here.
        reason = reason.removesuffix(cure).strip()
    elif _is_too_deep(error):
        cure = _TOO_DEEP
    else:
        cure = _CURES.get(kind, _CURE)
    return NotSerializable(what, found.path, kind, found.functions, reason, cure)


def _culprit(found: _Found, error: Exception) -> tuple[_Found, Exception]:
    """Descends into the first part that can't be pickled, until all its parts can be."""
    # Holds the values, so that no id is reused during the search.
    seen = {id(found.value): found.value}
    part: _Found | None = found
    while part is not None:
        found = part
        part = None
        if _is_too_deep(error) and type(found.value) in _CONTAINERS:
            break
        for candidate in _parts(found):
            value = candidate.value
            if type(value) in _PLAIN or id(value) in seen or len(seen) > _MOST_VALUES:
                continue
            seen[id(value)] = value
            refusal = _refusal(value)
            if refusal is not None:
                part, error = candidate, refusal
                break
    return found, error


def _is_too_deep(error: Exception) -> bool:
    return isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)


def _refusal(value: Any) -> Exception | None:
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        return error
    return None


def _captured(found: _Found) -> Iterator[_Found]:
    """The values that the user's functions inside an object capture, not their parts."""
    seen: dict[int, Any] = {}
    pending = [found]
    while pending and len(seen) < _MOST_VALUES:
        for part in _parts(pending.pop()):
            if id(part.value) in seen:
                continue
            seen[id(part.value)] = part.value
            if part.functions and not isinstance(part.value, FunctionType | MethodType | partial):
                yield part
            elif type(part.value) not in _PLAIN:
                pending.append(part)


def _parts(found: _Found) -> Iterator[_Found]:
    """The values that are pickled with an object, by the user's names for them."""
    path, obj, functions = found
    for name, value in _named_parts(path, obj):
        yield _entered(name, value, functions)


def _entered(path: str, value: Any, functions: tuple[str, ...]) -> _Found:
    """A found value; inside a function of the user's, paths begin with its own variables."""
    function = value
    while isinstance(function, MethodType | partial):
        function = function.__func__ if isinstance(function, MethodType) else function.func
    if isinstance(function, FunctionType) and not _is_ours(function.__module__):
        code = function.__code__
        place = f"{function.__qualname__}, {code.co_filename}:{code.co_firstlineno}"
        # A method or a partial leads to its function, which would be listed twice.
        if functions[:1] != (place,):
            functions = (place, *functions)
    return _Found(path, value, functions)


def _named_parts(path: str, obj: Any) -> Iterator[tuple[str, Any]]:
    match obj:
        case FunctionType():
            yield from _function_parts(obj)
        case MethodType():
            yield obj.__func__.__name__, obj.__func__
            yield "self", obj.__self__
        case partial():
            yield path, obj.func
            yield from zip(_parameters(obj.func, len(obj.args)), obj.args, strict=True)
            yield from obj.keywords.items()
        case dict():
            for key, value in obj.items():
                yield f"{path}[{_short(key)}]", value
            yield from ((f"{path} (one of its keys)", key) for key in obj)
        case list() | tuple():
            yield from ((f"{path}[{index}]", value) for index, value in enumerate(obj))
        case set() | frozenset():
            yield from ((f"{path} (one of its elements)", value) for value in obj)
        case type():
            for name, value in list(vars(obj).items()):
                if not _is_made_by_python(name):
                    yield f"{obj.__name__}.{name}", value
        case _:
            yield from _object_parts(path, obj)


def _function_parts(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # The variable is not assigned yet.
            continue
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    named = [*zip(reversed(positional), reversed(defaults), strict=False)]
    for name, value in [*reversed(named), *(function.__kwdefaults__ or {}).items()]:
        yield f"{name} (a default argument)", value
    yield from ((f"{function.__name__}.{name}", value) for name, value in vars(function).items())


def _global_names(code: CodeType) -> list[str]:
    import dis

    names = [
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _global_names(constant)
    return list(dict.fromkeys(names))


def _object_parts(path: str, obj: Any) -> Iterator[tuple[str, Any]]:
    """The state that an object pickles; none if it refuses to."""
    try:
        reduced = obj.__reduce_ex__(4)
    except Exception:
        return
    if not isinstance(reduced, tuple):
        return
    _, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, dict):
            yield from ((_attribute(path, obj, name), value) for name, value in part.items())
        else:
            yield path, part
    yield from ((f"{path}[{index}]", value) for index, value in enumerate(items or ()))
    yield from ((f"{path}[{_short(key)}]", value) for key, value in pairs or ())
    yield from ((path, value) for value in arguments or ())
    yield type(obj).__name__, type(obj)


def _attribute(path: str, obj: Any, name: str) -> str:
    # The engine's objects hold the user's functions; their attributes mean nothing to the user.
    if _is_ours(type(obj).__module__):
        return path
    return f"{path or type(obj).__name__}.{name}"


def _is_ours(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] == "pyrite"


def _is_made_by_python(name: str) -> bool:
    return name in ("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__")


def _short(value: Any) -> str:
    text = repr(value) if type(value) in _PLAIN else f"a {_type_name(type(value))}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _parameters(function: Any, number: int) -> list[str]:
    """The names of a function's first parameters, or made-up ones."""
    code = getattr(function, "__code__", None)
    named = code.co_varnames[: code.co_argcount] if code is not None else ()
    return [*named[:number], *(f"argument_{i + 1}" for i in range(len(named), number))]
