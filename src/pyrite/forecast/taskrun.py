"""One attempt in the simulated cluster, phase by phase: read, compute, write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyrite.forecast.digest import Digest
from pyrite.forecast.machines import CostedExecutor
from pyrite.forecast.network import Share, SharedWork, Sources, Transfer
from pyrite.forecast.tally import StageTimes, TaskTimes
from pyrite.forecast.workload import Reads, StageModel, reads_of
from pyrite.ids import BlockRef, NodeId, Partition, ShuffleId
from pyrite.schedule import events as ev
from pyrite.schedule.commands import LaunchTask

if TYPE_CHECKING:
    from pyrite.forecast.costed import CostedCluster

# A larger result becomes a block, as in the engine.
INLINE_BYTES = 32 << 10
RESULT = b""


class Writing(NamedTuple):
    """A block to be written: of a kept partition, or of the task's output."""

    partition: Partition | None
    size: int
    to_disk: bool = False


class InputRoom(NamedTuple):
    """Room that was asked for, for a block of a ring."""

    key: int
    segment: str
    size: int


class TaskRun:
    """The run of one attempt on an executor."""

    def __init__(
        self, cluster: CostedCluster, executor: CostedExecutor, command: LaunchTask
    ) -> None:
        self.cluster = cluster
        self.executor = executor
        self.command = command
        self.stage: StageModel = cluster.workload.stages[command.stage]
        self.began_s = 0.0
        self._times = StageTimes(0.0)
        # The current one of several partitions, which are computed in sequence.
        self._partition = command.partitions[0]
        # When the current partition began, had its input, and was computed.
        self._turn_s = 0.0
        self._read_s = 0.0
        self._computed_s = 0.0
        self._made: list[ev.TaskOutput] = []
        self.pulls: list[tuple[Digest, Sources]] = []
        self._doing: Transfer | SharedWork | None = None
        self._stopped = False
        self._making: list[Partition] = []
        # The blocks that are still to be written.
        self._writes: list[Writing] = []
        self._stored: list[ev.Stored] = []
        self._dropped: list[Partition] = []
        self._output: BlockRef | None = None
        self._segment = ""
        # The block of a ring that is being put into the pool, and those that are there.
        self._input: InputRoom | None = None
        self._inputs: list[ev.InputNews] = []

    def stop(self) -> None:
        """Stops the run without a report."""
        self._stopped = True
        if self._doing is not None:
            self._doing.stop()

    # Read

    def begin(self) -> None:
        """The launch has reached the executor."""
        if self._stopped:
            return
        self.began_s = self.cluster.timeline.now_s
        self._times = self.cluster.tally.begin(self.command.stage, self.began_s)
        self._read()

    def _read(self) -> None:
        """Starts to read the next partition's input."""
        cluster, command = self.cluster, self.command
        self._turn_s = cluster.timeline.now_s
        self._partition = command.partitions[len(self._made)]
        self._output = None
        self.pulls = []
        blocks = {
            each: ref for each, ref in command.blocks if cluster.is_there(each, ref, self.executor)
        }
        reads = reads_of(
            cluster.specs[command.stage].shape,
            self._partition,
            cluster.persisted,
            lambda each: self.executor.holds(each) or each in blocks,
        )
        self._making = reads.missing
        parts: list[tuple[Share, float]] = []
        sent_before = cluster.network.sent_bytes
        decoded = self._read_kept(reads, blocks, parts)
        shuffled = self._read_shuffles(reads, parts)
        if shuffled is None:
            return
        is_remote = cluster.network.sent_bytes > sent_before
        decoded += shuffled
        decoded += self._spill(decoded, parts)
        if self.stage.input_keys and self.stage.input_keys[self._partition] is not None:
            is_remote = self._read_block(parts) or is_remote
        elif self.stage.input_bytes and not self.stage.input_keys:
            node = self.executor.node
            size = self.stage.input_bytes[self._partition]
            parts.append((node.disk, node.disk_read_s(size)))
        self._fetch(parts, is_remote, self._work_s(decoded))

    def _read_block(self, parts: list[tuple[Share, float]]) -> bool:
        """Reads a block of a ring: from memory, or from the nearest disk that has it; returns
        whether it comes from another node."""
        cluster, node = self.cluster, self.executor.node
        key = self.stage.input_keys[self._partition]
        assert key is not None
        size = self.stage.input_bytes[self._partition]
        refs = (ref for each, ref in self.command.cached if each == key and ref is not None)
        ref = next((each for each in refs if cluster.is_alive(each)), None)
        if ref is not None:
            cluster.tally.inputs_found += 1
            source = ref.node
        else:
            cluster.tally.inputs_read += 1
            holders = cluster.ring.holders(key)
            there = [each for each in holders if cluster.nodes[each].alive] or holders
            source = node.id if node.id in there else there[0]
            disk = cluster.nodes[source]
            parts.append((disk.disk, disk.disk_read_s(size)))
        if source != node.id:
            parts += cluster.network.parts(node.id, Sources({source: size}))
        if ref is None or source != node.id:
            self._want_input(key, int(size))
        return source != node.id

    def _want_input(self, key: int, size: int) -> None:
        """Asks for room for a block that is read; the task goes on meanwhile."""
        if not self.command.cached:
            return
        self._input = InputRoom(key, self.executor.new_name(), size)
        node, writer = self.executor.node.id, self.executor.id
        self.cluster.emit(
            ev.SpaceWanted(node, writer, self._input.segment, size, False, cached=True)
        )

    def _fetch(self, parts: list[tuple[Share, float]], is_remote: bool, work_s: float) -> None:
        """Waits until all is read."""
        if not parts:
            self._compute(work_s)
            return
        # All source nodes are asked in parallel.
        asked_s = 2 * self.executor.node.kind.latency_s if is_remote else 0.0
        timeline = self.cluster.timeline
        self._doing = Transfer(parts, lambda: timeline.after(asked_s, self._compute, work_s))

    def _read_kept(
        self, reads: Reads, blocks: dict[Partition, BlockRef], parts: list[tuple[Share, float]]
    ) -> float:
        decoded = 0.0
        for each in reads.found:
            if self.executor.holds(each):
                self.executor.touch(each.rdd)
                continue
            ref = blocks[each]
            decoded += ref.length
            source = self.cluster.nodes[ref.node]
            if ref.medium == "disk":
                parts.append((source.disk, source.disk_read_s(ref.length)))
            sources = Sources({ref.node: float(ref.length)})
            parts += self.cluster.network.parts(self.executor.node.id, sources)
        return decoded

    def _read_shuffles(self, reads: Reads, parts: list[tuple[Share, float]]) -> float | None:
        """The bytes of all shuffles' parts; None if the attempt fails, as a source is lost."""
        cluster = self.cluster
        decoded = 0.0
        snapshots = {each.shuffle: each for each in self.command.inputs}
        for shuffle, index in reads.parts:
            digest = cluster.digest(snapshots[shuffle])
            rest, on_disk = digest.rest(cluster.prefetched, self._prefetched(shuffle, index))
            if (lost := cluster.lost_source(digest, rest)) is not None:
                self._fail_fetch(digest, lost)
                return None
            self.pulls.append((digest, rest))
            share = cluster.share(shuffle, index)
            self._read_part(rest, on_disk, share, parts)
            decoded += digest.sources.total * share
            cluster.tally.found_bytes += (digest.sources.total - rest.total) * share
        return decoded

    def _prefetched(self, shuffle: ShuffleId, index: int) -> list[str]:
        """The task's prefetched segments that are present and hold its part."""
        node = self.executor.node
        return [
            segment
            for each in self.command.prefetched
            if each.shuffle == shuffle
            for segment in self.cluster.prefetched.lying_on(
                node.id, node.life, each.segments, index
            )
        ]

    def _read_part(
        self, rest: Sources, on_disk: Sources, part: float, parts: list[tuple[Share, float]]
    ) -> None:
        cluster = self.cluster
        parts += cluster.network.parts(self.executor.node.id, rest, part)
        if on_disk.pairs:
            chosen, factor = on_disk.chosen()
            for node, size in chosen:
                source = cluster.nodes[node]
                parts.append((source.disk, source.disk_read_s(size * part * factor)))

    def _spill(self, read_bytes: float, parts: list[tuple[Share, float]]) -> float:
        """Spills rows without room to disk and reads them back; returns their encoded bytes."""
        executor, model = self.executor, self.cluster.model
        room = executor.node.kind.executor_memory_bytes - executor.live_bytes
        needed = read_bytes * model.live_bytes_per_encoded_byte
        if needed <= room:
            return 0.0
        spilled = read_bytes * (1.0 - max(0.0, room) / needed)
        node = executor.node
        self.cluster.tally.spilled_bytes += spilled
        parts.append((node.disk, node.disk_write_s(spilled) + node.disk_read_s(spilled)))
        return spilled

    def _fail_fetch(self, digest: Digest, node: NodeId) -> None:
        indices = digest.outputs_on(node)
        shuffle, refs = digest.snapshot.shuffle, digest.snapshot.refs
        lost = tuple((index, refs[index]) for index in indices)
        message = f"map output {indices[0]} of shuffle {shuffle}: {node} is gone"
        self._end(ev.FetchFailed(self.command.attempt, shuffle, lost, message))

    def lose_source(self, node: NodeId) -> None:
        """Fails the attempt if it is fetching from a lost node."""
        if isinstance(self._doing, Transfer):
            for digest, sources in self.pulls:
                if node in sources.by_node:
                    self.stop()
                    self._fail_fetch(digest, node)
                    return

    # Compute

    def _work_s(self, decoded_bytes: float) -> float:
        model, partition = self.cluster.model, self._partition
        work_s = self.stage.cpu_s[partition] + model.decode_s(decoded_bytes)
        if not self._made:
            work_s += model.task_overhead_s
        for each in self._making:
            kept = self.cluster.workload.kept[each.rdd]
            work_s += kept.making_s.get(each.index, 0.0)
            size = kept.size_bytes.get(each.index, 0.0)
            if kept.place == "live":
                continue
            self._writes.append(Writing(each, int(size), kept.place == "disk"))
            work_s += model.write_s(size)
        output = self.stage.output_bytes[partition] if self.stage.output_bytes else 0.0
        if self.stage.writes is not None or output > INLINE_BYTES:
            self._writes.append(Writing(None, max(1, int(output))))
        return work_s + model.write_s(output)

    def _compute(self, work_s: float) -> None:
        if self._stopped:
            return
        self._read_s = self.cluster.timeline.now_s
        self._doing = self.executor.node.cpu.start(work_s, self._write)

    # Write

    def _write(self) -> None:
        """Starts to write the task's blocks."""
        self._doing = None
        self._computed_s = self.cluster.timeline.now_s
        self._keep_live()
        self._write_next()

    def _keep_live(self) -> None:
        for each in self._making:
            kept = self.cluster.workload.kept[each.rdd]
            if kept.place == "live":
                size = kept.size_bytes.get(each.index, 0.0)
                fits, dropped = self.executor.keep(each, size)
                self._dropped += dropped
                if fits:
                    self._stored.append(ev.Stored(each, (), int(size)))

    def _write_next(self) -> None:
        while self._writes:
            partition, size, to_disk = self._writes[0]
            if to_disk:
                self._write_to_disk(size)
                return
            if partition is not None or not self.executor.room_for(size):
                self._want(partition, size)
                return
            self._placed(self.executor.place(size))
        self._succeed()

    def _want(self, partition: Partition | None, size: int) -> None:
        """Requests a segment; a kept partition gets its own."""
        node, writer = self.executor.node.id, self.executor.id
        if partition is not None:
            self._segment = self.executor.new_name()
            wanted = ev.SpaceWanted(node, writer, self._segment, size, False, partition.rdd)
        else:
            self._segment, length = self.executor.new_segment(size)
            wanted = ev.SpaceWanted(node, writer, self._segment, length)
        self.cluster.emit(wanted)

    def granted(self, segment: str, place: NodeId | None) -> None:
        """Handles the grant of a segment, or its refusal."""
        if self._input is not None and segment == self._input.segment:
            if place is not None:
                ref = BlockRef(place, segment, 0, self._input.size, "memory")
                self.cluster.lives[segment] = self.cluster.nodes[place].life
                self._inputs.append(ev.InputNews(self._input.key, ref))
            return
        if segment != self._segment or self._stopped:
            return
        self._segment = ""
        partition, size, _ = self._writes[0]
        if place is None:
            self.cluster.tally.spilled_bytes += size
            self._write_to_disk(size)
        elif partition is None:
            self.executor.open_segment(segment, size)
            self._write_next()
        else:
            self._send(BlockRef(place, segment, 0, size, "memory"))

    def _send(self, ref: BlockRef) -> None:
        """Writes a kept partition into the pool that has room for it."""
        sources = Sources({self.executor.node.id: float(ref.length)})
        parts = self.cluster.network.parts(ref.node, sources)
        if parts:
            self._doing = Transfer(parts, lambda: self._sent(ref))
        else:
            self._sent(ref)

    def _sent(self, ref: BlockRef) -> None:
        self._doing = None
        self._placed(ref)
        self._write_next()

    def _write_to_disk(self, size: int) -> None:
        node = self.executor.node
        self._doing = node.disk.start(node.disk_write_s(size), self._written_to_disk)

    def _written_to_disk(self) -> None:
        self._doing = None
        self._placed(self.executor.place_on_disk(self._writes[0][1]))
        self._write_next()

    def _placed(self, ref: BlockRef) -> None:
        partition, _, _ = self._writes.pop(0)
        if partition is None:
            self._output = ref
        else:
            self.cluster.lives[ref.segment] = self.cluster.nodes[ref.node].life
            self._stored.append(ev.Stored(partition, (ref,), ref.length))

    def _succeed(self) -> None:
        """Ends a partition; with the last one, the attempt."""
        now_s = self.cluster.timeline.now_s
        read_s, computed_s = self._read_s, self._computed_s
        self._times.tasks.append(
            TaskTimes(read_s - self._turn_s, computed_s - read_s, now_s - computed_s)
        )
        self._made.append(self._what_was_made())
        if len(self._made) < len(self.command.partitions):
            self._read()
            return
        self._times.ended_s = self.cluster.timeline.now_s
        news = ev.KeptNews(tuple(self._stored), tuple(self._dropped), inputs=tuple(self._inputs))
        self._end(ev.TaskSucceeded(self.command.attempt, tuple(self._made), news))

    def _what_was_made(self) -> ev.TaskOutput:
        if self.stage.writes is None:
            return ev.TaskOutput(RESULT if self._output is None else (self._output,))
        assert self._output is not None, "a map task has written"
        sizes = self.cluster.prefetched.put(ShuffleId(self.stage.writes), self._output)
        return ev.TaskOutput(None, self._output, None, sizes)

    def _end(self, event: ev.Event) -> None:
        self.executor.run = None
        self.cluster.tally.busy_s += self.cluster.timeline.now_s - self.began_s
        self.cluster.emit(event)
