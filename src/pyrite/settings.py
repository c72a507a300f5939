"""Every setting: its name, type, default and meaning, and how its text is read."""

import builtins
import os
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, NoReturn

from pyrite.conf import EXECUTOR_ENV, SparkConf

Kind = Literal["bool", "int", "float", "str", "bytes", "seconds"]


class Machine(NamedTuple):
    """What the defaults are computed from: a node's memory and the executors that share it."""

    memory_bytes: int
    executors: int

    @classmethod
    def here(cls, executors: int | None = None) -> "Machine":
        """This machine, or the share of it that its container allows."""
        return cls(_memory_here_bytes(), executors or usable_cores())


class Setting(NamedTuple):
    """One row of the table of settings."""

    name: str
    kind: Kind
    default: str | Callable[[Machine], str]
    meaning: str
    choices: tuple[str, ...] = ()
    bare_unit: str = "b"
    inherits: str = ""


class BadSetting(ValueError):
    """A setting whose value can't be read, or whose name doesn't exist."""

    def __init__(self, name: str, value: str | None, problem: str) -> None:
        self.name = name
        self.value = value
        shown = name if value is None else f"{name}={value!r}"
        super().__init__(f"{shown}: {problem}")


def _executor_memory(machine: Machine) -> str:
    return f"{max(64 << 20, machine.memory_bytes // (2 * machine.executors))}b"


def _pool_memory(machine: Machine) -> str:
    return f"{max(64 << 20, machine.memory_bytes // 4)}b"


def _executors(machine: Machine) -> str:
    return str(machine.executors)


def _temporary_folder(_: Machine) -> str:
    import tempfile

    return tempfile.gettempdir()


LOG_LEVELS = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")

