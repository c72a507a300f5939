"""Errors as values: when one was raised, of which classes, and what the program itself said.

PySpark wraps what it meets while it pickles in a PicklingError, Pyrite does not: such an error
counts as any.
"""

import builtins
import re
from dataclasses import dataclass

from tests.pyspark.api import submodule

ANY_ERROR = "error"
RAISED = re.compile(r"<raises at (\w+): ([\w|]+)(?: '(.*?)')?>")
# A traceback in the text of PySpark's error: frames are indented, the error is not.
IN_TASK = re.compile(
    r"Traceback \(most recent call last\):\n(?: .*\n|\n)*([\w.]+)(?:: (.*))?$", re.M
)


class Oops(Exception):
    """The error of programs that mean to fail: its message belongs to the answer."""


@dataclass(frozen=True)
class Raised:
    """An error: the moment it was raised, the classes it belongs to, and the program's message."""

    moment: str
    classes: tuple[str, ...]
    message: str = ""

    @classmethod
    def from_error(cls, moment: str, error: Exception) -> "Raised":
        if type(error).__name__ == "Py4JJavaError":
            return cls._from_task_text(moment, str(error))
        # Pyrite's errors carry what the program raised in a task, or while a result was read.
        raised = getattr(error, "original", None) or error
        if not classes_of(raised) and raised.__cause__ is not None:
            raised = raised.__cause__
        return cls(moment, classes_of(raised), str(raised) if isinstance(raised, Oops) else "")

    @classmethod
    def _from_task_text(cls, moment: str, text: str) -> "Raised":
        """From inside the JVM, where only the text tells which error a task met."""
        met = IN_TASK.findall(text)
        name, message = met[-1] if met else ("", "")
        name = name.rpartition(".")[2]
        if not is_telling(name):
            return cls(moment, ())
        return cls(moment, (name,), message if name == Oops.__name__ else "")

    def __str__(self) -> str:
        said = f" {self.message.splitlines()[0]!r}" if self.message else ""
        return f"<raises at {self.moment}: {'|'.join(self.classes) or ANY_ERROR}{said}>"


def classes_of(error: BaseException) -> tuple[str, ...]:
    return tuple(each.__name__ for each in type(error).__mro__ if is_telling(each.__name__))


def is_telling(name: str) -> bool:
    """Whether both packages have the class, and not everything belongs to it."""
    general = ("object", "BaseException", "Exception")
    if name == Oops.__name__ or name.startswith("PySpark"):
        return name == Oops.__name__ or hasattr(submodule("errors"), name)
    return hasattr(builtins, name) and name not in general


def agrees(recorded: str, found: str) -> bool:
    """Whether the texts are equal, where an error recorded from inside the JVM stands for any."""
    if RAISED.sub(r"<raises at \1>", recorded) != RAISED.sub(r"<raises at \1>", found):
        return False
    pairs = zip(RAISED.findall(recorded), RAISED.findall(found), strict=True)
    return all(
        wanted == ANY_ERROR or (wanted.split("|")[0] in classes.split("|") and message == said)
        for (_, wanted, message), (_, classes, said) in pairs
    )
