"""A parser of command lines whose errors say what was probably meant."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from pyrite.submitoptions import suggestion


class Parser(argparse.ArgumentParser):
    """Parses the options of one command; `example` shows how it is called."""

    def __init__(self, prog: str | None = None, *, example: str = "", **options: Any) -> None:
        super().__init__(
            prog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )
        self.example = example

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            # Here, not where argparse does it: only this parser knows its options.
            self.refuse_unknown(unknown)
        return found, unknown

    def refuse_unknown(self, unknown: Sequence[str]) -> NoReturn:
        options = [each for each in unknown if each.startswith("-")]
        if not options:
            self.error(f"{' '.join(unknown)}: there is no use for this here")
        name = options[0].partition("=")[0]
        self.error(f"there is no option {name}{suggestion(name, self._option_string_actions)}")

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are required"):
            message = f"{self.first_positional()} is missing: {self.example}"
        super().error(f"{message}\n`{self.prog} --help` tells more")

    def first_positional(self) -> str:
        return str(next(each.metavar for each in self._actions if not each.option_strings))


def check_command(parser: Parser, argv: Sequence[str], known: Iterable[str]) -> None:
    """Refuses a command that there is not, with the one that was probably meant."""
    word = next((each for each in argv if not each.startswith("-")), None)
    if word is None or word in known:
        return
    if word.endswith(".py") or os.path.isfile(word):
        parser.error(f"there is no command {word!r}; did you mean: pyrite run {word}")
    parser.error(f"there is no command {word!r}{suggestion(word, known)}")
