"""The options of spark-submit, and how they become an application's defaults."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from pyrite.conf import SparkConf
from pyrite.errors import UserError
from pyrite.settings import Settings


def add_application_options(parser: argparse.ArgumentParser) -> None:
    """Adds what can be said about an application, by the names of spark-submit."""
    add = parser.add_argument_group("application").add_argument
    where = "local, local[4], local[*] (the default), local-cluster[3,1,512m], sim[seed=7]"
    add("--master", metavar="URL", help=where)
    add("--name", metavar="NAME", help="the application's name")
    add(
        "--conf",
        "-c",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting, as `pyrite settings` lists them; may be given several times",
    )
    add(
        "--py-files",
        metavar="FILES",
        help="modules, zips and eggs to import from, in tasks too; separated by commas",
    )
    add("--files", metavar="FILES", help="files for SparkFiles.get; separated by commas")
    add("--executor-memory", metavar="SIZE", help="memory of one executor, such as 512m or 2g")


def apply_defaults(chosen: argparse.Namespace, fail: Callable[[str], NoReturn]) -> None:
    """Makes the options the defaults of every SparkConf of this process and its children."""
    pairs: dict[str, str] = {}
    script = getattr(chosen, "script", None)
    if script is not None and not SparkConf().contains("spark.app.name"):
        pairs["spark.app.name"] = os.path.basename(script)
    for text in chosen.conf:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            fail(f"--conf {text}: write it as NAME=VALUE")
        pairs[name.strip()] = value.strip()
    named = {
        "spark.master": chosen.master,
        "spark.app.name": chosen.name,
        "spark.submit.pyFiles": chosen.py_files,
        "spark.files": chosen.files,
        "spark.executor.memory": chosen.executor_memory,
    }
    pairs.update({name: value for name, value in named.items() if value is not None})
    set_defaults(pairs, fail)
    if "spark.master" in pairs:
        check_master(pairs["spark.master"], fail)
    add_python_files(pairs.get("spark.submit.pyFiles", ""), fail)


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
