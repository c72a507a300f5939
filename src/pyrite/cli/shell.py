"""The prompt of `pyrite shell`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

from pyrite import alias
from pyrite.cli.run import fresh_main
from pyrite.ui.extra import missing_packages
from pyrite.version import __version__

HISTORY = "~/.pyrite_history"


def open_shell(plain: bool) -> int:
    """Opens a prompt with a context, until the user ends it; gives the exit code."""
    alias.install()
    if not sys.flags.safe_path:
        # As at Python's own prompt, modules are found where the user is.
        sys.path[0] = ""
    sys.argv = [""]
    names = fresh_main().__dict__
    from pyrite.conf import SparkConf
    from pyrite.sql import SparkSession

    conf = SparkConf().setIfMissing("spark.app.name", "pyrite shell")
    if not missing_packages():
        conf.setIfMissing("spark.ui.enabled", "true")
    with SparkSession.builder.config(conf=conf).getOrCreate() as spark:
        names.update(sc=spark.sparkContext, spark=spark)
        print(banner(spark))
        if plain or importlib.util.find_spec("IPython") is None:
            return plain_prompt(names)
        return ipython_prompt(names)


def banner(spark: Any) -> str:
    context = spark.sparkContext
    executors = context._executors
    counted = f"{executors} executor{'' if executors == 1 else 's'}"
    page = f"\npage: {context.uiWebUrl}" if context.uiWebUrl else ""
    return (
        f"Pyrite {__version__} on Python {platform.python_version()}\n"
        f"sc: the context, {context.master} with {counted}; spark: its session; "
        f"Ctrl-C cancels a job, Ctrl-D ends{page}"
    )


def ipython_prompt(names: dict[str, Any]) -> int:
    from IPython.terminal.ipapp import TerminalIPythonApp

    from pyrite.driver.start.excepthook import hide_in_ipython

    app: Any = TerminalIPythonApp.instance(user_ns=names)
    app.initialize(["--no-banner"])
    hide_in_ipython(app.shell)
    app.start()
    return 0


def plain_prompt(names: dict[str, Any]) -> int:
    import code

    with line_editing(names):
        try:
            code.InteractiveConsole(names, filename="<console>").interact(banner="", exitmsg="")
        except SystemExit as end:
            return exit_code(end)
    return 0


def exit_code(end: SystemExit) -> int:
    """What `python` would make of it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


@contextlib.contextmanager
def line_editing(names: dict[str, Any]) -> Iterator[None]:
    """Completion and a history, on a terminal of a Python that has readline."""
    if not sys.stdin.isatty() or importlib.util.find_spec("readline") is None:
        yield
        return
    import readline
    import rlcompleter

    history = os.path.expanduser(HISTORY)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    readline.set_completer(rlcompleter.Completer(names).complete)
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(10_000)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(history)
