"""Tables read from files and written to them."""

from __future__ import annotations

import shutil
import uuid
from os import PathLike, fspath, makedirs, path
from typing import TYPE_CHECKING, Any

from pyrite.errors import AnalysisException, PySparkValueError
from pyrite.sql.create import create_table
from pyrite.sql.datafiles import files_of
from pyrite.sql.dataframe import Origin
from pyrite.sql.engine import SqlEngines
from pyrite.sql.jsonlines import line_of
from pyrite.sql.missing import refuse
from pyrite.sql.reader import TextReader, refuse_public
from pyrite.sql.scans import SCANS, is_true, quoted, text
from pyrite.sql.types import DataType, StringType, StructType

if TYPE_CHECKING:
    from pyrite.context import SparkContext
    from pyrite.sql.dataframe import DataFrame

VALUE = StructType().add("value", "string")
MODES = ("error", "errorifexists", "overwrite", "append", "ignore", "default")
# What the options of files may say; anything else would be passed over in silence.
READ = {
    "csv": {
        "header",
        "inferschema",
        "sep",
        "delimiter",
        "quote",
        "escape",
        "nullvalue",
        "multiline",
    },
    "json": {"multiline"},
    "parquet": {"mergeschema"},
    "text": {"wholetext"},
}
WRITTEN = {
    "csv": {"header", "sep", "delimiter", "compression"},
    "json": {"compression"},
    "parquet": {"compression"},
    "text": {"compression"},
}
# How a quote inside of a value is written.
BACKSLASH = "\\"
# What is so anyway.
USUAL = {"encoding": "utf-8", "charset": "utf-8", "mode": "permissive"}
COMPRESSIONS = {"none", "uncompressed", "gzip", "gz", "snappy"}


class FileOptions:
    """FileOptions by name, in any case, as readers and writers take them."""

    def __init__(self) -> None:
        self._format = "parquet"
        self._options: dict[str, Any] = {}

    def format(self, source: str) -> Any:
        """Sets the format: csv, json, parquet or text."""
        self._format = source.lower()
        return self

    def option(self, key: str, value: Any) -> Any:
        """Sets one option."""
        self._options[key.lower()] = value
        return self

    def options(self, **options: Any) -> Any:
        """Sets several."""
        for key, value in options.items():
            if value is not None:
                self.option(key, value)
        return self

    def _refuse_unknown(self, what: str, known: set[str]) -> None:
        for key, value in self._options.items():
            usual = USUAL.get(key) == str(value).lower()
            packed = key == "compression" and str(value).lower() not in COMPRESSIONS
            if key != "path" and not usual and (key not in known or packed):
                refuse(f"{what}.option({key!r}, {value!r})")


