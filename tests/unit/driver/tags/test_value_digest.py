"""Digests of values and functions: alike in every process, and different where it matters."""

from __future__ import annotations

import operator
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

from pyrite.driver.tags.library import library_version
from pyrite.driver.tags.valuedigest import Unreadable, ValueDigest


def digest(value: Any) -> bytes:
    return ValueDigest().of(value)


def made(source: str, name: str = "f", **known: Any) -> Any:
    """What a text defines, as a module of the user's own would."""
    space: dict[str, Any] = {"__name__": "__main__", **known}
    exec(compile(source, "program.py", "exec"), space)
    return space[name]


def alike(one: str, other: str, **known: Any) -> bool:
    return digest(made(one, **known)) == digest(made(other, **known))


PLAIN = [
    *(None, True, 1, 1.0, "1", b"1", 1j, ..., NotImplemented, -0.0, 0.0, float("nan"), 10**5000),
    *(
        [],
        (),
        {},
        set(),
        [1],
        (1,),
        {1: 2},
        {2: 1},
        {1},
        {1, 2},
        range(3),
        slice(1, 2),
        bytearray(2),
    ),
    *([[1], 2], [1, [2]], [1, 2], "\ud800", len, str.upper, int, operator.itemgetter(1)),
    *(operator.itemgetter(2), partial(int, base=2), partial(int, base=3), os, sys, [].append),
]


def test_different_values_have_different_digests() -> None:
    found = [digest(each) for each in PLAIN]
    assert len(set(found)) == len(found)


def test_equal_values_have_equal_digests() -> None:
    assert digest([1, "a", {"x": {3, 1, 2}}]) == digest([1, "a", {"x": {2, 3, 1}}])
    shared = [1]
    assert digest([shared, shared]) == digest([[1], [1]])


def test_neither_lines_nor_names_of_files_matter() -> None:
    code = "def f(x):\n    y = x + 1\n    return [y * z for z in range(3)]\n"
    assert alike(code, "\n\n# moved\n\n" + code)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "other/place.py", "exec"), space)
    assert digest(space["f"]) == digest(made(code))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f = lambda x: x + 1", "f = lambda x: x + 2"),
        ("f = lambda x: x + 1", "f = lambda x: x - 1"),
        ("f = lambda x, y=1: x", "f = lambda x, y=2: x"),
        ("f = lambda x, *, y=1: x", "f = lambda x, *, y=2: x"),
        ("f = lambda x: (x, 1)", "f = lambda x: (x, 1.0)"),
        ("f = lambda x: x.upper()", "f = lambda x: x.lower()"),
        ("f = lambda x: {1, 2} & x", "f = lambda x: {1, 3} & x"),
        ("f = lambda x: [lambda: 1]", "f = lambda x: [lambda: 2]"),
        ("k = 1\ndef f(x): return x + k", "k = 2\ndef f(x): return x + k"),
        ("def g(x): return 1\ndef f(x): return g(x)", "def g(x): return 2\ndef f(x): return g(x)"),
        (
            "def h(): return 1\ndef g(): return h()\ndef f(x): return [g() for _ in x]",
            "def h(): return 2\ndef g(): return h()\ndef f(x): return [g() for _ in x]",
        ),
        (
            "class C:\n def m(self): return 1\ndef f(x): return C().m()",
            "class C:\n def m(self): return 2\ndef f(x): return C().m()",
        ),
        (
            "class B:\n a = 1\nclass C(B): pass\ndef f(x): return C.a",
            "class B:\n a = 2\nclass C(B): pass\ndef f(x): return C.a",
        ),
        (
            "def d(g): return lambda x: g(x) + 1\n@d\ndef f(x): return x",
            "def d(g): return lambda x: g(x) + 2\n@d\ndef f(x): return x",
        ),
        (
            "from functools import lru_cache\n@lru_cache\ndef f(x): return 1",
            "from functools import lru_cache\n@lru_cache\ndef f(x): return 2",
        ),
        ("f = sorted", "f = reversed"),
        ("import math\ndef f(x): return math.sin(x)", "import math\ndef f(x): return math.cos(x)"),
        (
            "def f(x):\n try: return x\n except KeyError: pass",
            "def f(x):\n try: return x\n except ValueError: pass",
        ),
        ("def f(x): return f(x - 1) if x else 0", "def f(x): return f(x - 1) if x else 1"),
        (
            "class C:\n m = str.upper\ndef f(x): return C.m(x)",
            "class C:\n m = str.lower\ndef f(x): return C.m(x)",
        ),
        (
            "def g(x): return x\ndef f(x): return g.__name__",
            "def h(x): return x\ng = h\ndef f(x): return g.__name__",
        ),
        (
            "class C:\n x: int\ndef f(x): return C.__annotations__['x'](x)",
            "class C:\n x: float\ndef f(x): return C.__annotations__['x'](x)",
        ),
        (
            "def g(x: int): ...\ndef f(x): return g.__annotations__['x'](x)",
            "def g(x: float): ...\ndef f(x): return g.__annotations__['x'](x)",
        ),
        (
            "k = None\ndef f(x):\n try: return k\n except NameError: return 1",
            "def f(x):\n try: return k\n except NameError: return 1",
        ),
        (
            "from functools import cached_property\n"
            "class C:\n @cached_property\n def a(self): return 1\ndef f(x): return C().a",
            "from functools import cached_property\n"
            "class C:\n @cached_property\n def a(self): return 2\ndef f(x): return C().a",
        ),
        (
            "from struct import Struct\ns = Struct('<i')\ndef f(x): return s.unpack(x)",
            "from struct import Struct\ns = Struct('>i')\ndef f(x): return s.unpack(x)",
        ),
    ],
)
def test_what_a_function_does_matters(one: str, other: str) -> None:
    assert alike(one, one)
    assert not alike(one, other)