# fmt: off
TABLE: tuple[Setting, ...] = (
    Setting("spark.master", "str", "local[*]",
            "Where to run: local, local[2], local[*], local-cluster[3,1,512m], sim[seed=7]."),
    Setting("spark.app.name", "str", "pyrite", "The application's name, as reports show it."),
    Setting("spark.app.id", "str", "", "The application's id, which the context sets."),
    Setting("spark.home", "str", "", "Kept for PySpark's programs; not used."),
    Setting("spark.default.parallelism", "int", _executors,
            "Partitions of parallelize and of shuffles where nothing else says how many; "
            "by default one an executor."),
    Setting("spark.executor.memory", "bytes", _executor_memory,
            "Memory of one executor for cached rows, aggregation and sorting, beyond which it "
            "evicts and spills; by default half of the machine's, shared by its executors.",
            bare_unit="m"),
    Setting("spark.memory.storageFraction", "float", "0.5",
            "The share of the memory for cached rows that they keep when tasks want it."),
    Setting("spark.local.dir", "str", _temporary_folder,
            "The folder in which each node makes its private scratch folder."),
    Setting("spark.task.maxFailures", "int", "4",
            "Executors that one partition may end before its job fails; a function that raises "
            "fails its job at once, unless the master says otherwise: local[4,3]."),
    Setting("spark.stage.maxConsecutiveAttempts", "int", "4",
            "Attempts of a stage in a row lost to missing map outputs after which its job fails."),
    Setting("spark.locality.wait", "seconds", "3s",
            "How long a task waits for a better place before it takes a worse one."),
    Setting("spark.locality.wait.process", "seconds", "",
            "The same wait, for the executor that holds the rows.",
            inherits="spark.locality.wait"),
    Setting("spark.scheduler.mode", "str", "FIFO",
            "How jobs that run at once share the executors.", choices=("FIFO", "FAIR")),
    Setting("spark.scheduler.allocation.file", "str", "",
            "An XML file with the pools of the FAIR mode: weight, minShare, schedulingMode."),
    Setting("spark.scheduler.pool", "str", "default",
            "The pool of a thread's jobs; a local property, set with sc.setLocalProperty."),
    Setting("spark.speculation", "bool", "false",
            "Whether a task far slower than its siblings is started a second time elsewhere."),
    Setting("spark.speculation.interval", "seconds", "100ms",
            "How often to look for such tasks."),
    Setting("spark.speculation.multiplier", "float", "3",
            "How many times the median a task must have run to count as slow."),
    Setting("spark.speculation.quantile", "float", "0.9",
            "The share of a stage's tasks that must be done before any counts as slow."),
    Setting("spark.speculation.minTaskRuntime", "seconds", "100ms",
            "How long a task must have run, however short the median, to count as slow."),
    Setting("spark.excludeOnFailure.enabled", "bool", "false",
            "Whether executors on which tasks keep failing get no more of them."),
    Setting("spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor", "int", "1",
            "Failures of one task on an executor that exclude the executor for that task."),
    Setting("spark.excludeOnFailure.stage.maxFailedTasksPerExecutor", "int", "2",
            "Different tasks of a stage failed on an executor that exclude it for that stage."),
    Setting("spark.excludeOnFailure.application.maxFailedTasksPerExecutor", "int", "2",
            "Different tasks failed on an executor that exclude it for the application."),
    Setting("spark.excludeOnFailure.timeout", "seconds", "1h",
            "How long an executor stays excluded for the application."),
    Setting("spark.network.timeout", "seconds", "120s",
            "How long an executor that is stopped, or a process that does not answer, is waited "
            "for before it is given up."),
    Setting("spark.ui.showConsoleProgress", "bool", "true",
            "Whether running stages show a progress bar, on a terminal or in a notebook."),
    Setting("spark.checkpoint.dir", "str", "",
            "The folder of checkpoints, until sc.setCheckpointDir names one."),
    Setting("spark.driver.maxResultSize", "bytes", "1g",
            "The total size of one action's results above which its job fails; 0 for no limit."),
    Setting("spark.files", "str", "", "Files for every executor's folder, separated by commas."),
    Setting("spark.submit.pyFiles", "str", "",
            "Python files, zips and eggs for every executor's path, separated by commas."),
    Setting("spark.log.level", "str", "WARN", "How much is logged, until sc.setLogLevel says.",
            choices=LOG_LEVELS),
    Setting("spark.eventLog.enabled", "bool", "false",
            "Whether the story of the application is written to spark.eventLog.dir."),
    Setting("spark.eventLog.dir", "str", "/tmp/spark-events", "The folder of written stories."),
    Setting("pyrite.shuffle.small", "bytes", "1m",
            "Reducers that read less together are not placed by where their input lies."),
    Setting("pyrite.shuffle.tiny", "bytes", "256k",
            "Reducers that read less together are computed as one task; 0 computes each alone."),
    Setting("pyrite.shuffle.divide", "bytes", "32m",
            "A reducer that reads more, and much more than others, is divided over several tasks "
            "where its operator allows it; 0 divides none."),
    Setting("pyrite.shuffle.copies", "int", "1",
            "On how many nodes a map output lies: with 2 each is copied to the disk of another "
            "node, and the copy takes its place if it is lost.", choices=("1", "2")),
    Setting("pyrite.shuffle.prefetch", "bool", "true",
            "Whether reducers are placed and their input is fetched while maps still run."),
    Setting("pyrite.shuffle.observe", "float", "0.05",
            "The share of a shuffle's maps after which the sizes of the others are predicted, and "
            "fetching begins."),
    Setting("pyrite.shuffle.samples", "int", "0",
            "How many rows per reducer are drawn of each partition before a partitionBy with a "
            "function of your own, to predict sizes by the first map outputs; this computes the "
            "rows once more. 0 draws none: sizes are predicted after a quarter of the maps."),
    Setting("pyrite.shuffle.inFlight", "bytes", "48m",
            "How much of what is fetched ahead may be on its way to one node."),
    Setting("pyrite.network.bytesPerSecond", "bytes", "0",
            "What each node's block server may send in a second, to try a slow network on one "
            "machine; 0 for no limit."),
    Setting("pyrite.pool.lookahead", "bool", "true",
            "Whether partitions that queued and running jobs will read stay in the pools before "
            "others."),
    Setting("pyrite.pool.reserve", "bool", "true",
            "Whether a node's pool keeps room for what its running stages are about to store."),
    Setting("pyrite.pool.memory", "bytes", _pool_memory,
            "Shared memory of a node for map outputs, broadcasts, large results and OFF_HEAP "
            "blocks, beyond which they go to disk; by default a quarter of the machine's."),
    Setting("pyrite.cache.liveRows", "bool", "true",
            "Whether cached partitions are kept as live rows rather than encoded."),
    Setting("pyrite.inline.bytes", "bytes", "32k",
            "The largest result that travels in a message; a larger one becomes a block."),
    Setting("pyrite.sim.world", "str", "",
            "The simulated cluster of the master sim as JSON, in place of the master's arguments; "
            "scripts/sim prints it for a seed."),
    Setting("pyrite.journal.dir", "str", "",
            "The folder in which the driver logs its scheduler's state, by which one whose "
            "executors outlive it can go on: none of the masters yet. By default it does not."),
    Setting("pyrite.cancel.grace", "seconds", "2s",
            "How long a cancelled task may take to stop before its executor is ended."),
)
# fmt: on

