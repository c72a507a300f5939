"""SparkContext: the door to the engine, as PySpark users know it."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

from pyrite.bridge import Bridgeless
from pyrite.capacity import Machine
from pyrite.conf import SparkConf
from pyrite.driver.api.collections import CollectionMethods
from pyrite.driver.api.display import context_table
from pyrite.driver.api.distributed import DistributedFiles
from pyrite.driver.api.flags import Flags
from pyrite.driver.api.jobcontrol import JobControl
from pyrite.driver.api.jobs import JobMethods
from pyrite.driver.api.profiles import Profiles
from pyrite.driver.api.sharedvariables import SharedVariables
from pyrite.driver.api.sources import SourceMethods
from pyrite.driver.api.tags import TagMethods
from pyrite.driver.api.taskfiles import TaskFiles
from pyrite.driver.engine.checkpoints import Checkpoints
from pyrite.driver.log.bars import Bars, NoBars, watch
from pyrite.driver.log.chronicle import Chronicle
from pyrite.driver.log.progress import Progress
from pyrite.driver.start.excepthook import hide_our_frames
from pyrite.driver.start.master import machine_of, parse_master
from pyrite.driver.start.page import show_in_notebooks
from pyrite.driver.start.start import start_engine
from pyrite.errors import BadValue, ReferencedInTask
from pyrite.execute.keeper import KeepPlan
from pyrite.ids import NodeId
from pyrite.interrupts import Interruptible, Uninterrupted
from pyrite.memory import MemoryReport
from pyrite.profiler import BasicProfiler, Profiler
from pyrite.quantities import parse_bytes
from pyrite.rdd.base import require_context, require_rdds
from pyrite.rdd.callsite import call_site
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.frozen import Frozen
from pyrite.rdd.partitioner import Router
from pyrite.rdd.rdd import RDD
from pyrite.rdd.streamed import Streamed
from pyrite.schedule.events import ShuffleForgotten
from pyrite.settings import LOG_LEVELS, Settings
from pyrite.sparkfiles import SparkFiles
from pyrite.status import StatusTracker
from pyrite.storagelevel import StorageLevel
from pyrite.taskcontext import TaskContext
from pyrite.version import __version__

T = TypeVar("T")
U = TypeVar("U")

ONLY_ON_DRIVER = "CONTEXT_ONLY_VALID_ON_DRIVER"

PYTHON_LEVELS: dict[str, int | str] = {
    "ALL": "NOTSET",
    "TRACE": "DEBUG",
    "WARN": "WARNING",
    "FATAL": "CRITICAL",
    "OFF": 51,
}


class SparkContext(
    SourceMethods,
    JobMethods,
    JobControl,
    CollectionMethods,
    SharedVariables,
    TaskFiles,
    TagMethods,
    Profiles,
    Bridgeless,
):
    """Starts executors, makes RDDs and runs their jobs; one at a time in a process.

    >>> from pyrite import SparkContext
    >>> SparkContext.getOrCreate() is sc
    True
    """

    _active_spark_context: ClassVar[SparkContext | None] = None
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(
        self,
        master: str | None = None,
        appName: str | None = None,
        sparkHome: str | None = None,
        pyFiles: Iterable[str | os.PathLike[str]] | None = None,
        environment: dict[str, Any] | None = None,
        batchSize: int = 0,
        serializer: Any = None,
        conf: SparkConf | None = None,
        gateway: Any = None,
        jsc: Any = None,
        profiler_cls: type[Profiler] = BasicProfiler,
        udf_profiler_cls: Any = None,
        memory_profiler_cls: Any = None,
    ) -> None:
        with SparkContext._lock, Uninterrupted():
            self._refuse_second(copy_conf(conf))
            self._start(master, appName, sparkHome, pyFiles, environment, conf)
            self._profile_with(profiler_cls)
            SparkContext._active_spark_context = self

    def _refuse_second(self, conf: SparkConf) -> None:
        allowed = Settings(conf).bool("spark.executor.allowSparkContext")
        if TaskContext.get() is not None and not allowed:
            raise ReferencedInTask(
                "SparkContext", "Make it in the driver, outside of functions.", ONLY_ON_DRIVER
            )
        other = SparkContext._active_spark_context
        if other is not None and other._engine.pid == os.getpid():
            raise ValueError(
                f"Cannot run multiple SparkContexts at once; existing {other._described()}: "
                "stop() it first, or use SparkContext.getOrCreate()"
            )

    def _start(
        self,
        master: str | None,
        app_name: str | None,
        home: str | None,
        python_files: Iterable[str | os.PathLike[str]] | None,
        environment: dict[str, Any] | None,
        conf: SparkConf | None,
    ) -> None:
        self._conf = copy_conf(conf)
        if master is not None:
            self._conf.setMaster(master)
        if app_name is not None:
            self._conf.setAppName(app_name)
        if home is not None:
            self._conf.setSparkHome(home)
        for key, value in (environment or {}).items():
            self._conf.setExecutorEnv(key, str(value))
        self._site = call_site().short
        master = self._conf.get("spark.master") or "local[*]"
        parsed = parse_master(master, self._conf.get("pyrite.sim.world"))
        show_in_notebooks(self._conf)
        self._settings = Settings(self._conf, machine_of(parsed))
        self._settings.check()
        warn_of_misspelled(self._settings)
        self._conf.setIfMissing("spark.master", "local[*]")
        self._conf.setIfMissing("spark.app.name", self._settings.str("spark.app.name"))
        self._executors = parsed.executors
        self.startTime = int(time.time() * 1000)
        # Contexts of other machines may start in the same millisecond.
        self._application_id = f"local-{self.startTime}-{os.urandom(4).hex()}"
        self._conf.set("spark.app.id", self._application_id)
        self._flags = Flags()
        self._broadcast_ids = 0
        self._checkpoints = Checkpoints(self)
        self._bars: Bars | NoBars = NoBars()
        self._progress = Progress()
        simulated = parsed.world is not None
        one_node = not simulated and parsed.memory_bytes is None and parsed.ray is None
        self._chronicle = Chronicle(self._settings, self._progress, simulated, one_node)
        hide_our_frames()
        self._engine = start_engine(parsed, self._settings, self._chronicle)
        if parsed.ray is not None:
            # Under dynamic allocation there may be none yet.
            self._executors = max(1, self._engine.cluster.executor_count())
            self._settings = self._settings.on(Machine.here(self._executors))
        try:
            self._enter_ring(self._settings, parsed.nodes)
            self._equip()
            with Interruptible():
                # An interrupt of the start comes here, and undoes it.
                self._add_files(python_files)
        except BaseException:
            self._close()
            raise

    def _equip(self) -> None:
        """Gives the engine what watches it, and its files a place."""
        if folder := self._settings.str("spark.checkpoint.dir") or self._ring_folder():
            self._checkpoints.set_folder(folder)
        cluster = self._engine.cluster
        self._files_added = DistributedFiles(cluster.files_folder(), cluster.share_files)
        self._python_paths = self._files_added.python_paths
        SparkFiles._root_directory = self._files_added.root
        self._engine.waiters.write_checkpoint = self._checkpoints.force_by_id
        if self._conf.contains("spark.log.level"):
            self.setLogLevel(self._settings.str("spark.log.level"))
        shown = self._settings.bool("spark.ui.showConsoleProgress")
        self._bars = watch(self._progress, self._engine.story, shown)
        self._chronicle.show_page()
        atexit.register(self.stop)

    def _add_files(self, python_files: Iterable[str | os.PathLike[str]] | None) -> None:
        for file in split_list(self._settings.str("spark.files")):
            self.addFile(file)
        for archive in split_list(self._settings.str("spark.archives")):
            self.addArchive(archive)
        wanted = [*(python_files or ()), *split_list(self._settings.str("spark.submit.pyFiles"))]
        for path in wanted:
            self.addPyFile(path)

    @classmethod
    def getOrCreate(cls, conf: SparkConf | None = None) -> SparkContext:
        """The running context, or a new one."""
        with SparkContext._lock:
            active = SparkContext._active_spark_context
            if active is not None and active._engine.pid == os.getpid():
                return active
            return cls(conf=conf)

    def stop(self) -> None:
        """Ends all jobs and executors and removes their scratch files; more calls do nothing."""
        with SparkContext._lock, Uninterrupted():
            if self._engine.stopped or self._engine.pid != os.getpid():
                return
            with Interruptible():
                self._checkpoints.finish()
            self._close()

    def _close(self) -> None:
        self._bars.stop()
        self._engine.stop()
        self._chronicle.close(self._engine.cluster.now_s())
        self._leave_ring()
        atexit.unregister(self.stop)
        SparkFiles._root_directory = None
        if SparkContext._active_spark_context is self:
            SparkContext._active_spark_context = None

    def __enter__(self) -> SparkContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __reduce__(self) -> NoReturn:
        cure = "It lives in the driver: use rows, broadcasts and accumulators."
        raise ReferencedInTask("SparkContext", cure, ONLY_ON_DRIVER)

    def __repr__(self) -> str:
        return f"<SparkContext master={self.master} appName={self.appName}>"

    def _described(self) -> str:
        """The context as errors name it."""
        return f"SparkContext(app={self.appName}, master={self.master}) created at {self._site}"

    def _ending(self) -> str | None:
        """Why nothing of this context can be used any more; None while it can."""
        return self._engine.ending()

    def _repr_html_(self) -> str:
        return context_table(self)

    # What the context is

    @property
    def version(self) -> str:
        """Pyrite's version."""
        return __version__

    @property
    def master(self) -> str:
        """The master URL."""
        return self._conf.get("spark.master") or "local[*]"

    @property
    def appName(self) -> str:
        """The application's name."""
        return self._conf.get("spark.app.name") or "pyrite"

    @property
    def applicationId(self) -> str:
        """A name that no other application has."""
        return self._application_id

    @property
    def sparkHome(self) -> str | None:
        """What the program set as spark.home, which Pyrite does not use, or None."""
        return self._conf.get("spark.home")

    @property
    def uiWebUrl(self) -> str | None:
        """The address of the page that shows this application, with its token, or None."""
        return None if self._chronicle.page is None else self._chronicle.page.url

    @property
    def resources(self) -> dict[str, Any]:
        """Accelerators of the driver: none."""
        return {}

    @property
    def defaultParallelism(self) -> int:
        """The number of partitions where nothing else says how many.

        >>> sc.defaultParallelism > 0
        True
        """
        if self._conf.contains("spark.default.parallelism"):
            return self._settings.int("spark.default.parallelism")
        return self._executors

    def getConf(self) -> SparkConf:
        """A copy of the configuration."""
        return copy_conf(self._conf)

    def sparkUser(self) -> str:
        """The user who runs this."""
        import getpass

        return os.environ.get("SPARK_USER") or getpass.getuser()

    def setLogLevel(self, logLevel: str) -> None:
        """Sets how much is logged: ALL, DEBUG, INFO, WARN, ERROR, FATAL, OFF or TRACE."""
        import logging

        level = logLevel.upper()
        if level not in LOG_LEVELS:
            raise BadValue(f"no log level {logLevel!r}: use one of {', '.join(LOG_LEVELS)}")
        logging.getLogger("pyrite").setLevel(PYTHON_LEVELS.get(level, level))

    @classmethod
    def setSystemProperty(cls, key: str, value: str) -> None:
        """Sets a configuration default for contexts made later."""
        os.environ["PYRITE_CONF"] = ",".join(
            filter(None, [os.environ.get("PYRITE_CONF"), f"{key}={value}"])
        )

    @classmethod
    def getSystemProperty(cls, key: str) -> str | None:
        """A configuration default, as contexts made now would have it, or None."""
        return SparkConf().get(key)

    def statusTracker(self) -> StatusTracker:
        """What runs at the moment."""
        executor_bytes = self._settings.bytes("spark.executor.memory")
        return StatusTracker(self._progress, self.memory, executor_bytes)

    def _said_by_machine(self) -> list[str]:
        """What the row machine said about the functions of the last jobs."""
        return self._progress.said_by_machine()

    def memory(self) -> MemoryReport:
        """What lies in the nodes' pools now, and where kept partitions have been found so far.

        >>> report = sc.memory()
        >>> [node.node for node in report.nodes]
        ['node-0']
        """
        return self._engine.memory()

    def addStorageNode(self, memory: str) -> str:
        """Takes a node into the running application that lends memory and computes nothing.

        For clusters of several nodes (`local-cluster`); gives its name.
        """
        return self._engine.add_node(parse_bytes(memory, bare_unit="m"))

    def removeStorageNode(self, node: str) -> None:
        """Lets a storage-only node go, as soon as what lies in its pool is elsewhere."""
        self._engine.remove_node(NodeId(node), storage_only=True)

    def removeNode(self, node: str) -> None:
        """Lets a node go once its tasks have ended, its kept blocks and map outputs elsewhere."""
        self._engine.remove_node(NodeId(node))

    # Jobs

    def runJob(
        self,
        rdd: RDD[T],
        partitionFunc: Callable[[Iterable[T]], Iterable[U]],
        partitions: Sequence[int] | None = None,
        allowLocal: bool = False,
    ) -> list[U]:
        """Runs a function over some partitions; gives all that it yields.

        >>> sc.runJob(sc.parallelize(range(6), 3), lambda part: [x * x for x in part], [0, 2])
        [0, 1, 16, 25]
        """
        require_rdds(rdd)
        require_context(self, [rdd])
        results = self._run_rows(rdd, lambda _, rows: Streamed(partitionFunc(rows)), partitions)
        return [each for result in results for each in result]

    # What RDDs ask of their context

    def _freeze(self, rdd: RDD[Any]) -> Frozen:
        return self._engine.freezer.freeze(rdd)

    def _freeze_copy(self, rdd: RDD[Any]) -> Frozen:
        return self._engine.freezer.copy(rdd)

    def _new_shuffle(self, rdd: RDD[Any], router: Router, parts: int) -> ShuffleDependency:
        return self._engine.new_shuffle(rdd, router, parts)

    def _clean_shuffle(self, dependency: ShuffleDependency, blocking: bool = False) -> None:
        self._engine.post(ShuffleForgotten(dependency.shuffle))

    def _persist(self, rdd: Any, level: StorageLevel, priority: int) -> None:
        live = self._settings.bool("pyrite.cache.liveRows")
        self._engine.persist(rdd, KeepPlan(level, priority, live))

    def _unpersist(self, rdd: Any) -> None:
        self._engine.unpersist(rdd._id)


def warn_of_misspelled(settings: Settings) -> None:
    """Settings of Spark's that Pyrite does not have are accepted; typing errors should be seen."""
    import logging

    for name, near in settings.misspelled():
        message = "%s is no setting of Pyrite's and does nothing; did you mean %s?"
        logging.getLogger("pyrite").warning(message, name, near)


def copy_conf(conf: SparkConf | None) -> SparkConf:
    copy = SparkConf(loadDefaults=conf is None)
    return copy if conf is None else copy.setAll(conf.getAll())


def split_list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
