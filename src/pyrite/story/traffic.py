"""Which node lends room to which, and what moves between nodes, folded from records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pyrite.story.records import Fields, NodeGone, Record, Told

MEMORY = "memory"


class Loan(NamedTuple):
    """Room for one segment in the pool of another node."""

    lender: str
    borrower: str
    bytes: int


class SegmentCopy(NamedTuple):
    """A copy of bytes that was ordered from one node to another."""

    source: str
    target: str
    bytes: int
    medium: str


class Traffic:
    """Loans that last, and what was lent, moved and fetched ahead in all, by pairs of nodes."""

    def __init__(self) -> None:
        # By the name of the segment.
        self.loans: dict[str, Loan] = {}
        # Lender and borrower; source and target.
        self.lent_bytes: Counter[tuple[str, str]] = Counter()
        self.moved_bytes: Counter[tuple[str, str]] = Counter()
        self.fetched_bytes: Counter[tuple[str, str]] = Counter()
        self.to_disk_bytes: Counter[str] = Counter()
        self.fetches = 0
        self.fetches_failed = 0
        self._wanted: dict[tuple[int, str], tuple[str, int]] = {}
        self._moves: dict[int, tuple[str, SegmentCopy]] = {}
        self._folds: dict[str, Callable[[Fields], None]] = {
            "SpaceWanted": self._space_wanted,
            "GrantSpace": self._granted,
            "MoveSegment": self._move,
            "SegmentMoved": self._moved,
            "SegmentNotMoved": self._not_moved,
            "DropSegments": self._dropped,
            "FetchParts": self._fetch,
            "PartsNotFetched": self._not_fetched,
        }

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        """Passes records on, and folds those that tell of traffic."""
        for record in records:
            if type(record) is Told:
                fold = self._folds.get(record.kind)
                if fold is not None:
                    fold(record.fields)
            elif type(record) is NodeGone:
                self._node_gone(record.node)
            yield record

    def _space_wanted(self, told: Fields) -> None:
        self._wanted[told["writer"], told["segment"]] = told["node"], told["bytes"]

    def _granted(self, told: Fields) -> None:
        wanted = self._wanted.pop((told["writer"], told["segment"]), None)
        lender = told["place"]
        if wanted is not None and lender is not None and lender != wanted[0]:
            self._lend(told["segment"], Loan(lender, *wanted))

    def _lend(self, segment: str, loan: Loan) -> None:
        self.loans[segment] = loan
        self.lent_bytes[loan.lender, loan.borrower] += loan.bytes

    def _move(self, told: Fields) -> None:
        transfer = SegmentCopy(told["node"], told["target"], told["bytes"], told["medium"])
        self._moves[told["move"]] = told["new_segment"], transfer

    def _moved(self, told: Fields) -> None:
        found = self._moves.pop(told["move"], None)
        if found is None:
            return
        segment, move = found
        if move.medium != MEMORY:
            self.to_disk_bytes[move.target] += move.bytes
        elif move.source != move.target:
            self.moved_bytes[move.source, move.target] += move.bytes
            self._lend(segment, Loan(move.target, move.source, move.bytes))

    def _not_moved(self, told: Fields) -> None:
        self._moves.pop(told["move"], None)

    def _dropped(self, told: Fields) -> None:
        for segment in told["segments"]:
            self.loans.pop(segment, None)

    def _fetch(self, told: Fields) -> None:
        self.fetches += 1
        self.fetched_bytes[told["source"], told["node"]] += told["bytes"]

    def _not_fetched(self, told: Fields) -> None:
        self.fetches_failed += 1

    def _node_gone(self, node: str) -> None:
        self.loans = {segment: loan for segment, loan in self.loans.items() if loan.lender != node}