# Set by thread with sc.setLocalProperty and its shorthands, for the jobs of that thread.
LOCAL_PROPERTIES: dict[str, str] = {
    "spark.scheduler.pool": "The pool of the jobs; spark.scheduler.pool in the table.",
    "spark.jobGroup.id": "The group of the jobs; sc.setJobGroup.",
    "spark.job.description": "What the jobs are for, as reports show it; sc.setJobDescription.",
    "spark.job.interruptOnCancel": "Whether cancelling interrupts; sc.setInterruptOnCancel.",
    "spark.job.tags": "The tags of the jobs, separated by commas; sc.addJobTag.",
}

# Names as much alike as this are taken for misspelled. None of the 1,800 in Spark's own jars that
# Pyrite does not have is so near to one of these.
MISSPELLED = 0.92

BY_NAME = {setting.name: setting for setting in TABLE}


class Settings:
    """The values of the settings under one SparkConf, read as their types.

    >>> settings = Settings(SparkConf(False).set("spark.driver.maxResultSize", "512m"))
    >>> settings.bytes("spark.driver.maxResultSize")
    536870912
    >>> settings.seconds("spark.locality.wait")
    3.0
    """

    def __init__(self, conf: SparkConf, machine: Machine | None = None) -> None:
        self._conf = conf
        self._machine = machine

    def bool(self, name: str) -> "builtins.bool":
        """A yes or no."""
        value: builtins.bool = self._read(name, "bool")
        return value

    def int(self, name: str) -> "builtins.int":
        """A whole number."""
        value: builtins.int = self._read(name, "int")
        return value

    def float(self, name: str) -> "builtins.float":
        """A number."""
        value: builtins.float = self._read(name, "float")
        return value

    def str(self, name: str) -> "builtins.str":
        """A text; empty where the setting has none."""
        value: builtins.str = self._read(name, "str")
        return value

    def bytes(self, name: "builtins.str") -> "builtins.int":
        """A size in bytes."""
        value: builtins.int = self._read(name, "bytes")
        return value

    def seconds(self, name: "builtins.str") -> "builtins.float":
        """A duration in seconds."""
        value: builtins.float = self._read(name, "seconds")
        return value

    def executor_env(self) -> "dict[builtins.str, builtins.str]":
        """The environment variables asked for with setExecutorEnv."""
        pairs = self._conf.getAll()
        return {
            key.removeprefix(EXECUTOR_ENV): text
            for key, text in pairs
            if key.startswith(EXECUTOR_ENV)
        }

    def check(self) -> None:
        """Refuse values that can't be read and `pyrite.` names that don't exist."""
        for name, _ in self._conf.getAll():
            if name in BY_NAME:
                self._read(name, BY_NAME[name].kind)
            elif name.startswith("pyrite."):
                _refuse_unknown(name)

    def misspelled(self) -> "list[tuple[builtins.str, builtins.str]]":
        """The `spark.` names that are nearly, but not quite, that of a setting, and that one."""
        import difflib

        found = []
        for name, _ in self._conf.getAll():
            if name.startswith("spark.") and name not in (*BY_NAME, *LOCAL_PROPERTIES):
                near = difflib.get_close_matches(name, BY_NAME, n=1, cutoff=MISSPELLED)
                found += [(name, each) for each in near]
        return found

    def refuse(self, name: "builtins.str", problem: "builtins.str") -> NoReturn:
        """Raises: the setting's value can be read, but not be used."""
        raise BadSetting(name, self._conf.get(name), problem)

    def _read(self, name: "builtins.str", kind: Kind) -> Any:
        setting = BY_NAME.get(name)
        if setting is None:
            _refuse_unknown(name)
        assert setting.kind == kind, f"{name} is read as {setting.kind}, not as {kind}"
        text = self._conf.get(name)
        if text is not None:
            return _parse(setting, text)
        if setting.inherits:
            return self._read(setting.inherits, kind)
        return _parse(setting, self._default(setting))

    def _default(self, setting: Setting) -> "builtins.str":
        if isinstance(setting.default, str):
            return setting.default
        if self._machine is None:
            self._machine = Machine.here()
        return setting.default(self._machine)