@pytest.mark.parametrize(
    "code",
    [
        "k = 1\ndef f(x): return globals()['k']",
        "k = 1\ndef f(x): return eval('k')",
        "import builtins\nk = 1\ndef f(x): return builtins.exec('k')",
        "k = 1\ndef f(x): return f.__globals__['k']",
        "def f(x): return __import__('helpers').k",
        "import importlib\ndef f(x): return importlib.import_module('helpers').k",
        "def f(x):\n import importlib\n return importlib.import_module('helpers').k",
        "from importlib import import_module as find\ndef f(x): return find('helpers').k",
        "def f(x):\n from importlib import import_module as find\n return find('helpers').k",
        "import sys\ndef f(x): return sys.modules['helpers'].k",
        "def f(x):\n import sys\n return sys.modules['helpers'].k",
        "from pyrite import SparkFiles\ndef f(x): return open(SparkFiles.get('names'))",
        "import pyrite\ndef f(x): return open(pyrite.SparkFiles.get('names'))",
        "def f(x):\n from pyrite import SparkFiles\n return open(SparkFiles.get('names'))",
    ],
)
def test_what_code_finds_by_a_text_cant_be_read(code: str) -> None:
    with pytest.raises(Unreadable, match="does not name"):
        digest(made(code))


def test_what_is_named_like_something_else_cant_be_read() -> None:
    code = "import numpy\ndef g(x): return x\nv = numpy.frompyfunc(g, 1, 1)\ndef f(x): return v(x)"
    with pytest.raises(Unreadable, match="vectorized"):
        digest(made(code))


def test_annotations_that_cant_be_read_are_told_by_their_text() -> None:
    code = (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\n"
        "class C(Generic[T]):\n def m(self, x: T) -> T: return x\n"
        "def f(x: T) -> T: return C().m(x)"
    )
    assert alike(code, code)


def test_the_same_function_elsewhere_in_a_cycle_is_another() -> None:
    def tied(is_inner: bool) -> list[Any]:
        first: list[Any] = [1]
        inner: list[Any] = [first]
        first.append(inner)
        whole: list[Any] = [first]
        whole.append(inner if is_inner else [whole])
        return whole

    assert digest(tied(True)) == digest(tied(True)) != digest(tied(False))


def test_lambdas_of_one_place_in_a_library_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyrite.driver.tags.valuedigest.library_version", lambda module: "1.0")
    code = "def make(up): return (lambda x: x + 1) if up else (lambda x: x - 1)\nf = make({})"
    assert alike(code.format(True), code.format(True))
    assert not alike(code.format(True), code.format(False))


def test_the_version_of_a_module_of_the_users_matters() -> None:
    def versioned(version: str) -> ModuleType:
        module = ModuleType("helpers_of_mine")
        module.__version__ = version  # type: ignore[attr-defined]
        return module

    assert digest(versioned("1")) == digest(versioned("1")) != digest(versioned("2"))


def test_captured_values_matter() -> None:
    code = "def outer(a):\n    def f(x): return x + a\n    return f\nf = outer({})"
    assert digest(made(code.format(1))) == digest(made(code.format(1)))
    assert digest(made(code.format(1))) != digest(made(code.format(2)))


def test_globals_that_are_not_read_do_not_matter() -> None:
    assert alike("k = 1\ndef f(x): return x", "k = 2\ndef f(x): return x")
    # An attribute is not a global of its name.
    assert alike("k = 1\ndef f(x): return x.k", "k = 2\ndef f(x): return x.k")


def test_of_a_module_of_the_users_only_what_is_used_matters() -> None:
    def helper(scale: int, other: int) -> ModuleType:
        module = ModuleType("helpers_of_mine")
        exec(f"def scale(x): return x * {scale}\nother = {other}", vars(module))
        return module

    code = "def f(x): return helpers.scale(x)"
    assert digest(made(code, helpers=helper(2, 1))) == digest(made(code, helpers=helper(2, 5)))
    assert digest(made(code, helpers=helper(2, 1))) != digest(made(code, helpers=helper(3, 1)))
    whole = "def f(x): return vars(helpers)"
    assert digest(made(whole, helpers=helper(2, 1))) != digest(made(whole, helpers=helper(2, 5)))


