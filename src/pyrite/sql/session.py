"""SparkSession: the way to a context that today's PySpark programs take."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from pyrite.conf import SparkConf
from pyrite.context import SparkContext
from pyrite.errors import ReferencedInTask, UserError
from pyrite.rdd.rdd import RDD
from pyrite.settings import BY_NAME
from pyrite.sql.extra import installed
from pyrite.sql.missing import refuse, refuse_without_extra
from pyrite.sql.reader import TextReader, refuse_public

if TYPE_CHECKING:
    from pyrite.sql.catalog import Catalog
    from pyrite.sql.dataframe import DataFrame
    from pyrite.sql.udf import UDFRegistration


class Builder:
    """Collects settings, and makes a session of them or finds the one that runs."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}

    def appName(self, name: str) -> Builder:
        """Sets the application's name."""
        return self.config("spark.app.name", name)

    def master(self, master: str) -> Builder:
        """Sets where to run, such as ``local[2]``."""
        return self.config("spark.master", master)

    def config(
        self,
        key: str | None = None,
        value: object = None,
        conf: SparkConf | None = None,
        *,
        map: dict[str, object] | None = None,
    ) -> Builder:
        """Sets one setting, or those of a SparkConf or a dictionary."""
        if conf is not None:
            self._options.update(conf.getAll())
        for name, each in (map or {}).items():
            self._options[name] = setting_text(each)
        if key is not None:
            self._options[key] = setting_text(value)
        return self

    def enableHiveSupport(self) -> Builder:
        """Changes nothing: there are no tables, and what would read them says so."""
        return self

    def remote(self, url: str) -> NoReturn:
        """Not available: Spark Connect serves DataFrames."""
        refuse("SparkSession.builder.remote")

    def getOrCreate(self) -> SparkSession:
        """The session that runs, with these settings added to its own, or a new one."""
        with SparkSession._lock:
            session = SparkSession.getActiveSession()
            if session is None:
                conf = SparkConf().setAll(self._options.items())
                session = SparkSession(SparkContext.getOrCreate(conf))
            session.conf._values.update(self._options)
            return session

    def create(self) -> NoReturn:
        """Not available: Spark Connect serves DataFrames."""
        refuse("SparkSession.builder.create")


class _FreshBuilder:
    """Gives a new builder each time, so that no program sees another's settings."""

    def __get__(self, instance: object, owner: type) -> Builder:
        return Builder()


class SessionConf:
    """The settings as a session shows them; changes here don't reach a running context."""

    def __init__(self, conf: SparkConf) -> None:
        self._values = dict(conf.getAll())

    def get(self, key: str, *default: str | None) -> str | None:
        """The value of a setting, or the default where there is none."""
        if key in self._values:
            return self._values[key]
        if default:
            return default[0]
        if key in BY_NAME and isinstance(text := BY_NAME[key].default, str):
            return text
        raise UserError(f"there is no setting {key!r}: pass a default, as in get({key!r}, None)")

    def set(self, key: str, value: object) -> None:
        """Sets a value for the program's own use."""
        if key in BY_NAME:
            raise UserError(
                f"{key} is read when the context starts and can't be changed any more: "
                f"use SparkSession.builder.config({key!r}, ...) before getOrCreate()"
            )
        self._values[key] = setting_text(value)

    def unset(self, key: str) -> None:
        """Forgets a value."""
        self._values.pop(key, None)

    def isModifiable(self, key: str) -> bool:
        """Whether a change would do anything: never."""
        return False

    @property
    def getAll(self) -> dict[str, str]:
        """Every setting that has a value."""
        return dict(self._values)


