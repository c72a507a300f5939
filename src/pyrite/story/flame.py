"""A flame graph of sampled stacks, as SVG: wide is often, high is deep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

WIDTH = 1200
ROW = 18
# Narrower calls are left out.
LEAST_WIDTH = 1.0
CHARACTER = 7.0
COLOURS = ("#f2a65a", "#eec170", "#e8985e", "#f4b942", "#dd8a5c")


class SampledCall:
    """A call, how often it was seen, and the calls that it made."""

    __slots__ = ("calls", "name", "seen")

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen = 0
        self.calls: dict[str, SampledCall] = {}


class Box(NamedTuple):
    """A call as a rectangle: its first sample, its depth."""

    call: SampledCall
    start: int
    depth: int


def tree_of(stacks: Mapping[str, int]) -> SampledCall:
    """The calls from the root; a stack is its calls joined by semicolons."""
    root = SampledCall("all")
    for stack, count in sorted(stacks.items()):
        root.seen += count
        call = root
        for name in stack.split(";"):
            call = call.calls.setdefault(name, SampledCall(name))
            call.seen += count
    return root


def boxes_of(root: SampledCall) -> Iterator[Box]:
    pending = [Box(root, 0, 0)]
    while pending:
        box = pending.pop()
        yield box
        start = box.start
        for call in box.call.calls.values():
            pending.append(Box(call, start, box.depth + 1))
            start += call.seen


def flame_svg(stacks: Mapping[str, int], title: str) -> str:
    """The whole picture; each box says on hover what it is, and how often it was seen."""
    root = tree_of(stacks)
    scale = WIDTH / max(1, root.seen)
    boxes = [box for box in boxes_of(root) if box.call.seen * scale >= LEAST_WIDTH]
    height = (2 + max(box.depth for box in boxes)) * ROW + ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="monospace" font-size="11" role="img" aria-label={quoteattr(title)}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="4" y="14">{escape(title)}, {root.seen} samples</text>',
    ]
    for call, start, depth in boxes:
        x, width = start * scale, call.seen * scale
        y = height - (depth + 1) * ROW
        colour = COLOURS[sum(map(ord, call.name)) % len(COLOURS)]
        share = f"{call.name}: {call.seen} samples, {call.seen / max(1, root.seen):.1%}"
        text = call.name[: int(width / CHARACTER)] if width > 3 * CHARACTER else ""
        lines.append(
            f"<g><title>{escape(share)}</title>"
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" fill="{colour}"/>'
            f'<text x="{x + 2:.1f}" y="{y + 13}">{escape(text)}</text></g>'
        )
    lines.append("</svg>\n")
    return "\n".join(lines)