class DataFrameReader(FileOptions):
    """What ``spark.read`` gives."""

    def __init__(self, context: SparkContext) -> None:
        super().__init__()
        self._context = context
        self._schema: StructType | None = None

    def schema(self, schema: StructType | str) -> DataFrameReader:
        """Sets the columns instead of having them found."""
        found = DataType.fromDDL(schema) if isinstance(schema, str) else schema
        assert isinstance(found, StructType)
        self._schema = found
        return self

    def csv(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:
        """Reads separated values: text, unless inferSchema or a schema says otherwise."""
        return self.load(path, "csv", schema, **options)

    def json(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:
        """Reads JSON, an object per line."""
        return self.load(path, "json", schema, **options)

    def parquet(self, *paths: Any, **options: Any) -> DataFrame:
        """Reads Parquet files."""
        return self.load(list(paths), "parquet", **options)

    def text(self, paths: Any, wholetext: bool = False, **options: Any) -> DataFrame:
        """Reads lines, or whole files, into one column, value."""
        rows = TextReader(self._context).text(paths, wholetext, **options).rdd
        made = create_table(rows, VALUE, None, False)
        made._origin = Origin(rows)
        return made

    def table(self, tableName: str) -> DataFrame:
        """The table or view of this name."""
        return SqlEngines.get().query(f"SELECT * FROM {tableName}")

    def load(
        self, path: Any = None, format: str | None = None, schema: Any = None, **options: Any
    ) -> DataFrame:
        """Reads files of the format that is set."""
        self.options(**options)
        if schema is not None:
            self.schema(schema)
        chosen = (format or self._format).lower()
        if chosen == "text":
            return self.text(path, is_true(self._options.get("wholetext")))
        if chosen not in SCANS:
            refuse(f"spark.read.format({chosen!r})")
        self._refuse_unknown("spark.read", READ[chosen])
        files = files_of(path if path is not None else self._options["path"])
        if not files:
            raise AnalysisException(f"{path} holds no {chosen} files", "UNABLE_TO_INFER_SCHEMA")
        engine = SqlEngines.get()
        folder = self._context._engine.cluster.scratch_folder()
        scan = SCANS[chosen](engine._conn, files, self._schema, self._options, folder)
        return engine.scanned(scan)

    def __getattr__(self, name: str) -> Any:
        refuse_public(self, name, f"spark.read.{name}")


class DataFrameWriter(FileOptions):
    """What ``df.write`` gives: a folder with one file in it, as Spark's with one partition."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__()
        self._frame = frame
        self._mode = "error"

    def mode(self, saveMode: str | None) -> DataFrameWriter:
        """Sets what happens if the folder is there: error, overwrite, append or ignore."""
        if saveMode is not None:
            if saveMode.lower() not in MODES:
                raise PySparkValueError(f"{saveMode!r} is none of {MODES}", "INVALID_SAVE_MODE")
            self._mode = saveMode.lower()
        return self

    def csv(self, path: str | PathLike[str], mode: str | None = None, **options: Any) -> None:
        """Writes separated values."""
        self.save(path, "csv", mode, **options)

    def json(self, path: str | PathLike[str], mode: str | None = None, **options: Any) -> None:
        """Writes an object per line."""
        self.save(path, "json", mode, **options)

    def parquet(self, path: str | PathLike[str], mode: str | None = None, **options: Any) -> None:
        """Writes a Parquet file."""
        self.save(path, "parquet", mode, **options)

    def text(self, path: str | PathLike[str], **options: Any) -> None:
        """Writes the one column, of text, as lines."""
        self.save(path, "text", **options)

    def save(
        self,
        path: str | PathLike[str] | None = None,
        format: str | None = None,
        mode: str | None = None,
        partitionBy: Any = None,
        **options: Any,
    ) -> None:
        """Writes a folder in the format that is set."""
        self.mode(mode).options(**options)
        chosen = (format or self._format).lower()
        if partitionBy is not None or chosen not in ("csv", "json", "parquet", "text"):
            refuse("df.write.partitionBy" if partitionBy else f"df.write.format({chosen!r})")
        self._refuse_unknown("df.write", WRITTEN[chosen])
        folder = fspath(path or self._options["path"]).removeprefix("file://")
        if _ready(folder, self._mode):
            file = f"{folder}/part-00000-{uuid.uuid4()}-c000.{self._suffix(chosen)}"
            self._write(file, chosen)
            with open(f"{folder}/_SUCCESS", "w"):
                pass

    def _suffix(self, chosen: str) -> str:
        suffix = {"text": "txt", "parquet": "snappy.parquet"}.get(chosen, chosen)
        return suffix + (".gz" if self._compressed() and chosen != "parquet" else "")

    def _compressed(self) -> bool:
        return str(self._options.get("compression", "none")).lower() in ("gzip", "gz")

    def _write(self, file: str, chosen: str) -> None:
        if chosen in ("json", "text"):
            self._write_lines(file, chosen)
            return
        given = ["FORMAT parquet"]
        columns = "*"
        if chosen == "csv":
            header = str(is_true(self._options.get("header"))).lower()
            separator = self._options.get("sep", self._options.get("delimiter", ","))
            given = ["FORMAT csv", f"HEADER {header}", f"DELIMITER {text(separator)}"]
            given += [f"ESCAPE {text(BACKSLASH)}"]
            columns = self._trimmed_columns()
            given += ["COMPRESSION gzip"] if self._compressed() else []
        relation = self._frame.session.relation(self._frame, rows=True)
        relation.query(
            "pyrite_written",
            f"COPY (SELECT {columns} FROM pyrite_written) TO {text(file)} ({', '.join(given)})",
        )

    def _trimmed_columns(self) -> str:
        """All columns, text without the spaces around it, as Spark writes it."""
        texts = [quoted(each.name) for each in self._frame.schema if each.dataType == StringType()]
        trimmed = ", ".join(f"trim({name}) AS {name}" for name in texts)
        return f"* REPLACE ({trimmed})" if texts else "*"

    def _write_lines(self, file: str, chosen: str) -> None:
        import gzip

        if chosen == "text" and self._frame.schema.simpleString().count(":") != 1:
            raise AnalysisException("text files hold one column of text", "TEXT_DATA_SOURCE")
        opened = gzip.open if self._compressed() else open
        with opened(file, "wt", encoding="utf-8") as out:
            for row in self._frame.toLocalIterator():
                out.write((line_of(row) if chosen == "json" else row[0] or "") + "\n")

    def __getattr__(self, name: str) -> Any:
        refuse_public(self, name, f"df.write.{name}")


def _ready(folder: str, mode: str) -> bool:
    """Makes the folder, and says whether to write to it."""
    if path.exists(folder):
        if mode == "ignore":
            return False
        if mode == "overwrite":
            shutil.rmtree(folder)
        elif mode != "append":
            raise AnalysisException(
                f"{folder} is there already: set mode('overwrite')", "PATH_ALREADY_EXISTS"
            )
    makedirs(folder, exist_ok=True)
    return True
