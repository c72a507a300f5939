"""Separated values as Spark's parser reads them, in a form that DuckDB reads alike."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from tempfile import mkstemp
from typing import NamedTuple, TextIO, cast


class CsvRules(NamedTuple):
    """The characters of a file, and whether a value in quotes may have several lines."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    multi_line: bool = False


def is_read_otherwise(file: str, rules: CsvRules) -> bool:
    with opened(file) as lines:
        return needs_rewriting(lines, rules)


def needs_rewriting(lines: Iterable[str], rules: CsvRules) -> bool:
    """Whether Spark and DuckDB may read lines otherwise: where a quote is more than a bracket."""
    return bool(rules.quote) and any(
        rules.escape in line or rules.quote * 2 in line or line.count(rules.quote) % 2
        for line in lines
        if rules.quote in line
    )


def rewrite(files: list[str], rules: CsvRules, folder: str) -> list[str]:
    """Copies of files in a folder, rewritten; the files themselves if all may stay as they are."""
    local = all("://" not in file for file in files)
    if not local or not any(is_read_otherwise(file, rules) for file in files):
        return files
    copies = []
    for file in files:
        number, copy = mkstemp(".csv", "rewritten-", folder)
        with os.fdopen(number, "w", encoding="utf-8", newline="") as out, opened(file) as source:
            out.write(rewritten(source.read(), rules))
        copies.append(copy)
    return copies


def opened(file: str) -> TextIO:
    if file.endswith(".gz"):
        return cast(TextIO, gzip.open(file, "rt", encoding="utf-8", newline=""))
    return open(file, encoding="utf-8", newline="")


def rewritten(text: str, rules: CsvRules) -> str:
    r"""The same rows with commas, and with quotes only around values that need them.

    >>> print(rewritten("1,'it\\'s',x", CsvRules(quote="'")), end="")
    1,it's,x
    """
    return "".join(f"{','.join(map(bracketed, row))}\n" for row in rows(text, rules))


def bracketed(value: str) -> str:
    """A value in quotes, if it can't do without, with its own quotes doubled."""
    if any(char in value for char in '",\n\r'):
        return '"' + value.replace('"', '""') + '"'
    return value


def rows(text: str, rules: CsvRules) -> Iterator[list[str]]:
    """The values of each row; empty lines are none, and all rows have as many as the first."""
    whole = text.replace("\r\n", "\n")
    width = 0
    for record in [whole] if rules.multi_line else whole.split("\n"):
        place = 0
        while place < len(record):
            row, place = read_row(record, place, rules)
            if row == [""]:
                continue
            width = width or len(row)
            yield (row + [""] * width)[:width]


def read_row(text: str, place: int, rules: CsvRules) -> tuple[list[str], int]:
    """The values from a place up to the end of the line, and where the next line begins."""
    row: list[str] = []
    while True:
        if text.startswith(rules.quote, place):
            value, place = read_quoted(text, place, rules)
        else:
            end = end_of_value(text, place, rules)
            value, place = text[place:end], end
        row.append(value)
        if not text.startswith(rules.delimiter, place):
            return row, place + 1
        place += len(rules.delimiter)


def read_quoted(text: str, place: int, rules: CsvRules) -> tuple[str, int]:
    """A value in quotes, and where it ends. If a quote in it is neither escaped nor the last
    character, the value is read as if it had no quotes around it."""
    quote, escape = rules.quote, rules.escape
    value: list[str] = []
    at = place + 1
    while at < len(text):
        char = text[at]
        following = text[at + 1 : at + 2]
        if char == escape and following in ({quote} if escape == quote else {quote, escape}):
            value.append(following)
            at += 2
        elif char != quote:
            value.append(char)
            at += 1
        elif not following or following == "\n" or text.startswith(rules.delimiter, at + 1):
            return "".join(value), at + 1
        else:
            end = end_of_value(text, at + 1, rules)
            return quote + "".join(value) + quote + text[at + 1 : end], end
    return "".join(value), at


def end_of_value(text: str, place: int, rules: CsvRules) -> int:
    ends = [text.find(each, place) for each in (rules.delimiter, "\n")]
    return min((end for end in ends if end >= 0), default=len(text))
