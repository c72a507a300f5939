"""Hadoop's file patterns: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}` and `\\` to take a sign literally."""

from __future__ import annotations

import re

from pyrite.io.errors import BadPath
from pyrite.io.filesystem import FileEntry, FileSystem

_WILDCARDS = {"*": ".*", "?": "."}


def has_pattern(path: str) -> bool:
    """Whether a path means more than itself."""
    return any(sign in path for sign in "*?[{\\")


def find(storage: FileSystem, pattern: str) -> list[FileEntry]:
    """Every entry that the pattern matches, sorted by path."""
    found = [entry for single in expand_folders(pattern) for entry in _find(storage, single)]
    return sorted(found, key=lambda entry: entry.path)


def expand_folders(pattern: str) -> list[str]:
    """The patterns that a pattern stands for, once no braces reach across a slash."""
    for start, end in _groups(pattern):
        body = pattern[start + 1 : end]
        if "/" in body:
            choices = split_outside_braces(body)
            combined = [pattern[:start] + choice + pattern[end + 1 :] for choice in choices]
            return [single for longer in combined for single in expand_folders(longer)]
    return [pattern]


def split_outside_braces(text: str) -> list[str]:
    """The pieces of a text between the commas that no braces enclose."""
    pieces, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif sign == "," and depth == 0:
            pieces.append(text[start:index])
            start = index + 1
    return [*pieces, text[start:]]


def _groups(pattern: str) -> list[tuple[int, int]]:
    """Where each pair of braces opens and closes."""
    groups, open_at, index = [], list[int](), 0
    while index < len(pattern):
        sign = pattern[index]
        if sign == "\\":
            index += 1
        elif sign == "{":
            open_at.append(index)
        elif sign == "}" and open_at:
            groups.append((open_at.pop(), index))
        index += 1
    return sorted(groups)


def _find(storage: FileSystem, pattern: str) -> list[FileEntry]:
    components = pattern.split("/")
    literal = 0
    while literal < len(components) and not has_pattern(components[literal]):
        literal += 1
    root = storage.entry("/".join(components[:literal]) or "/")
    found = [root] if root else []
    for component in components[literal:]:
        matches = translate(component, pattern)
        found = [
            child
            for folder in found
            if folder.is_folder
            for child in storage.children(folder.path)
            if matches.fullmatch(child.name)
        ]
    return found


def translate(component: str, pattern: str) -> re.Pattern[str]:
    """The regular expression for one component of a pattern."""
    parts, depth, index = [], 0, 0
    while index < len(component):
        sign = component[index]
        if sign == "\\":
            index += 1
            if index == len(component):
                raise _illegal(pattern, "a backslash at the end takes no sign literally")
            parts.append(re.escape(component[index]))
        elif sign == "[":
            chosen, index = _character_class(component, index, pattern)
            parts.append(chosen)
        elif sign == "{":
            depth += 1
            parts.append("(?:")
        elif sign == "}" and depth:
            depth -= 1
            parts.append(")")
        elif sign == "," and depth:
            parts.append("|")
        else:
            parts.append(_WILDCARDS.get(sign) or re.escape(sign))
        index += 1
    if depth:
        raise _illegal(pattern, "a { is never closed")
    return re.compile("".join(parts), re.DOTALL)


def _character_class(component: str, start: int, pattern: str) -> tuple[str, int]:
    """The class that opens at `start`, and where it closes."""
    index = start + 1
    chosen = "["
    if component[index : index + 1] in ("^", "!"):
        chosen += "^"
        index += 1
    while index < len(component) and component[index] != "]":
        if component[index] == "\\":
            index += 1
            chosen += re.escape(component[index : index + 1])
        else:
            chosen += component[index] if component[index] == "-" else re.escape(component[index])
        index += 1
    if index >= len(component) or chosen in ("[", "[^"):
        raise _illegal(pattern, "a [ is never closed, or nothing is inside")
    return chosen + "]", index


def _illegal(pattern: str, reason: str) -> BadPath:
    return BadPath(f"Illegal file pattern {pattern}: {reason}", pattern)
