"""Deliberate bugs in copies of map outputs, and in how they take the places of lost ones."""

from __future__ import annotations

from typing import Any

from mutating import mutation

from pyrite.ids import BlockRef
from pyrite.schedule.backups import Backup, Backups

_copies = Backup.copies


@mutation(Backup, "copies", within=1000)
def a_copy_takes_the_place_of_another_maps_output(self: Backup) -> list[BlockRef]:
    return _copies(self)[::-1]


@mutation(Backups, "_lose_backups")
def a_lost_node_keeps_the_copies_on_it(self: Any, node: Any) -> None:
    for fetch in [f for f, each in self.backups.items() if each.segment.place == node]:
        del self.backups[fetch]


@mutation(Backups, "_end_backup", within=1000)
def what_was_lost_while_it_was_copied_has_a_copy(self: Any, fetch: int, is_there: bool) -> None:
    backup = self.backups.pop(fetch)
    outputs = self.outputs.shuffles.get(backup.shuffle)
    live = 0
    if is_there and outputs is not None:
        outputs.backups.update(zip(backup.maps, backup.copies(), strict=True))
        live = len(backup.maps)
    self._drop(self.ledger.end_parcel(backup.segment, live))
