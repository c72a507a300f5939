"""Stark's figure 18 by cost: the bytes that each algorithm writes over ten steps, and how long
recoveries take."""

from __future__ import annotations

from benchmarks.scache_plots import Plot
from benchmarks.stark_recovery import BOUND_S, NODES, STEPS, Played, play, recoveries_s
from benchmarks.targets import Target

# The engine's rules: how checkpoints are chosen, and how many times as much may be written.
WAYS = {"Stark-1": ("CUT", 1.0), "Stark-3": ("CUT", 3.0), "Edge": ("EDGE", 1.0)}
KILLS, WITHIN, GOAL = 20, 1.2, 19


class Checkpointing:
    """Compares f = 1, f = 3 and Edge, and kills nodes with the first two."""

    def __init__(self) -> None:
        self.found: dict[str, Played] = {}
        self.recoveries_s: dict[str, list[float]] = {}

    def run(self) -> None:
        for way, (algorithm, relax) in WAYS.items():
            self.found[way] = play(algorithm, relax)
            if algorithm == "CUT":
                self.recoveries_s[way] = sorted(recoveries_s(relax, KILLS))

    @property
    def targets(self) -> list[Target]:
        totals = {way: played.by_step[-1] for way, played in self.found.items()}
        found = [
            Target(f"figure 18: bytes of {way} over Edge's", totals[way] / totals["Edge"], 0.5)
            for way in self.recoveries_s
        ]
        for way, times in self.recoveries_s.items():
            count = sum(taken_s <= WITHIN * BOUND_S for taken_s in times)
            what = f"{way}: recoveries of {KILLS} within {WITHIN:g} times the bound"
            found.append(Target(what, count, GOAL, at_least=True, unit=""))
        return found

    @property
    def plots(self) -> dict[str, Plot]:
        lines = {way: played.by_step for way, played in self.found.items()}
        steps = [str(step + 1) for step in range(STEPS)]
        title = "Figure 18: checkpoints"
        subtitle = f"MB written so far, bound {BOUND_S:g} s, by cost"
        return {"checkpoints": Plot(title, subtitle, "step", steps, lines, "MB")}

    def markdown(self) -> str:
        head = " | ".join(str(step + 1) for step in range(STEPS))
        lines = [
            f"## Figure 18, by cost: MB written up to each step, bound {BOUND_S:.0f} s",
            "",
            f"| | {head} |",
            "|---" * (STEPS + 1) + "|",
        ]
        for way, played in self.found.items():
            lines.append(f"| {way} | {' | '.join(map(str, played.by_step))} |")
        lines += [
            "",
            f"{KILLS} times one of {NODES} nodes goes down at a random moment. By how many seconds "
            "the job that it delayed the most took longer, without those until it was noticed:",
            "",
        ]
        for way, times in self.recoveries_s.items():
            lines.append(f"- {way}: {', '.join(f'{each:.1f}' for each in times)}")
        return "\n".join([*lines, ""])
