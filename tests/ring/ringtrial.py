"""One seed: a ring, clients, faults, then quiet, and the judges."""

from __future__ import annotations

from ringcheck import check_copies, check_history
from ringclients import Happened, PlayedClient
from ringworld import PlayedMember, RingWorld, Stored, Violation

from pyrite.ring.names import FileBlock

KINDS = ["crash", "all crash", "part", "join", "full", "rot", "leave", "slow"]
CHAOS_S = 40.0
QUIET_S = 400.0


class RingTrial:
    """Plays one seed."""

    def __init__(self, seed: int) -> None:
        self.world = RingWorld(seed)
        self.dice = self.world.dice
        self.history: list[Happened] = []
        self.faults: list[str] = []
        self.is_over = False
        self.joined = 0
        self.disk_left = 3
        # Each seed has its own mix: faults of one kind hide what another would show.
        self.kinds = self.dice.sample(KINDS, self.dice.randrange(1, 5))
        if "crash" in self.kinds or "all crash" in self.kinds:
            self.kinds += ["start", "start"]
        if "part" in self.kinds:
            self.kinds += ["part", "part ends"]

    def run(self) -> None:
        world, dice = self.world, self.dice
        self.add(founds=True)
        for _ in range(dice.randrange(2, 6)):
            self.add()
        world.run(60.0, world.is_whole)
        self.require(world.is_whole(), "the ring never began")
        clients = [PlayedClient(world, f"c{index}", self.history) for index in range(3)]
        for client in clients:
            client.run(client.work(dice.randrange(8, 24)))
        began_s = world.now_s
        pace_s = dice.choice([2.0, 4.0, 15.0])
        if "crash" in self.kinds:
            world.sudden = dice.choice([0.0, 0.002, 0.01])
        while world.now_s < began_s + CHAOS_S:
            world.run(world.now_s + dice.random() * pace_s)
            self.fault()
            if dice.random() < 0.1:
                # It dies in the middle of what it does.
                client = dice.choice(clients)
                client.step = lambda *_: None  # type: ignore[method-assign]
        self.heal()
        world.run(world.now_s + 30.0)
        world.run(world.now_s + QUIET_S, world.is_whole)
        self.require(world.is_whole(), "the copies are not complete after the faults are over")
        sweeper = PlayedClient(world, "sweeper", self.history)
        for chore in (sweeper.sweep, sweeper.sweep, sweeper.scrub):
            sweeper.run(chore())
            world.run(world.now_s + 60.0, lambda: sweeper.is_done)
        world.run(world.now_s + QUIET_S, world.is_whole)
        self.require(world.is_whole(), "a spoilt block is not repaired")
        kept: dict[str, list[FileBlock]] = {}
        last = PlayedClient(world, "last", self.history)
        last.run(last.inspect(kept))
        world.run(world.now_s + 200.0, lambda: last.is_done)
        for each in self.history[-4:]:
            self.require(each.outcome == "ok", f"{each.path} can't be read at the end: {each}")
            self.require(each.is_confirmed, f"{each.path} is not confirmed at the end")
        self.require(len(kept) == 4, "the last reader is not done")
        check_history(self.history)
        check_copies(world, kept)

    def require(self, fact: bool, message: str) -> None:
        if not fact:
            raise Violation(message)

    def add(self, founds: bool = False) -> None:
        address = f"m{self.joined}"
        self.joined += 1
        member = PlayedMember(self.world, address)
        self.world.members[address] = member
        member.start(founds=founds)

    def fault(self) -> None:
        """One fault, or the end of one."""
        world, dice = self.world, self.dice
        kind = dice.choice(self.kinds)
        living, down = (
            world.living(),
            [each for each in world.members.values() if each.process is None and not each.is_gone],
        )
        chosen = dice.choice(living) if living else None
        match kind:
            case "crash" if chosen:
                chosen.crash()
            case "slow":
                world.lateness_s = dice.choice([0.0, 1.0, 4.0])
            case "all crash" if dice.random() < 0.3:
                for each in living:
                    each.crash()
            case "start" if down:
                dice.choice(down).start()
            case "part":
                everybody = [*world.members, "c0", "c1", "c2"]
                world.sides = {each: dice.randrange(2) for each in everybody}
            case "part ends":
                world.sides = {}
            case "join" if self.joined < 9:
                self.add()
            case "full" if chosen:
                chosen.disk.is_full = not chosen.disk.is_full
            case "leave" if chosen and chosen.process and len(living) > 3 and not down:
                if world.is_whole():
                    chosen.process.leave()
                    world.after(1.0, self.end_leaving, chosen, chosen.life)
            case "rot" if chosen:
                self.rot()
            case _:
                return
        self.faults.append(f"{world.now_s:.2f} {kind} {chosen and chosen.address}")

    def end_leaving(self, member: PlayedMember, life: int) -> None:
        """Who is out of the view may go, once it has given away what others lack."""
        process = member.process
        if member.life != life or process is None:
            return
        if process.standing.votes or process.repair.lacking:
            self.world.after(1.0, self.end_leaving, member, life)
            return
        member.process = None
        member.is_gone = True
        member.life += 1

    def rot(self) -> None:
        """A disk loses something: only while there are other copies of it all."""
        world, dice = self.world, self.dice
        is_calm = not world.sides and not any(each.disk.is_full for each in world.living())
        if not is_calm or not world.is_whole() or self.disk_left == 0 or len(world.living()) < 3:
            return
        member = dice.choice(world.living())
        self.disk_left -= 1
        sudden, world.sudden = world.sudden, 0.0
        loss, world.loss = world.loss, 0.0
        world.lateness_s = 0.0
        way = dice.choice(["block", "record", "ballot", "gone"])
        if way == "block" and member.disk.blocks:
            name = dice.choice(sorted(member.disk.blocks))
            member.disk.blocks[name] = Stored(b"rotten")
            # Nobody may have noticed before the end: other copies must stay.
            self.disk_left = 0
        elif way == "gone" and len(world.living()) > 3:
            member.crash()
            member.is_gone = True
        elif way in ("record", "ballot"):
            names = [each for each in sorted(member.disk.items) if each.startswith(way)]
            if names:
                member.crash()
                member.disk.spoilt.add(dice.choice(names))
                member.start()
        # Until this is repaired, it is the only one.
        world.run(world.now_s + 120.0, world.is_whole)
        world.sudden, world.loss = sudden, loss

    def heal(self) -> None:
        self.world.sides = {}
        self.world.loss = self.world.doubling = self.world.lateness_s = 0.0
        self.world.sudden = 0.0
        for member in self.world.members.values():
            member.disk.is_full = False
            if member.process is None and not member.is_gone:
                member.start()