class SparkSession:
    """A context, a reader of text and settings; Spark SQL's part of a session is refused by name.

    >>> from pyrite.sql import SparkSession
    >>> spark = SparkSession.builder.getOrCreate()
    >>> spark.sparkContext is sc
    True
    """

    Builder = Builder
    builder: ClassVar[_FreshBuilder] = _FreshBuilder()

    _active: ClassVar[SparkSession | None] = None
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(
        self, sparkContext: SparkContext, jsparkSession: Any = None, options: Any = None
    ) -> None:
        self._context = sparkContext
        self.conf = SessionConf(sparkContext.getConf().setAll((options or {}).items()))
        SparkSession._active = self

    @classmethod
    def getActiveSession(cls) -> SparkSession | None:
        """The session whose context runs, or None."""
        session = SparkSession._active
        if session is None or session._context is not SparkContext._active_spark_context:
            return None
        return session

    @classmethod
    def active(cls) -> SparkSession:
        """The session whose context runs; an error where there is none."""
        session = cls.getActiveSession()
        if session is None:
            raise RuntimeError(
                "there is no active session: make one with SparkSession.builder.getOrCreate()"
            )
        return session

    @property
    def sparkContext(self) -> SparkContext:
        """The context under this session."""
        return self._context

    @property
    def version(self) -> str:
        """Pyrite's version."""
        return self._context.version

    @property
    def read(self) -> Any:
        """A reader of files; without the extra, of text files."""
        if not installed():
            return TextReader(self._context)
        from pyrite.sql.readwriter import DataFrameReader

        return DataFrameReader(self._context)

    def createDataFrame(
        self,
        data: Any,
        schema: Any = None,
        samplingRatio: float | None = None,
        verifySchema: bool = True,
    ) -> DataFrame:
        """A table of an RDD, of a list of rows, or of a pandas table."""
        need_extra("SparkSession.createDataFrame")
        from pyrite.sql.create import create_table

        return create_table(data, schema, samplingRatio, verifySchema)

    def range(
        self, start: int, end: int | None = None, step: int = 1, numPartitions: int | None = None
    ) -> DataFrame:
        """A table of whole numbers in one column, id."""
        need_extra("SparkSession.range")
        from pyrite.sql.create import number_table

        return number_table(0, start, step) if end is None else number_table(start, end, step)

    def sql(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        """The table that a query in Spark's SQL describes, over tables with names."""
        need_extra("SparkSession.sql")
        if args or kwargs:
            refuse("SparkSession.sql with parameters")
        from pyrite.sql.engine import SqlEngines

        return SqlEngines.get().query(sqlQuery)

    def table(self, tableName: str) -> DataFrame:
        """The table of this name."""
        need_extra("SparkSession.table")
        table: DataFrame = self.read.table(tableName)
        return table

    @property
    def catalog(self) -> Catalog:
        """The names of tables."""
        need_extra("SparkSession.catalog")
        from pyrite.sql.catalog import Catalog

        return Catalog()

    @property
    def udf(self) -> UDFRegistration:
        """Functions of the user's own, by names for SQL."""
        need_extra("SparkSession.udf")
        from pyrite.sql.udf import UDFRegistration

        return UDFRegistration()

    def newSession(self) -> SparkSession:
        """Another session over the same context."""
        return SparkSession(self._context)

    def stop(self) -> None:
        """Stops the context; its tables are gone."""
        engine = sys.modules.get("pyrite.sql.engine")
        if engine is not None:
            engine.SqlEngines.stop()
        self._context.stop()

    def __enter__(self) -> SparkSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __getattr__(self, name: str) -> NoReturn:
        refuse_public(self, name, f"SparkSession.{name}")

    def __reduce__(self) -> NoReturn:
        cure = "It lives in the driver: use rows, broadcasts and accumulators."
        raise ReferencedInTask("SparkSession", cure, "CONTEXT_ONLY_VALID_ON_DRIVER")

    def __repr__(self) -> str:
        return f"<SparkSession master={self._context.master} appName={self._context.appName}>"


def setting_text(value: object) -> str:
    """A value as settings hold it: yes and no in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def need_extra(what: str) -> None:
    """Raises where the extra is not installed, with how to install it."""
    if not installed():
        refuse_without_extra(what)


def to_table(self: RDD[Any], schema: Any = None, sampleRatio: float | None = None) -> DataFrame:
    """A table of the RDD's rows; without a schema the first rows say what their columns are."""
    need_extra("RDD.toDF")
    return SparkSession.active().createDataFrame(self, schema, sampleRatio)


# As in PySpark, RDDs get this method with the first session.
RDD.toDF = to_table  # type: ignore[assignment, method-assign]
