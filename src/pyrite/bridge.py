"""What programs reach for when they want Spark's JVM: there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyrite.errors import NotSupported

CURES = {
    "_gateway": "use what the RDD API offers",
    "_jrdd": "use what the RDD API offers",
    "_jsc": "files are read through fsspec, which takes keys and addresses from its own "
    "configuration and from the environment; for the rest use what the RDD API offers",
    "_jvm": "use what the RDD API offers, and Python's own libraries",
}


class NoBridge(NotSupported, AttributeError):
    """An attribute that leads PySpark's programs to the JVM."""

    def __init__(self, owner: object, name: str) -> None:
        message = f"{type(owner).__name__}.{name} leads to the JVM, which Pyrite does not have"
        super().__init__(f"{message}: {CURES[name]}")


class Bridgeless:
    """Has no attributes of the JVM, and says so."""

    # Hidden from type checkers, for which it would make any attribute right.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in CURES:
                raise NoBridge(self, name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)
