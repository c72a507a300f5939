"""The options of spark-submit, and how they become an application's defaults."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable
from typing import NoReturn

from pyrite.conf import PROPERTIES_FILE, SparkConf
from pyrite.errors import UserError
from pyrite.settings import Settings
from pyrite.submitoptions import (
    CLASS,
    CONF,
    FLAGS,
    IGNORED,
    OF_JVM,
    OPTIONS,
    PROPERTIES,
    REFUSED,
    BadOption,
    check_value,
    pair_of,
)


def add_application_options(parser: argparse.ArgumentParser) -> None:
    """Adds what can be said about an application, by the names of spark-submit."""
    unused = ", ".join(each.name for each in OPTIONS if each.meaning == IGNORED)
    also = f"the options of spark-submit; accepted and not used: {unused}, --supervise"
    about = textwrap.fill(also, 92, break_on_hyphens=False)
    add = parser.add_argument_group("application", about).add_argument
    for option in OPTIONS:
        shown = argparse.SUPPRESS if option.meaning == IGNORED else option.meaning
        add(option.name, metavar=option.metavar, dest=option.setting, help=shown)
    add(
        *CONF,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting, as `pyrite settings` lists them; may be given several times",
    )
    add(PROPERTIES, metavar="FILE", help="settings, in place of spark-defaults.conf")
    add(
        CLASS,
        metavar="NAME",
        dest="main_class",
        help="the application's name, where there is no other",
    )
    add("--verbose", "-v", action="store_true", help=FLAGS["--verbose"])
    add("--supervise", action="store_true", help=argparse.SUPPRESS)
    for name, reason in REFUSED.items():
        add(name, action=Refuse, help=argparse.SUPPRESS, metavar=reason)


def apply_defaults(chosen: argparse.Namespace, fail: Callable[[str], NoReturn]) -> None:
    """Makes the options the defaults of every SparkConf of this process and its children."""
    take_properties(chosen.properties_file, fail)
    pairs: dict[str, str] = {}
    script = getattr(chosen, "script", None)
    if script is not None and not SparkConf().contains("spark.app.name"):
        pairs["spark.app.name"] = chosen.main_class or os.path.basename(script)
    for text in chosen.conf:
        try:
            name, value = pair_of(text)
        except BadOption as error:
            fail(str(error))
        pairs[name] = value
    pairs.update(given_options(chosen, fail))
    set_defaults(pairs, fail)
    if "spark.master" in pairs:
        check_master(pairs["spark.master"], fail)
    add_python_files(SparkConf().get("spark.submit.pyFiles") or "", fail)
    if chosen.verbose:
        print(SparkConf().toDebugString(), file=sys.stderr)


def given_options(chosen: argparse.Namespace, fail: Callable[[str], NoReturn]) -> dict[str, str]:
    """The settings of the options that were given; says so where one can't do what it is for."""
    pairs: dict[str, str] = {}
    for option in OPTIONS:
        value = getattr(chosen, option.setting)
        if value is None:
            continue
        try:
            check_value(option.name, value)
        except BadOption as error:
            fail(str(error))
        if option.name in OF_JVM:
            note = "there is no JVM, so what it names can't be used"
            print(f"pyrite: {option.name} does nothing: {note}", file=sys.stderr)
        pairs[option.setting] = value
    return pairs


class Refuse(argparse.Action):
    """An option of spark-submit's that can't be taken."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        name = self.option_strings[0]
        parser.error(f"{name} {REFUSED[name]}")


def take_properties(path: str | None, fail: Callable[[str], NoReturn]) -> None:
    """Has every SparkConf read this file in place of spark-defaults.conf."""
    if path is not None:
        os.environ[PROPERTIES_FILE] = os.path.abspath(path)
    try:
        SparkConf()
    except (OSError, ValueError) as error:
        fail(str(error))


def set_defaults(pairs: dict[str, str], fail: Callable[[str], NoReturn]) -> None:
    """Adds pairs to PYRITE_CONF, after checking that SparkConf reads them back as they are."""
    before = os.environ.get("PYRITE_CONF", "").strip(", \n")
    texts = [f"{name}={value}" for name, value in pairs.items()]
    os.environ["PYRITE_CONF"] = ",".join(filter(None, [before, *texts]))
    conf = SparkConf()
    for name, value in pairs.items():
        if conf.get(name) != value:
            fail(f"{name}: {value!r} can't be given here: set it in the program, with SparkConf")
    try:
        Settings(conf).check()
    except ValueError as error:
        fail(str(error))


def check_master(url: str, fail: Callable[[str], NoReturn]) -> None:
    """Refuses a master that no context could be made with."""
    from pyrite.driver.start.master import parse_master

    try:
        parse_master(url, SparkConf().get("pyrite.sim.world"))
    except (UserError, ValueError) as error:
        fail(str(error))


def add_python_files(text: str, fail: Callable[[str], NoReturn]) -> None:
    """Lets the program import from --py-files before it has a context."""
    for path in filter(None, map(str.strip, text.split(","))):
        if "://" in path:
            continue
        if not os.path.exists(path):
            fail(f"--py-files: there is no file {path!r}")
        whole = os.path.abspath(path)
        found = os.path.dirname(whole) if whole.endswith(".py") else whole
        if found not in sys.path:
            sys.path.insert(1, found)
