"""The Group Tree: consecutive partitions in groups that split and merge by size (Stark, III-C2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """The partitions of a group: from `first` up to, and without, `end`."""

    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first


class Resized(NamedTuple):
    """A change of the tree: one group that split in two, or two that merged into one."""

    before: tuple[Span, ...]
    after: tuple[Span, ...]
    bytes: int


@dataclass(slots=True, eq=False)
class Branch:
    """A node of the tree: a group where it has no children."""

    span: Span
    children: tuple[Branch, Branch] | None = None

    def leaves(self) -> Iterator[Branch]:
        """The groups, from left to right."""
        pending = [self]
        while pending:
            branch = pending.pop()
            if branch.children is None:
                yield branch
            else:
                pending += reversed(branch.children)


class GroupTree:
    """All partitions of a collection in groups.

    >>> tree = GroupTree(8, groups=4)
    >>> tree.resize([9, 9, 1, 1, 0, 0, 0, 0], most_bytes=16, least_bytes=8)
    [Resized(before=(Span(first=0, end=2),), after=(Span(first=0, end=1), Span(first=1, end=2)), \
bytes=18), Resized(before=(Span(first=4, end=6), Span(first=6, end=8)), after=(Span(first=4, \
end=8),), bytes=0)]
    >>> [tuple(span) for span in tree.groups()]
    [(0, 1), (1, 2), (2, 4), (4, 8)]
    """

    def __init__(self, partitions: int, groups: int) -> None:
        assert 0 < groups <= partitions, (partitions, groups)
        # Sizes differ by one at most.
        bounds = [partitions * number // groups for number in range(groups + 1)]
        leaves = [Branch(Span(*pair)) for pair in pairwise(bounds)]
        self.root = complete(leaves)
        self.version = 0
        self._group_of: list[Span] = []
        self._index()

    def groups(self) -> list[Span]:
        """The groups, in the order of their partitions."""
        return [leaf.span for leaf in self.root.leaves()]

    def group_of(self, partition: int) -> Span:
        return self._group_of[partition]

    def resize(self, sizes: Sequence[int], most_bytes: int, least_bytes: int) -> list[Resized]:
        """Splits and merges until no group is above the most, and no siblings below the least.

        With a most of at least twice the least this ends, and the same sizes change nothing again.
        """
        sums = [0, *accumulate(sizes)]
        changes = [*self._split(sums, most_bytes), *self._merge(sums, least_bytes)]
        if changes:
            self.version += 1
            self._index()
        return changes

    def _split(self, sums: Sequence[int], most_bytes: int) -> Iterator[Resized]:
        for leaf in list(self.root.leaves()):
            pending = [leaf]
            while pending:
                branch = pending.pop()
                span = branch.span
                size = sums[span.end] - sums[span.first]
                if size > most_bytes and len(span) > 1:
                    middle = (span.first + span.end) // 2
                    left, right = Span(span.first, middle), Span(middle, span.end)
                    branch.children = Branch(left), Branch(right)
                    pending += reversed(branch.children)
                    yield Resized((span,), (left, right), size)

    def _merge(self, sums: Sequence[int], least_bytes: int) -> Iterator[Resized]:
        # Children before parents, so that merged groups may merge again.
        order = [self.root]
        for branch in order:
            order += branch.children or ()
        for branch in reversed(order):
            if branch.children is None or any(each.children for each in branch.children):
                continue
            size = sums[branch.span.end] - sums[branch.span.first]
            if size < least_bytes:
                left, right = branch.children
                branch.children = None
                yield Resized((left.span, right.span), (branch.span,), size)

    def _index(self) -> None:
        self._group_of = [span for span in self.groups() for _ in range(len(span))]

    def check(self) -> None:
        """The groups cover each partition exactly once."""
        groups = self.groups()
        assert groups[0].first == 0 and all(map(len, groups))
        assert all(left.end == right.first for left, right in pairwise(groups))
        assert self._group_of == [span for span in groups for _ in range(len(span))]
        assert len(self._group_of) == groups[-1].end == self.root.span.end

    def text(self, sizes: Sequence[int]) -> str:
        """The tree as text, a line per node with its partitions and bytes."""
        sums = [0, *accumulate(sizes)]
        lines = []
        pending = [(self.root, 0)]
        while pending:
            branch, depth = pending.pop()
            first, end = branch.span
            mark = "" if branch.children else "group "
            lines.append(f"{'  ' * depth}{mark}{first}-{end - 1}: {sums[end] - sums[first]} bytes")
            pending += [(each, depth + 1) for each in reversed(branch.children or ())]
        return "\n".join(lines)


def complete(leaves: Sequence[Branch]) -> Branch:
    """The smallest complete binary tree of these leaves: all levels full but the last, which is
    filled from the left."""
    if len(leaves) == 1:
        return leaves[0]
    deepest = 1
    while deepest < len(leaves):
        deepest *= 2
    # Of a last level with so many places, the ones on the right that are not needed are empty: the
    # last leaves lie a level higher.
    low = 2 * len(leaves) - deepest
    level = [
        *(joined(leaves[at], leaves[at + 1]) for at in range(0, low, 2)),
        *leaves[low:],
    ]
    while len(level) > 1:
        level = [joined(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0]


def joined(left: Branch, right: Branch) -> Branch:
    return Branch(Span(left.span.first, right.span.end), (left, right))
