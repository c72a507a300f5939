"""The options of spark-submit: what each sets, and which of them have no use here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyrite.properties import read_properties


class SubmitOption(NamedTuple):
    """An option with a value: the setting that it gives, and what to say of it."""

    name: str
    setting: str
    metavar: str
    meaning: str


IGNORED = "accepted and not used"
OPTIONS = (
    SubmitOption(
        "--master",
        "spark.master",
        "URL",
        "local, local[4], local[*] (the default), local-cluster[3,1,512m], ray, "
        "ray[10.0.0.5:6379], sim[seed=7]",
    ),
    SubmitOption("--name", "spark.app.name", "NAME", "the application's name"),
    SubmitOption(
        "--py-files",
        "spark.submit.pyFiles",
        "FILES",
        "modules, zips and eggs to import from, in tasks too; separated by commas",
    ),
    SubmitOption(
        "--files", "spark.files", "FILES", "files for SparkFiles.get; separated by commas"
    ),
    SubmitOption(
        "--archives",
        "spark.archives",
        "FILES",
        "archives that are unpacked for SparkFiles.get, as path#name; separated by commas",
    ),
    SubmitOption(
        "--executor-memory",
        "spark.executor.memory",
        "SIZE",
        "memory of one executor, such as 512m or 2g",
    ),
    SubmitOption(
        "--story",
        "pyrite.story.file",
        "FILE",
        "write the story of the run to this file; `pyrite story FILE` tells it",
    ),
    SubmitOption("--deploy-mode", "spark.submit.deployMode", "MODE", "client, the only one"),
    SubmitOption("--driver-memory", "spark.driver.memory", "SIZE", IGNORED),
    SubmitOption("--driver-cores", "spark.driver.cores", "N", IGNORED),
    SubmitOption("--executor-cores", "spark.executor.cores", "N", IGNORED),
    SubmitOption(
        "--num-executors",
        "spark.executor.instances",
        "N",
        "how many executors to begin with, under spark.dynamicAllocation.enabled",
    ),
    SubmitOption("--total-executor-cores", "spark.cores.max", "N", IGNORED),
    SubmitOption("--queue", "spark.yarn.queue", "NAME", IGNORED),
    SubmitOption("--principal", "spark.kerberos.principal", "NAME", IGNORED),
    SubmitOption("--keytab", "spark.kerberos.keytab", "FILE", IGNORED),
    SubmitOption("--jars", "spark.jars", "FILES", IGNORED),
    SubmitOption("--packages", "spark.jars.packages", "NAMES", IGNORED),
    SubmitOption("--exclude-packages", "spark.jars.excludes", "NAMES", IGNORED),
    SubmitOption("--repositories", "spark.jars.repositories", "URLS", IGNORED),
    SubmitOption("--driver-java-options", "spark.driver.extraJavaOptions", "TEXT", IGNORED),
    SubmitOption("--driver-library-path", "spark.driver.extraLibraryPath", "PATH", IGNORED),
    SubmitOption("--driver-class-path", "spark.driver.extraClassPath", "PATH", IGNORED),
)
FLAGS = {
    "--verbose": "shows the settings before the program starts",
    "--supervise": IGNORED,
}
CONF = ("--conf", "-c")
PROPERTIES = "--properties-file"
# Names a program of the JVM. With a Python file it names the application, if nothing else does.
CLASS = "--class"
SHORT = {"-v": "--verbose"}

# Of a JVM, which programs that name them need for what they do.
OF_JVM = ("--jars", "--packages")
REFUSED = {
    "--kill": "is for clusters that run drivers; end the program itself",
    "--status": "is for clusters that run drivers; look at the program itself",
    "--proxy-user": "needs a cluster that knows users; become that user first",
    "--remote": "asks for Spark Connect, which Pyrite does not have; use --master local[*]",
}


class BadOption(ValueError):
    """An option that can't be taken; the message is one line."""


def settings_of(text: str) -> list[tuple[str, str]]:
    """The settings that the text of PYSPARK_SUBMIT_ARGS gives, up to its first word that is none.

    >>> settings_of("--master local[2] --conf spark.app.name='my app' pyspark-shell")
    [('spark.master', 'local[2]'), ('spark.app.name', 'my app')]
    """
    if not text:
        return []
    import shlex

    pending = shlex.split(text)[::-1]
    found: list[tuple[str, str]] = []
    named: list[tuple[str, str]] = []
    while pending and pending[-1].startswith("-"):
        name, equals, value = pending.pop().partition("=")
        name = SHORT.get(name, name)
        if name in FLAGS:
            continue
        check_option(name)
        if not equals:
            if not pending:
                raise BadOption(f"{name} needs a value")
            value = pending.pop()
        check_value(name, value)
        if name == PROPERTIES:
            found[:0] = read_properties(value)
            continue
        if name == CLASS:
            named = [("spark.app.name", value)]
            continue
        found.append(pair_of(value) if name in CONF else (setting_of(name), value))
    return named + found


def check_option(name: str) -> None:
    """Refuses an option that spark-submit does not have, or that means nothing here."""
    if name in REFUSED:
        raise BadOption(f"{name} {REFUSED[name]}")
    known = [*(each.name for each in OPTIONS), *CONF, PROPERTIES, CLASS, *FLAGS]
    if name not in known:
        raise BadOption(f"there is no option {name}{suggestion(name, known)}")


def check_value(name: str, value: str) -> None:
    """Refuses a place for the driver other than this process."""
    if name == "--deploy-mode" and value != "client":
        raise BadOption(
            f"--deploy-mode {value}: the driver runs here, which is --deploy-mode client"
        )


def setting_of(name: str) -> str:
    return next(each.setting for each in OPTIONS if each.name == name)


def pair_of(text: str) -> tuple[str, str]:
    """A setting as --conf has it."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise BadOption(f"--conf {text}: write it as NAME=VALUE")
    return name.strip(), value.strip()


def suggestion(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant, as the end of a sentence."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
