"""Stark's figures 16 to 18 by cost: ten steps of the application of figure 16, and the bytes that
each algorithm writes so that no recovery takes longer than the bound."""

from __future__ import annotations

from benchmarks.scache_plots import Plot
from benchmarks.targets import Target
from pyrite.plan.checkpoints import Cost, choose, edge, longest_path_s

STEPS = 10
# Relative sizes as in figure 17: jall is much larger than acnt. Delays in seconds, bytes in MB.
APPLICATION: dict[str, tuple[tuple[str, ...], float, int]] = {
    "kv": ((), 1.0, 60),
    "cnt": (("kv",), 1.0, 12),
    "ctt": (("kv",), 1.5, 50),
    "ccnt": (("cnt", "dec-"), 1.5, 24),
    "dec": (("ccnt",), 0.5, 24),
    "acnt": (("ccnt",), 0.5, 4),
    "cctt": (("ctt", "res-"), 2.0, 70),
    "jall": (("cctt", "acnt"), 2.0, 64),
    "res": (("jall",), 1.0, 40),
}
BOUND_S = 12.0


class Lineage:
    """The growing lineage, of which an algorithm checkpoints RDDs as they are made."""

    def __init__(self, algorithm: str, relax: float = 1.0) -> None:
        self.algorithm = algorithm
        self.relax = relax
        self.costs: dict[str, Cost] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.written: dict[str, None] = {}
        self.by_step: list[int] = []

    def run(self) -> None:
        for step in range(STEPS):
            for name, (parents, delay_s, size) in APPLICATION.items():
                made = [
                    f"{each[:-1]}{step - 1}" if each.endswith("-") else f"{each}{step}"
                    for each in parents
                ]
                self.costs[f"{name}{step}"] = Cost(delay_s, size)
                self.parents[f"{name}{step}"] = tuple(each for each in made if each in self.costs)
                self._bound()
            self.by_step.append(sum(self.costs[each].bytes or 0 for each in self.written))

    def _graph(self) -> tuple[dict[str, Cost], dict[str, tuple[str, ...]]]:
        costs = {name: cost for name, cost in self.costs.items() if name not in self.written}
        return costs, {
            name: tuple(each for each in self.parents[name] if each in costs) for name in costs
        }

    def _bound(self) -> None:
        for _ in range(len(self.costs)):
            graph = self._graph()
            if longest_path_s(*graph) <= BOUND_S:
                return
            if self.algorithm == "edge":
                chosen = edge(*graph, BOUND_S)
            else:
                chosen = choose(*graph, BOUND_S, self.relax)
            self.written.update(dict.fromkeys(chosen))


class Checkpointing:
    """Compares f = 1, f = 3 and Edge."""

    def __init__(self) -> None:
        self.ways = {
            "Stark-1": Lineage("cut", 1.0),
            "Stark-3": Lineage("cut", 3.0),
            "Edge": Lineage("edge"),
        }

    def run(self) -> None:
        for lineage in self.ways.values():
            lineage.run()

    @property
    def targets(self) -> list[Target]:
        totals = {name: each.by_step[-1] for name, each in self.ways.items()}
        return [
            Target(f"figure 18: bytes of {name} over Edge's", totals[name] / totals["Edge"], 0.5)
            for name in ("Stark-1", "Stark-3")
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        lines = {name: each.by_step for name, each in self.ways.items()}
        steps = [str(step + 1) for step in range(STEPS)]
        title = "Figure 18: checkpoints"
        return {"checkpoints": Plot(title, "MB written so far", "step", steps, lines, "MB")}

    def markdown(self) -> str:
        head = " | ".join(str(step + 1) for step in range(STEPS))
        lines = [
            f"## Figure 18, by cost: MB written after each step, bound {BOUND_S:.0f} s",
            "",
            f"| | {head} |",
            "|---" * (STEPS + 1) + "|",
        ]
        for name, lineage in self.ways.items():
            lines.append(f"| {name} | {' | '.join(map(str, lineage.by_step))} |")
        return "\n".join([*lines, ""])
