"""Every setting: its name, type, default and meaning, and how its text is read."""

import builtins
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, NoReturn

from pyrite.capacity import Machine
from pyrite.conf import EXECUTOR_ENV, SparkConf
from pyrite.errors import BadValue
from pyrite.quantities import parse_bool, parse_bytes, parse_seconds

Kind = Literal["bool", "int", "float", "str", "bytes", "seconds"]


class Setting(NamedTuple):
    """One row of the table of settings."""

    name: str
    kind: Kind
    default: str | Callable[[Machine], str]
    meaning: str
    choices: tuple[str, ...] = ()
    # The unit of a bare number: b where it is a size, and ms where it is a duration.
    bare_unit: str = ""
    inherits: str = ""


class BadSetting(BadValue):
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


def _ring_cache(machine: Machine) -> str:
    return f"{max(32 << 20, machine.memory_bytes // 8)}b"


def _executors(machine: Machine) -> str:
    return str(machine.executors)


def _temporary_folder(_: Machine) -> str:
    import tempfile

    return tempfile.gettempdir()


LOG_LEVELS = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")

# fmt: off
TABLE: tuple[Setting, ...] = (
    Setting("spark.master", "str", "local[*]",
            "Where to run: local, local[2], local[*], local-cluster[3,1,512m], ray, "
            "ray[HOST:PORT], sim[seed=7]."),
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
    Setting("spark.executor.instances", "int", "0",
            "How many executors to begin with, under spark.dynamicAllocation.enabled; without it "
            "the master, or what Ray has, says how many there are."),
    Setting("spark.dynamicAllocation.enabled", "bool", "false",
            "Whether nodes are added while tasks wait, and leave when they are idle, on "
            "local-cluster and on Ray. A node comes and goes with all of its executors."),
    Setting("spark.dynamicAllocation.minExecutors", "int", "0",
            "How many executors stay, however idle they are."),
    Setting("spark.dynamicAllocation.maxExecutors", "int", "2147483647",
            "How many executors there may be; by default any number, on local-cluster as many as "
            "the master says."),
    Setting("spark.dynamicAllocation.initialExecutors", "int", "",
            "How many executors to begin with, if that is more than minExecutors and "
            "spark.executor.instances.",
            inherits="spark.dynamicAllocation.minExecutors"),
    Setting("spark.dynamicAllocation.executorAllocationRatio", "float", "1",
            "How many executors are wanted for each task that runs or waits, at most."),
    Setting("spark.dynamicAllocation.schedulerBacklogTimeout", "seconds", "1s",
            "How long tasks wait before executors are added: 1, then 2, 4 and so on.",
            bare_unit="s"),
    Setting("spark.dynamicAllocation.sustainedSchedulerBacklogTimeout", "seconds", "",
            "How long they wait before further ones are added.", bare_unit="s",
            inherits="spark.dynamicAllocation.schedulerBacklogTimeout"),
    Setting("spark.dynamicAllocation.executorIdleTimeout", "seconds", "60s",
            "How long no executor of a node has a task before it leaves; its map outputs go "
            "elsewhere first.", bare_unit="s"),
    Setting("spark.dynamicAllocation.cachedExecutorIdleTimeout", "seconds", "2147483647s",
            "The same for a node that holds kept partitions: blocks move then, live rows are made "
            "again. By default such a node stays.", bare_unit="s"),
    Setting("spark.executor.allowSparkContext", "bool", "false",
            "Whether a task may make a context of its own, with executors of its own."),
    Setting("spark.memory.storageFraction", "float", "0.5",
            "The share of the memory for cached rows that they keep when tasks want it."),
    Setting("spark.local.dir", "str", _temporary_folder,
            "The folder in which each node makes its private scratch folder."),
    Setting("spark.task.maxFailures", "int", "4",
            "How many executors may die at one partition before its job fails; a function that "
            "raises fails its job at once, unless the master says otherwise: local[4,3]."),
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
            "How long to wait for a stopped executor, or for a process that does not answer, "
            "before it is given up."),
    Setting("spark.ui.enabled", "bool", "false",
            "Whether a page, sc.uiWebUrl, shows the application; on in shells and notebooks."),
    Setting("spark.ui.port", "int", "4040",
            "Where that page listens; one of the next 16 where the port is taken, any for 0."),
    Setting("spark.ui.showConsoleProgress", "bool", "true",
            "Whether running stages show a progress bar, on a terminal or in a notebook."),
    Setting("spark.checkpoint.dir", "str", "",
            "The folder of checkpoints, until sc.setCheckpointDir names one."),
    Setting("spark.driver.maxResultSize", "bytes", "1g",
            "The total size of one action's results above which its job fails; 0 for no limit."),
    Setting("spark.files", "str", "", "Files for every executor's folder, separated by commas."),
    Setting("spark.python.profile", "bool", "false",
            "Whether tasks are profiled; sc.show_profiles shows on what they spent their time, "
            "and so does the end of the program."),
    Setting("spark.python.profile.dump", "str", "",
            "A folder into which profiles are written at the end of the program, not shown."),
    Setting("pyrite.profile.hertz", "float", "0",
            "How many times a second the stacks of tasks are sampled into the story, for "
            "`pyrite story FILE --flame OUT`; 0 for never, 100 is a good number."),
    Setting("spark.archives", "str", "",
            "Archives that are unpacked for every executor, as path#name, separated by commas."),
    Setting("spark.submit.deployMode", "str", "client", "Where the driver runs, which is here."),
    Setting("spark.submit.pyFiles", "str", "",
            "Python files, zips and eggs for every executor's path, separated by commas."),
    Setting("spark.log.level", "str", "WARN", "How much is logged, until sc.setLogLevel says.",
            choices=LOG_LEVELS),
    Setting("spark.eventLog.enabled", "bool", "false",
            "Whether the story of the application is written to spark.eventLog.dir."),
    Setting("spark.eventLog.dir", "str", "/tmp/spark-events", "The folder of written stories."),
    Setting("spark.redaction.regex", "str",
            "(?i)secret|pass(w|phr)|pwd|token|credential|(access|api|private).?key|://[^/]*:[^/]*@",
            "Settings whose name or value this matches are blanked in stories: Spark's, and more."),
    Setting("pyrite.story.file", "str", "",
            "The story's file, in place of one in spark.eventLog.dir; an ended run's is replaced."),
    Setting("pyrite.story.values", "bool", "false",
            "Whether errors in the story keep their messages, which may have values of rows in "
            "them; otherwise they are told with types and places."),
    Setting("pyrite.story.code", "bool", "false",
            "Whether the story holds the functions of each stage, so that `pyrite replay` can run "
            "its tasks again."),
    Setting("pyrite.story.codeLimit", "bytes", "16m",
            "The largest broadcast, added file or set of parallelized rows that a story with code "
            "holds; larger ones are only named."),
    Setting("pyrite.shuffle.small", "bytes", "1m",
            "Smaller shuffles are not prefetched, nor their reducers placed by their input."),
    Setting("pyrite.shuffle.tiny", "bytes", "256k",
            "Reducers that together read less, or less than as much for each 256 maps, run as one "
            "task; 0 runs each alone."),
    Setting("pyrite.shuffle.divide", "bytes", "32m",
            "A reducer that reads more, and much more than others, is divided over several tasks "
            "where its operator allows it; 0 divides none."),
    Setting("pyrite.shuffle.copies", "int", "1",
            "How many nodes hold each map output: with 2 it is copied to the disk of another "
            "node, and the copy is read if the original is lost.", choices=("1", "2")),
    Setting("pyrite.shuffle.prefetch", "bool", "true",
            "Whether reducers are placed, and their input is fetched, while maps still run."),
    Setting("pyrite.shuffle.observe", "float", "0.05",
            "The share of a shuffle's maps after which the sizes of the others are predicted, and "
            "fetching begins."),
    Setting("pyrite.shuffle.samples", "int", "0",
            "How many rows per reducer are drawn of each partition before a partitionBy with a "
            "function of your own, to predict sizes by the first map outputs; this computes the "
            "rows once more. 0 draws none: sizes are predicted after a quarter of the maps."),
    Setting("pyrite.shuffle.inFlight", "bytes", "48m",
            "The most bytes that may be on their way to one node to be prefetched."),
    Setting("pyrite.collections.report", "bool", "true",
            "Whether the groups of a namespace split and merge whenever an RDD of it has been "
            "computed and kept, or only when sc.reportRDD says so."),
    Setting("pyrite.collections.lastRdds", "int", "0",
            "How many of the latest kept RDDs of a namespace count for the size of its groups; "
            "0 counts all."),
    Setting("pyrite.collections.maxGroupBytes", "bytes", "64m",
            "A group of partitions that is larger splits in halves."),
    Setting("pyrite.collections.minGroupBytes", "bytes", "8m",
            "Two sibling groups that are smaller together merge; at most half of the maximum."),
    Setting("pyrite.collections.replicaIdle", "seconds", "60s",
            "How long a replica of a partition of a namespace may be unused before it is dropped."),
    Setting("spark.driver.port", "int", "0",
            "The port at which the driver waits for its nodes, on Ray; 0 is one that the kernel "
            "chooses."),
    Setting("spark.blockManager.port", "int", "0",
            "The port of each node's block server, on Ray; 0 is one that the kernel chooses."),
    Setting("pyrite.node.timeout", "seconds", "5s",
            "A node of a Ray cluster that is silent for so long is given up; it ends itself if it "
            "does not hear from its driver for as long."),
    Setting("pyrite.recovery.bound", "seconds", "0s",
            "How long recovering from the loss of one node may take, without noticing it: kept "
            "RDDs are checkpointed in the background so that it does not take longer. 0 for any "
            "time; needs spark.checkpoint.dir."),
    Setting("pyrite.recovery.relax", "float", "3",
            "How many times as much as needed may be written to checkpoint later RDDs, from which "
            "it takes longer until the next checkpoint."),
    Setting("pyrite.recovery.algorithm", "str", "cut",
            "Which RDDs are checkpointed: a cheap cut through all long recoveries, or edge, all "
            "of the latest ones.", choices=("CUT", "EDGE")),
    Setting("pyrite.network.bytesPerSecond", "bytes", "0",
            "The most that each node's block server sends in a second, to try a slow network on "
            "one machine; 0 for no limit."),
    Setting("pyrite.pool.lookahead", "bool", "true",
            "Whether partitions that queued and running jobs will read are evicted from the pools "
            "last."),
    Setting("pyrite.pool.reserve", "bool", "true",
            "Whether a node's pool keeps room for what its running stages are about to store."),
    Setting("pyrite.pool.memory", "bytes", _pool_memory,
            "Shared memory of a node for map outputs, broadcasts, large results and OFF_HEAP "
            "blocks, beyond which they go to disk; by default a quarter of the machine's."),
    Setting("pyrite.cache.liveRows", "bool", "true",
            "Whether cached partitions are kept as live rows rather than encoded."),
    Setting("pyrite.machine", "str", "true",
            "Whether functions on numbers and text that the row machine understands run in C; "
            "eager, from the first row on, and doubting, with every third row given back, are for "
            "tests.",
            choices=("TRUE", "FALSE", "EAGER", "DOUBTING")),
    Setting("pyrite.inline.bytes", "bytes", "32k",
            "The largest result that travels in a message; a larger one becomes a block."),
    Setting("pyrite.sim.world", "str", "",
            "The simulated cluster of the master sim as JSON, in place of the master's arguments; "
            "scripts/sim prints it for a seed."),
    Setting("pyrite.journal.dir", "str", "",
            "The folder in which the driver logs its scheduler's state, so that a restarted driver "
            "could go on; no master restarts one yet. Empty: no log."),
    Setting("pyrite.ring", "str", "",
            "The application's ring, for tags and, if spark.checkpoint.dir is not set, for "
            "checkpoints; own starts a member for each node, which ends with the application."),
    Setting("pyrite.ring.cache", "bytes", _ring_cache,
            "The most bytes of a node's pool for blocks of rings that tasks have read, which give "
            "way to everything else; by default an eighth of the machine's memory. 0 keeps none."),
    Setting("pyrite.laf", "str", "true",
            "Whether tasks whose input has keys, as that of a ring has, go to the node that has "
            "the range of the key; delay: with static ranges, which others wait 5 seconds for.",
            choices=("TRUE", "FALSE", "DELAY")),
    Setting("pyrite.laf.alpha", "float", "0.001",
            "The weight of the last keys against all before them, from 0 to 1, by which the "
            "ranges move; 0 leaves them as they are."),
    Setting("pyrite.laf.strict", "bool", "false",
            "Whether tasks wait for the node that has their range for as long as it takes, rather "
            "than go to an idle one; with excludeOnFailure, for spark.locality.wait."),
    Setting("pyrite.laf.migrate", "bool", "false",
            "Whether a block that a neighbour on the ring has in memory is read from there rather "
            "than from disk."),
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

    def on(self, machine: Machine) -> "Settings":
        """The same settings, with defaults from another machine."""
        return Settings(self._conf, machine)

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

    def given(self) -> "dict[builtins.str, builtins.str]":
        """All settings that the program, its options or its environment have given."""
        return dict(self._conf.getAll())

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


_PARSERS: dict[Kind, Callable[[str, str], Any]] = {
    "bool": lambda text, _: parse_bool(text),
    "int": lambda text, _: int(text),
    "float": lambda text, _: float(text),
    "str": lambda text, _: text,
    "bytes": lambda text, unit: parse_bytes(text, unit or "b"),
    "seconds": lambda text, unit: parse_seconds(text, unit or "ms"),
}
_EXAMPLES: dict[Kind, str] = {
    "bool": "true or false",
    "int": "a whole number, such as 4",
    "float": "a number, such as 0.5",
    "str": "a text",
    "bytes": "a size, such as 512m or 2g",
    "seconds": "a duration, such as 100ms, 3s or 5min",
}
