"""Lines of code without their literals: what a program has written down may be rows."""

from __future__ import annotations

import linecache
import tokenize
import traceback
from functools import lru_cache

# Since Python 3.12 the text within an f-string is a token of its own.
_NAMES = ("STRING", "NUMBER", "COMMENT", "FSTRING_MIDDLE")
HIDDEN = frozenset(getattr(tokenize, name, -1) for name in _NAMES)
QUOTES = ("'", '"')


def unquoted_frame(frame: traceback.FrameSummary) -> traceback.FrameSummary:
    """The same place, with its line of code in which literals are stars."""
    lines = unquoted(tuple(linecache.getlines(frame.filename)))
    number = frame.lineno or 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    ends_here = frame.end_lineno == frame.lineno
    return traceback.FrameSummary(
        frame.filename,
        frame.lineno,
        frame.name,
        lookup_line=False,
        line=line,
        end_lineno=frame.end_lineno if ends_here else None,
        colno=frame.colno if ends_here else None,
        end_colno=frame.end_colno if ends_here else None,
    )


@lru_cache(maxsize=16)
def unquoted(lines: tuple[str, ...]) -> tuple[str, ...]:
    r"""A program with stars for what its literals and comments hold; none of it where it is no
    Python. A line stays as long in bytes, so that columns still hold.

    >>> unquoted(("row['name'] == str(42)  # as agreed\n",))
    ("row['****'] == str(**)  ***********\n",)
    """
    found = list(lines)
    try:
        tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    except (tokenize.TokenError, SyntaxError):
        return ()
    # From the end on: a change does not move what comes before it.
    for kind, _, (first, begin), (last, end), _ in reversed(tokens):
        if kind in HIDDEN:
            for number in range(first, last + 1):
                line = found[number - 1]
                start = begin if number == first else 0
                stop = end if number == last else len(line.rstrip("\r\n"))
                found[number - 1] = line[:start] + stars(line[start:stop]) + line[stop:]
    return tuple(found)


def stars(text: str) -> str:
    """As many stars as the text has bytes; quotes around it stay."""
    quote = text[0] if len(text) > 1 and text[0] == text[-1] and text.startswith(QUOTES) else ""
    inner = text.removeprefix(quote).removesuffix(quote)
    return quote + "*" * len(inner.encode(errors="surrogatepass")) + quote