def test_libraries_count_by_version() -> None:
    assert library_version("json") == library_version("json.decoder")
    assert library_version("pytest") == pytest.__version__
    assert library_version("pyrite.rdd.rdd") is not None
    assert library_version(__name__) is None and library_version("__main__") is None


def test_objects_count_by_their_class_and_state() -> None:
    code = (
        "class Point:\n def __init__(s, x): s.x = x\n def far(s): return s.x {0} 1\nf = Point({1})"
    )
    assert digest(made(code.format("+", 1))) == digest(made(code.format("+", 1)))
    assert digest(made(code.format("+", 1))) != digest(made(code.format("-", 1)))
    assert digest(made(code.format("+", 1))) != digest(made(code.format("+", 2)))


def test_something_may_refer_to_itself() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [1]
    other.append(other)
    assert digest(ring) == digest(other) != digest([1, [1]])
    mutual = "def g(x): return f(x)\ndef f(x): return g(x) + {}"
    assert alike(mutual.format(1), mutual.format(1))
    assert not alike(mutual.format(1), mutual.format(2))


def test_dataclasses_named_tuples_and_enums_can_be_read() -> None:
    code = (
        "from dataclasses import dataclass\nfrom enum import Enum\nfrom typing import NamedTuple\n"
        "@dataclass\nclass D:\n    x: int = {0}\n"
        "class N(NamedTuple):\n    y: int = 2\n"
        "class E(Enum):\n    A = 1\n"
        "def f(v): return D(), N(), E.A"
    )
    assert alike(code.format(1), code.format(1))
    assert not alike(code.format(1), code.format(2))


@pytest.mark.parametrize("value", [threading.Lock(), (x for x in ()), memoryview(b"")])
def test_what_cant_be_read_is_said(value: Any) -> None:
    with pytest.raises(Unreadable, match=type(value).__name__):
        digest(value)
    with pytest.raises(Unreadable):
        digest(made("def f(x): return known", known=value))


class Torn:
    """Something that pickle can't take apart: its rows end with an error."""

    def __reduce__(self) -> tuple[Any, ...]:
        def rows() -> Iterator[int]:
            raise ValueError("torn")
            yield 0

        return (list, (), None, rows())


def test_an_error_in_a_captured_value_is_no_missing_value() -> None:
    def over(captured: Any) -> Callable[[Any], Any]:
        return lambda row: (captured, row)

    with pytest.raises(Unreadable, match="torn"):
        digest(over(Torn()))


def test_deep_values_are_refused_not_fatal() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Unreadable, match="deep"):
        digest(deep)
    while deep:
        deep = deep.pop()


PROGRAM = """
import re
from functools import lru_cache
from pyrite.driver.tags.valuedigest import ValueDigest
WORDS = frozenset({"one", "two", "three", "four"})
TABLE = {word: {word, word * 2} for word in sorted(WORDS)}
@lru_cache
def known(word): return word in WORDS or word in {"five", "six", "seven"}
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
class Names(set): pass
TESTS = {even, odd, lambda n: n > 5}
NAMES = Names(["a", "b", "c", ("d", even)])
class Counter:
    kinds = {"a", "b"}
    def count(self, words): return sum(known(word) for word in words
        if word in TABLE or word in NAMES or any(test(len(word)) for test in TESTS))
print(ValueDigest().of(lambda line: Counter().count(re.split("x|y", line))).hex())
"""


def test_hash_seeds_do_not_matter(tmp_path: Path) -> None:
    found = set()
    for seed in ("0", "1", "77", "random"):
        path = tmp_path / f"program{seed}.py"
        path.write_text("#\n" * len(seed) + PROGRAM)
        done = subprocess.run(
            [sys.executable, path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_the_same_wrapper_of_another_function_is_another() -> None:
    wrapped = [lru_cache(made(f"f = lambda x: x + {number}")) for number in (1, 2)]
    assert digest(wrapped[0]) != digest(wrapped[1])


def test_a_wrapper_is_not_what_it_wraps() -> None:
    code = """
import functools, json
@functools.wraps(json.dumps)
def f(x): return x + {}
"""
    assert not alike(code.format(1), code.format(2))


def test_a_module_of_the_user_s_may_be_named_like_one_of_python_s(tmp_path: Path) -> None:
    found = []
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "program.py").write_text(
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "import profile\n"
            "from pyrite.driver.tags.valuedigest import ValueDigest\n"
            "def f(x): return profile.scale(x)\n"
            "print(ValueDigest().of(f).hex())\n"
        )
        (folder / "profile.py").write_text(f"def scale(x): return x * {value}\n")
        line = [sys.executable, str(folder / "program.py"), str(folder)]
        found.append(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    assert found[0] != found[1]


def test_sets_and_frozensets_differ() -> None:
    assert digest({1, 2}) != digest(frozenset((1, 2)))


def test_a_compiled_pattern_can_be_read() -> None:
    assert digest(re.compile("a+")) == digest(re.compile("a+")) != digest(re.compile("b+"))


def test_compiled_functions_of_libraries_count_with_their_version() -> None:
    assert digest(numpy.add) != digest(numpy.subtract)
