"""What a path argument of PySpark stands for: the files to read, in order, with their sizes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike

from pyrite.io import globs
from pyrite.io.errors import InputMissing, InputUnreadable, NestedFolder
from pyrite.io.filesystem import FileEntry, FileSystem, display, locate


def address_of(path: str | PathLike[str]) -> str:
    """A path argument as text: PySpark's are strings, and pathlib's are taken too."""
    if isinstance(path, str):
        return path
    if isinstance(path, PathLike):
        return os.fsdecode(path)
    kind = type(path).__name__
    raise TypeError(f"a path must be a str or an os.PathLike, such as pathlib.Path, not {kind}")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read; its size is None where its storage does not tell."""

    path: str
    size: int | None
    block_ends: tuple[int, ...] = ()
    block_keys: tuple[int, ...] = ()


def expand(path_argument: str, *, skip_folders: bool = False) -> list[InputFile]:
    """The files behind comma-separated paths, patterns and folders, all of them readable."""
    return [
        file
        for address in globs.split_outside_braces(path_argument)
        for file in _expand_one(address, skip_folders)
    ]


def is_hidden(name: str) -> bool:
    """Whether a file is no input: Hadoop keeps its own notes under such names."""
    return name.startswith(("_", "."))


def _expand_one(address: str, skip_folders: bool) -> list[InputFile]:
    storage, path = locate(address)
    found = []
    for entry in _matching(storage, path):
        if entry.is_folder:
            found += _files_inside(storage, entry, skip_folders)
        else:
            found.append(entry)
    return [_readable(storage, entry) for entry in found]


def _matching(storage: FileSystem, path: str) -> list[FileEntry]:
    shown = display(storage.address(path))
    # In a web address a question mark begins the query.
    if globs.has_pattern(path) and not shown.startswith(("http://", "https://")):
        entries = [entry for entry in globs.find(storage, path) if not is_hidden(entry.name)]
        if not entries:
            raise InputMissing(f"Input Pattern {shown} matches 0 files", path)
        return entries
    entry = storage.entry(path)
    if entry is None:
        raise InputMissing(f"Input path does not exist: {shown}", path)
    if is_hidden(entry.name):
        why = "it is there, but names that start with _ or . are hidden: rename it to read it"
        raise InputMissing(f"Input path does not exist: {shown} ({why})", path)
    return [entry]


def _files_inside(storage: FileSystem, folder: FileEntry, skip_folders: bool) -> list[FileEntry]:
    try:
        children = storage.children(folder.path)
    except PermissionError as error:
        raise _unreadable(storage, folder) from error
    visible = [entry for entry in children if not is_hidden(entry.name)]
    nested = [entry for entry in visible if entry.is_folder]
    if nested and not skip_folders:
        shown = display(storage.address(folder.path))
        message = (
            f"Path: {display(storage.address(nested[0].path))} is a directory inside the input "
            f"folder {shown}, where only files are read; read one level deeper with {shown}/*"
        )
        raise NestedFolder(message, nested[0].path)
    return [entry for entry in visible if not entry.is_folder]


def _readable(storage: FileSystem, entry: FileEntry) -> InputFile:
    if not storage.may_read(entry.path):
        raise _unreadable(storage, entry)
    return InputFile(storage.address(entry.path), entry.size, entry.block_ends, entry.block_keys)


def _unreadable(storage: FileSystem, entry: FileEntry) -> InputUnreadable:
    shown = display(storage.address(entry.path))
    kind = "folder" if entry.is_folder else "file"
    cure = "ask its owner for read permission, or leave it out of the input"
    return InputUnreadable(f"Permission denied: the input {kind} {shown}: {cure}", entry.path)
