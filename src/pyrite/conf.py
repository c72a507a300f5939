"""The settings a user gives an application, as text."""

import os
import re
from collections.abc import Iterable
from typing import overload

from pyrite.properties import read_properties
from pyrite.pysparkerrors import PySparkRuntimeError
from pyrite.submitoptions import settings_of

# Names a file of settings that is read in place of spark-defaults.conf.
PROPERTIES_FILE = "PYRITE_PROPERTIES_FILE"
EXECUTOR_ENV = "spark.executorEnv."


class SparkConf:
    """The settings of one application: names and values, both text.

    With ``loadDefaults`` it starts from ``spark-defaults.conf`` in the folder ``SPARK_CONF_DIR``,
    from the options in ``PYSPARK_SUBMIT_ARGS`` and from ``PYRITE_CONF``, a list such as
    ``spark.master=local[2],spark.executor.memory=512m``; the later win.

    >>> conf = SparkConf(loadDefaults=False).setMaster("local[2]").set("spark.task.maxFailures", 2)
    >>> print(conf.toDebugString())
    spark.master=local[2]
    spark.task.maxFailures=2
    """

    def __init__(self, loadDefaults: bool = True) -> None:
        self._values: dict[str, str] = {}
        if loadDefaults:
            self.setAll(_from_environment())

    def set(self, key: str, value: object) -> "SparkConf":
        """Set one value, as its text."""
        self._values[key] = str(value)
        return self

    def setAll(self, pairs: Iterable[tuple[str, object]]) -> "SparkConf":
        """Set every given pair."""
        for key, value in pairs:
            self.set(key, value)
        return self

    def setIfMissing(self, key: str, value: object) -> "SparkConf":
        """Set a value unless there is one."""
        if key not in self._values:
            self.set(key, value)
        return self

    def setMaster(self, value: str) -> "SparkConf":
        """Set where to run, such as ``local[2]``."""
        return self.set("spark.master", value)

    def setAppName(self, value: str) -> "SparkConf":
        """Set the application's name."""
        return self.set("spark.app.name", value)

    def setSparkHome(self, value: str) -> "SparkConf":
        """Set ``spark.home``, which is kept for PySpark's programs and not used."""
        return self.set("spark.home", value)

    @overload
    def setExecutorEnv(self, key: str, value: str) -> "SparkConf": ...

    @overload
    def setExecutorEnv(self, *, pairs: Iterable[tuple[str, str]]) -> "SparkConf": ...

    def setExecutorEnv(
        self,
        key: str | None = None,
        value: str | None = None,
        pairs: Iterable[tuple[str, str]] | None = None,
    ) -> "SparkConf":
        """Set one environment variable of the executors, or several.

        >>> SparkConf(loadDefaults=False).setExecutorEnv(pairs=[("LANG", "C")]).getAll()
        [('spark.executorEnv.LANG', 'C')]
        """
        if (key is None) == (pairs is None):
            raise PySparkRuntimeError(
                "Key-value pair or a list of pairs is required: "
                "call setExecutorEnv(key, value) or setExecutorEnv(pairs=[(key, value), ...])",
                "KEY_VALUE_PAIR_REQUIRED",
                {},
            )
        chosen = [(key, value)] if pairs is None else pairs
        return self.setAll((f"{EXECUTOR_ENV}{name}", text) for name, text in chosen)

    @overload
    def get(self, key: str) -> str | None: ...

    @overload
    def get(self, key: str, defaultValue: None) -> str | None: ...

    @overload
    def get(self, key: str, defaultValue: str) -> str: ...

    def get(self, key: str, defaultValue: str | None = None) -> str | None:
        """The value of a setting, or the default where there is none."""
        return self._values.get(key, defaultValue)

    def getAll(self) -> list[tuple[str, str]]:
        """Every name with its value, in the order they were first set."""
        return list(self._values.items())

    def contains(self, key: str) -> bool:
        """Whether a setting has a value."""
        return key in self._values

    def toDebugString(self) -> str:
        """The settings, one ``name=value`` a line."""
        return "\n".join(f"{key}={value}" for key, value in self._values.items())


def _from_environment() -> list[tuple[str, str]]:
    return [*_from_file(), *_from_submit_args(), *_from_list()]


def _from_file() -> list[tuple[str, str]]:
    named = os.environ.get(PROPERTIES_FILE)
    folder = os.environ.get("SPARK_CONF_DIR")
    path = named or (os.path.join(folder, "spark-defaults.conf") if folder else "")
    return read_properties(path) if named or os.path.isfile(path) else []


def _from_submit_args() -> list[tuple[str, str]]:
    try:
        return settings_of(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    except (OSError, ValueError) as error:
        raise ValueError(f"PYSPARK_SUBMIT_ARGS: {error}") from None


def _from_list() -> list[tuple[str, str]]:
    text = os.environ.get("PYRITE_CONF", "").strip(", \n")
    if not text:
        return []
    # Values may hold commas: only one before the next `name=`, and not in brackets, separates.
    parts = re.split(r"[,\s]\s*(?=[\w.]+=)(?![^\[\]]*\])", text)
    pairs = [part.partition("=") for part in parts]
    for name, equals, _ in pairs:
        if not equals:
            raise ValueError(
                f"PYRITE_CONF has {name!r}, which is no name=value: "
                "write it as spark.master=local[2],spark.executor.memory=512m"
            )
    return [(name.strip(), value.strip()) for name, _, value in pairs]
