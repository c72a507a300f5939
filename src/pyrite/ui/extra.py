"""The packages that only the page needs."""

from __future__ import annotations

from importlib.util import find_spec

from pyrite.errors import UserError

PACKAGES = ("starlette", "uvicorn")


class MissingExtra(UserError):
    """The packages of the page are not installed."""


def missing_packages() -> list[str]:
    return [each for each in PACKAGES if find_spec(each) is None]


def check_extra() -> None:
    """Says what is missing, before anything is opened."""
    if missing := missing_packages():
        raise MissingExtra(f"the page needs {' and '.join(missing)}: pip install 'pyrite[ui]'")
