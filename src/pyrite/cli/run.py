"""Running a program as spark-submit would, with pyspark being Pyrite."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType

from pyrite import alias
from pyrite.conf import SparkConf


def run_script(path: str, arguments: Sequence[str]) -> int:
    """Runs a program to its end; what it raises goes on to Python, which knows the exit codes.

    Like spark-submit, it gives Python the whole path, and that of the file behind a link.
    """
    whole = os.path.realpath(path.removeprefix("file://").removeprefix("file:"))
    try:
        with open(whole, "rb") as file:
            source = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"pyrite run: can't open file {whole!r}: {reason}", file=sys.stderr)
        return 2
    start_with_stable_hashes()
    alias.install()
    sys.argv = [whole, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(whole)
    module = fresh_main(whole)
    try:
        exec(compile(source, whole, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        hide_our_frames(error)
        raise
    return 0


def start_with_stable_hashes() -> None:
    """Starts Python anew for the simulator: tasks run in this process there, and a key must have
    the same hash in every run, as it has in executors."""
    master = SparkConf().get("spark.master") or ""
    if master.startswith("sim") and sys.flags.hash_randomization:
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def fresh_main(path: str | None = None) -> ModuleType:
    """A new module `__main__`, whose functions and classes travel to tasks by value."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __annotations__={})
    if path is not None:
        module.__dict__.update(
            __file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path)
        )
    sys.modules["__main__"] = module
    return module


def hide_our_frames(error: BaseException) -> None:
    """Lets an exception that leaves the program be shown without the frames that ran it."""
    ours = error.__traceback__
    theirs = None if ours is None else ours.tb_next
    shown_by = sys.excepthook

    def show(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if value is error:
            value.__traceback__ = trace = theirs
        shown_by(kind, value, trace)

    sys.excepthook = show
