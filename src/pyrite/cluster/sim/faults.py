"""Faults of a simulated cluster, and how they are injected."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

from pyrite.cluster.node.fence import Fence
from pyrite.cluster.sim.store import SimNode
from pyrite.cluster.sim.world import Fault
from pyrite.ids import Medium
from pyrite.remote.protocol import is_segment
from pyrite.schedule.events import NodeLeaves

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster

FLAPS = 4
# How much longer than the driver a node that hears nothing waits before it gives itself up.
ALONE = 2.0
# What a node takes to come back.
BACK_S = 0.01
CORRUPT_BYTES = 16


class Faults:
    """Injects the world's faults, each after its event."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.timeline = cluster.timeline
        self.waiting: dict[int, list[Fault]] = {}
        for fault in cluster.world.faults:
            self.waiting.setdefault(fault.event, []).append(fault)
        self.happened: list[Fault] = []
        # The files that were changed or removed.
        self.spoilt: set[str] = set()

    def after_event(self, number: int) -> None:
        for fault in self.waiting.pop(number, ()):
            self.timeline.after(fault.delay_s, self._happen, fault)

    def _happen(self, fault: Fault) -> None:
        dice = Random(f"fault {fault} {self.cluster.world.seed}")
        node = self.cluster.nodes[fault.number % len(self.cluster.nodes)]
        until_s = self.timeline.now_s + fault.lasting_s
        happened = True
        match fault.kind:
            case "kill executor":
                happened = self._kill_executor(fault.number)
            case "crash node":
                happened = self.crash(node, fault.lasting_s)
            case "flap node":
                happened = self._flap(node, fault.lasting_s, FLAPS)
            case "slow node":
                node.slow_until_s = until_s
            case "hang node":
                happened = self._hang(node, min(fault.lasting_s, self.cluster.world.lost_after_s))
            case "lose node":
                happened = self._hang(node, self.cluster.world.lost_after_s + fault.lasting_s)
            case "cut node":
                happened = self._cut(node, fault.lasting_s)
            case "corrupt block":
                happened = self._corrupt(node, dice)
            case "delete segment":
                happened = self._delete(node, dice)
            case "truncate segment":
                happened = self._truncate(node, dice)
            case "fail starts":
                node.stillborn_until_s = until_s
            case "fill disk":
                node.disk_full_until_s = until_s
            case "fill memory":
                node.memory_full_until_s = until_s
            case "add storage":
                self.cluster.add_node(dice.choice((0, 1 << 10, 1 << 13)))
            case "remove storage":
                happened = self._remove_storage(fault.number)
            case "drain node":
                happened = self._drain_node(fault)
            case "restart driver":
                assert self.cluster.restart_driver is not None
                self.cluster.restart_driver()
            case _:
                raise AssertionError(fault.kind)
        if happened:
            self.happened.append(fault)

    def _kill_executor(self, number: int) -> bool:
        executors = list(self.cluster.executors.values())
        if not executors:
            return False
        self.cluster.kill_executor(executors[number % len(executors)], "killed by SIGKILL")
        return True

    def _remove_storage(self, number: int) -> bool:
        plans = zip(self.cluster.nodes, self.cluster.plans, strict=True)
        lenders = [node for node, plan in plans if not plan.executors and node.up]
        if not lenders:
            return False
        self.cluster.post(NodeLeaves(lenders[number % len(lenders)].id))
        return True

    def _drain_node(self, fault: Fault) -> bool:
        """Asks a node with executors to leave, with a deadline where the fault lasts."""
        plans = zip(self.cluster.nodes, self.cluster.plans, strict=True)
        hosts = [
            node
            for node, plan in plans
            if plan.executors and not node.asked_to_leave and not node.has_left
        ]
        # The program must be able to go on, even while another node is down for a while.
        if len(hosts) < 2:
            return False
        node = hosts[fault.number % len(hosts)]
        node.asked_to_leave = True
        by_s = self.timeline.now_s + fault.lasting_s if fault.number % 2 else None
        self.cluster.post(NodeLeaves(node.id, by_s))
        return True

    def crash(self, node: SimNode, away_s: float) -> bool:
        """Stops a node at once; it starts again, empty, after a while."""
        if not node.up:
            return False
        self._end(node)
        node.up = False
        away_s = max(away_s, 0.001)
        noticed_s = min(self.cluster.world.lost_after_s, self.cluster.latency_s() * 10)
        self.timeline.after(noticed_s, self._notice, node, node.incarnation)
        self.timeline.after(away_s, self._come_back, node, node.incarnation)
        return True

    def leave(self, node: SimNode) -> None:
        """Ends a node that was asked to leave, for good."""
        if node.up:
            self._end(node)
            node.up = False
            node.has_left = True
            self.cluster.report_node_lost(node, "it was asked to leave")

    def _end(self, node: SimNode) -> None:
        """Ends the node's executors and empties its folders."""
        for executor in [e for e in self.cluster.executors.values() if e.place is node]:
            self.cluster.end_executor(executor)
        node.incarnation += 1
        node.hung_until_s = node.cut_until_s = 0.0
        node.make_folders()

    def _notice(self, node: SimNode, incarnation: int) -> None:
        """Reports a crashed node; if it is back by then, the driver hears of its return only."""
        if node.incarnation == incarnation and not node.up:
            self.cluster.report_node_lost(node, "it does not answer")

    def _come_back(self, node: SimNode, incarnation: int) -> None:
        if node.incarnation == incarnation and not node.up:
            self._join_again(node)

    def _join_again(self, node: SimNode) -> None:
        if node.id in self.cluster.growth.sent_away:
            node.up, node.has_left = False, True
            self.cluster.growth.follow()
        else:
            self.cluster.join_node(self.cluster.nodes.index(node))

    def _flap(self, node: SimNode, away_s: float, times: int) -> bool:
        happened = self.crash(node, min(away_s, 0.2))
        if times > 1:
            self.timeline.after(0.4, self._flap_again, node, away_s, times - 1)
        return happened

    def _flap_again(self, node: SimNode, away_s: float, times: int) -> None:
        self._flap(node, away_s, times)

    def _hang(self, node: SimNode, for_s: float) -> bool:
        """Hangs a node; the driver gives it up if that lasts too long."""
        if self._is_silent(node):
            return False
        node.hung_until_s = self.timeline.now_s + for_s
        self._give_up_after(node, for_s)
        return True

    def _cut(self, node: SimNode, for_s: float) -> bool:
        """Parts a node from the driver; its executors work on, and reach the other nodes."""
        if self._is_silent(node):
            return False
        now_s, alone_s = self.timeline.now_s, ALONE * self.cluster.world.lost_after_s
        node.cut_until_s = now_s + for_s
        self._give_up_after(node, for_s)
        self._look(node, node.incarnation, Fence(alone_s, now_s))
        return True

    def _look(self, node: SimNode, incarnation: int, fence: Fence) -> None:
        """The agent of a node that is cut off looks whether it has been given up."""
        now_s, back_s, look_s = self.timeline.now_s, node.cut_until_s, fence.look_s()
        if node.incarnation != incarnation or back_s <= now_s or look_s is None:
            return
        if fence.is_over(now_s):
            self.cluster.reached["node that fenced itself"] += 1
            self._end(node)
            node.up = False
            self.timeline.at(back_s + BACK_S, self._come_back, node, node.incarnation)
        else:
            self.timeline.after(look_s, self._look, node, incarnation, fence)

    def _is_silent(self, node: SimNode) -> bool:
        now_s = self.timeline.now_s
        return not node.up or node.stands_still(now_s) or node.cut_until_s > now_s

    def _give_up_after(self, node: SimNode, for_s: float) -> None:
        """The driver gives up a node that is silent for too long; it starts anew afterwards."""
        if for_s > self.cluster.world.lost_after_s:
            given_up_s = self.cluster.world.lost_after_s
            self.timeline.after(given_up_s, self._give_up, node, node.incarnation)
            self.timeline.after(for_s + BACK_S, self._start_anew, node, node.incarnation)

    def _give_up(self, node: SimNode, incarnation: int) -> None:
        if node.incarnation == incarnation and node.up:
            self.cluster.report_node_lost(node, "no word from it")

    def _start_anew(self, node: SimNode, incarnation: int) -> None:
        """Restarts a node that was given up, empty; its late messages have been sent."""
        if node.incarnation == incarnation and node.up:
            self._end(node)
            self._join_again(node)

    def spoil(self, node: SimNode, life: int, segment: str, medium: Medium) -> None:
        """Corrupts, truncates or deletes a prefetched segment, if it is still there."""
        path = node.folders.path(segment, medium)
        if node.incarnation == life and os.path.exists(path):
            self.spoilt.add(segment)
            self.cluster.reached["spoilt prefetched segment"] += 1
            dice = Random(f"{segment} {self.cluster.world.seed}")
            match dice.choice(("corrupt", "corrupt", "truncate", "delete")):
                case "corrupt":
                    corrupt(path, dice)
                case "truncate":
                    truncate(path, dice)
                case _:
                    os.unlink(path)

    def _corrupt(self, node: SimNode, dice: Random) -> bool:
        path = self._some_file(node, dice, closed=False)
        return path is not None and corrupt(path, dice)

    def _delete(self, node: SimNode, dice: Random) -> bool:
        path = self._some_file(node, dice, closed=True)
        if path is None:
            return False
        os.unlink(path)
        return True

    def _truncate(self, node: SimNode, dice: Random) -> bool:
        path = self._some_file(node, dice, closed=True)
        if path is None:
            return False
        truncate(path, dice)
        return True

    def _some_file(self, node: SimNode, dice: Random, closed: bool) -> str | None:
        """Chooses a segment or a block on disk; a closed one has no writer any more."""
        open_names = {
            name
            for executor in self.cluster.executors.values()
            if executor.worker is not None
            for name in executor.worker.writer.open_names()
        }
        folders = node.folders
        found = [
            os.path.join(folder, name)
            for folder in (folders.memory, folders.disk)
            for name in sorted(os.listdir(folder))
            if is_segment(name.encode()) and not (closed and name in open_names)
        ]
        if not found:
            return None
        chosen = dice.choice(found)
        self.spoilt.add(os.path.basename(chosen))
        return chosen


def corrupt(path: str, dice: Random) -> bool:
    """Changes bytes of a file, if it has any."""
    with open(path, "r+b") as file:
        written = len(file.read().rstrip(bytes(1)))
        length = file.tell()
        if written == 0:
            return False
        file.seek(dice.randrange(written))
        file.write(bytes(dice.randrange(256) for _ in range(CORRUPT_BYTES)))
        file.truncate(length)
    return True


def truncate(path: str, dice: Random) -> None:
    """Keeps only the beginning of a file."""
    with open(path, "rb") as file:
        data = file.read()
    # As a new file: reading a truncated mapping would kill this process.
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(data[: dice.randrange(len(data) + 1)])
