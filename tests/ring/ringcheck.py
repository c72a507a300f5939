"""Judges a history: each path linearizable, every acknowledged byte there, copies complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ringclients import FOLDER, FOREVER_S, PATHS, Happened
from ringworld import RingWorld, Violation

from pyrite.ring.keys import key_of
from pyrite.ring.names import FileBlock

Stepped = tuple[bool, Any]


class PathOp(NamedTuple):
    """What an operation means for one path: a step from its state to the next, if it fits."""

    began_s: float
    ended_s: float
    step: Callable[[Any], list[Any]]
    is_optional: bool
    shown: str


def ops_on(path: str, history: list[Happened]) -> list[PathOp]:
    found = []
    for each in history:
        for step in _steps(path, each):
            is_optional = each.outcome == "unknown"
            shown = f"{each.kind} {each.path} {each.target} {each.outcome} {each.value}"
            ended_s = FOREVER_S if is_optional else each.ended_s
            found.append(PathOp(each.began_s, ended_s, step, is_optional, shown))
    return found


def _steps(path: str, each: Happened) -> list[Callable[[Any], list[Any]]]:
    """No step where an operation says nothing of the path."""
    if path not in (each.path, each.target):
        return []
    known, value = each.outcome in ("ok", "unknown"), each.value
    match each.kind:
        case "read" if each.outcome == "ok" and each.is_confirmed:
            return [lambda state: [state] if state == value else []]
        case "write" if known:
            return [lambda state: [value] if state != FOLDER and value else []]
        case "create" if known:
            return [lambda state: [value] if state is None and value else []]
        case "create" if each.outcome == "FileExistsError":
            return [lambda state: [state] if state not in (None, FOLDER) else []]
        case "write" | "create" if each.outcome == "IsADirectoryError":
            return [lambda state: [state] if state == FOLDER else []]
        case "remove" if known:
            return [lambda state: [None] if state is not None else []]
        case "remove" | "rename" if each.outcome == "FileNotFoundError" and path == each.path:
            return [lambda state: [state] if state is None else []]
        case "folder" if each.outcome == "ok":
            before = None if value else FOLDER
            return [lambda state: [FOLDER] if state == before else []]
        case "folder" if each.outcome == "unknown":
            return [lambda state: [FOLDER] if state is None else []]
        case "folder" if each.outcome == "FileExistsError":
            return [lambda state: [state] if state not in (None, FOLDER) else []]
        case "rename" if known and path == each.path:
            moved = list(each.moved)
            return [lambda state: [None] if state in moved else []]
        case "rename" if known and path == each.target:
            moved = list(each.moved)
            return [lambda state: list(moved) if state != FOLDER else []]
    return []


def check_linearizable(path: str, history: list[Happened]) -> None:
    """Looks for an order of the operations that explains what each of them saw (Wing and Gong)."""
    ops = sorted(ops_on(path, history), key=lambda op: op.began_s)
    needed = sum(1 << index for index, op in enumerate(ops) if not op.is_optional)
    seen: set[tuple[int, Any]] = set()
    stack: list[tuple[int, Any]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if done & needed == needed:
            return
        left = [index for index in range(len(ops)) if not done >> index & 1]
        # Nothing can come before an operation that had ended when it began.
        horizon_s = min(ops[index].ended_s for index in left)
        for index in left:
            if ops[index].began_s <= horizon_s:
                for after in ops[index].step(state):
                    stack.append((done | 1 << index, after))
        if len(seen) > 300_000:
            return
    told = "\n".join(f"  {op.began_s:.3f} to {op.ended_s:.3f}: {op.shown}" for op in ops)
    raise Violation(f"{path} is not linearizable:\n{told}")


def check_history(history: list[Happened]) -> None:
    for path in PATHS:
        check_linearizable(path, history)
    final = [each for each in history[-len(PATHS) :] if each.value not in (None, FOLDER)]
    ids = [each.value for each in final]
    if len(ids) != len(set(ids)):
        raise Violation(f"a file has two names: {ids}")


def check_copies(world: RingWorld, kept: dict[str, list[FileBlock]]) -> None:
    """Once all is quiet, each record and each block lies at all its copies, and is good."""
    [number] = {each.process.standing.number for each in world.living() if each.process}
    view = world.views[number]
    by_id = {each.id: each for each in world.living()}
    for path, blocks in kept.items():
        holders = [by_id[each.id] for each in view.copies(key_of(path))]
        records = [each.process.records.get(path) for each in holders if each.process]
        if len({record.version for record in records}) != 1:
            raise Violation(f"the copies of {path} differ: {records}")
        saved = [each.disk.items.get(f"record {path}") for each in holders]
        if any(each is not None and each != records[0] for each in saved):
            raise Violation(f"{path} is not on disk as it is in memory")
        for block in blocks:
            for member in view.copies(key_of(block.name)):
                stored = by_id[member.id].disk.blocks.get(block.name)
                if stored is None or not stored.is_good(block.name):
                    raise Violation(f"{member.id} has no good copy of {block.name} of {path}")