def _refuse_unknown(name: str) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f"did you mean {near[0]}?" if near else "`pyrite settings` lists them all"
    raise BadSetting(name, None, f"there is no such setting; {hint}")


def _parse(setting: Setting, text: str) -> Any:
    try:
        value = _PARSERS[setting.kind](text.strip(), setting.bare_unit)
    except ValueError:
        example = _EXAMPLES[setting.kind]
        raise BadSetting(setting.name, text, f"expected {example}") from None
    if setting.choices and text.strip().upper() not in setting.choices:
        raise BadSetting(setting.name, text, f"expected one of {', '.join(setting.choices)}")
    return value.upper() if setting.choices and setting.kind == "str" else value


_SIZE_FACTORS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_TIME_FACTORS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_bytes(text: str, bare_unit: str = "b") -> int:
    """The bytes of a size such as ``512m``; a bare number is in the given unit.

    >>> parse_bytes("512m"), parse_bytes("1.5kb"), parse_bytes("64")
    (536870912, 1536, 64)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(b|[kmgtp](?:i?b)?)?", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no size: write it as 512m, 2g or 64k")
    return int(float(match[1]) * _SIZE_FACTORS[(match[2] or bare_unit)[0]])


def parse_seconds(text: str) -> float:
    """The seconds of a duration such as ``100ms``; a bare number is in milliseconds, as in Spark.

    >>> parse_seconds("3s"), parse_seconds("100ms"), parse_seconds("2min"), parse_seconds("500")
    (3.0, 0.1, 120.0, 0.5)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|m|h|d)?", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write it as 100ms, 3s or 5min")
    return float(match[1]) * _TIME_FACTORS[match[2] or "ms"]


def _parse_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_PARSERS: dict[Kind, Callable[[str, str], Any]] = {
    "bool": lambda text, _: _parse_bool(text),
    "int": lambda text, _: int(text),
    "float": lambda text, _: float(text),
    "str": lambda text, _: text,
    "bytes": parse_bytes,
    "seconds": lambda text, _: parse_seconds(text),
}
_EXAMPLES: dict[Kind, str] = {
    "bool": "true or false",
    "int": "a whole number, such as 4",
    "float": "a number, such as 0.5",
    "str": "a text",
    "bytes": "a size, such as 512m or 2g",
    "seconds": "a duration, such as 100ms, 3s or 5min",
}


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_here_bytes() -> int:
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    # A container's limit: cgroup version 2, then 1; where there is none the file says "max".
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                limits.append(int(file.read()))
        except (OSError, ValueError):
            continue
    return min(limits)
