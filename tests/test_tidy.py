"""The shape of the project: layers, purity, sizes, words, and a README that tells the truth."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pyrite import RDD, SparkContext
from pyrite.settings import BY_NAME, TABLE

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pyrite"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 450

# Decisions: told the time, with no clock, die, process, socket or file of their own.
PURE = [
    *("schedule", "plan", "place", "ring", "ids.py", "memory.py"),
    *("blocks/pool.py", "blocks/ledger.py", "blocks/placement.py", "blocks/evict.py"),
    "blocks/names.py",
    *("exchange/book.py", "exchange/outputs.py"),
    *(f"rent/{name}.py" for name in ("allocate", "billing", "completion", "hires", "loops")),
]
PURE_IMPORTS = {
    "__future__",
    "array",
    "bisect",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    # Computes flows in graphs, from arguments alone.
    "networkx",
    "operator",
    "random",
    "statistics",
    "sys",
    "typing",
}
# A segment's writer and medium are fields: nobody takes its name, or that of a writer, apart.
NAME_TAKEN_APART = re.compile(
    r"""["'][md]-"""
    r"|\b(ref\.|new_)?segment(\.name)?(\.(startswith|removeprefix|r?partition|r?split)\(|\[)"
    r"|\bwriter\w*(\.(startswith|removeprefix)\(|\[[0-9]*:)"
)
IMPURE_BUILTINS = {"open", "print", "input", "exec", "eval", "__import__"}


def short(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def pure_modules() -> list[Path]:
    return [path for path in MODULES if any(path.is_relative_to(SOURCE / part) for part in PURE)]


def impurities(module: ast.Module) -> Iterator[str]:
    """What a module uses that makes it depend on more than its arguments."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.name.split(".")[0] not in {"pyrite", *PURE_IMPORTS} or (
                        each.name == "random"
                    ):
                        yield f"import {each.name}"
            case ast.ImportFrom(module=str(origin), names=names):
                if origin.split(".")[0] not in {"pyrite", *PURE_IMPORTS}:
                    yield f"from {origin} import"
                if origin == "random" and [each.name for each in names] != ["Random"]:
                    yield "from random import more than Random"
            case ast.Call(func=ast.Name(id="Random"), args=[], keywords=[]):
                yield "Random() without a seed"
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
                yield f"{name}()"
            case ast.Attribute(value=ast.Name(id="sys"), attr=attr) if attr != "maxsize":
                yield f"sys.{attr}"


def test_imports_point_down() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", PURE)
def test_decisions_are_pure(part: str) -> None:
    found = [path for path in pure_modules() if path.is_relative_to(SOURCE / part)]
    assert found, f"{part} has moved: correct the list of pure parts"
    blamed = {short(path): list(impurities(tree(path))) for path in found}
    assert {name: uses for name, uses in blamed.items() if uses} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "import os.path",
        "from threading import Lock",
        "import random",
        "from random import shuffle",
        "from datetime import datetime",
        "from random import Random\ndie = Random()",
        "def f():\n    import socket",
        "open('file')",
        "import sys\nsys.stdin",
    ],
)
def test_impurities_are_found(text: str) -> None:
    assert list(impurities(ast.parse(text)))


def test_files_are_short() -> None:
    lines = {short(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_nobody_takes_the_name_of_a_segment_apart() -> None:
    found = [
        f"{short(path)}: {line.strip()}"
        for path in MODULES
        for line in path.read_text().splitlines()
        if NAME_TAKEN_APART.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "if ref.segment.startswith(MEMORY_PREFIX):",
        'name = f"m-{writer}-{number}"',
        "ExecutorId(int(writer[1:]))",
        'if segment.name.startswith("fetched-"):',
        '_, _, name = segment.partition("-")',
    ],
)
def test_names_that_are_taken_apart_are_found(line: str) -> None:
    assert NAME_TAKEN_APART.search(line)


def test_every_module_says_what_it_is() -> None:
    assert [short(path) for path in MODULES if not ast.get_docstring(tree(path))] == []


@pytest.mark.parametrize("face", [RDD, SparkContext])
def test_every_public_method_says_what_it_is(face: type) -> None:
    public = [name for name in dir(face) if not name.startswith("_")]
    assert [name for name in public if not inspect.getdoc(getattr(face, name))] == []


def test_a_class_name_is_used_once() -> None:
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_only_commands_print() -> None:
    def prints(path: Path) -> bool:
        calls = (node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call))
        return any(isinstance(each, ast.Name) and each.id == "print" for each in calls)

    printing = [short(path) for path in MODULES if prints(path)]
    # sc.show_profiles and df.show are asked to print.
    commands = "cli/", "forecast/command", "rent/command", "profiler.py", "sql/dataframe"
    commands += "dht/command", "dht/fscommand"
    commands += "replay/command", "replay/debugger", "replay/inquiries", "replay/prompt"
    assert [name for name in printing if not name.startswith(commands)] == []


def texts(module: ast.Module) -> Iterator[str]:
    """The strings of a module, with its constants filled into its f-strings."""
    constants = {
        node.targets[0].id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case ast.JoinedStr(values=parts):
                yield "".join(
                    str(part.value)
                    if isinstance(part, ast.Constant)
                    else str(constants.get(ast.unparse(part.value), "?"))
                    for part in parts
                    if isinstance(part, (ast.Constant, ast.FormattedValue))
                )


def test_every_setting_is_read_or_said_to_be_kept_only() -> None:
    used = {text for path in MODULES if path.name != "settings.py" for text in texts(tree(path))}
    used |= {BY_NAME[name].inherits for name in used & BY_NAME.keys()}
    kept = {setting.name for setting in TABLE if setting.meaning.startswith("Kept for PySpark's")}
    assert sorted(BY_NAME.keys() - used - kept) == [], "nobody reads these"
    # SparkConf.setSparkHome writes it.
    assert kept & used <= {"spark.home"}, "these are read, though they say that they are not"


def readme_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


def test_the_program_in_the_readme_runs(tmp_path: Path) -> None:
    [program] = readme_blocks("python")
    assert len(program.splitlines()) <= 12
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    [shown] = readme_blocks("text")
    assert done.stdout == shown


def test_the_files_that_the_readme_names_exist() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text())
    commands = re.findall(r"\b((?:scripts|examples)/[\w./]*\w)", (ROOT / "README.md").read_text())
    assert links and commands
    assert [name for name in [*links, *commands] if not (ROOT / name).exists()] == []
