"""The command behind scripts/sim."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from itertools import count

from cases import Case, random_case
from exploring import NOTHING, Summary, explore, make_pool, run_seeds
from mutations import MUTATIONS
from probes import all_marks
from shrinking import smallest
from trial import Chapters, run_case

PATIENCE_S = 60.0
SHOWN_EVERY_S = 10.0


def main() -> int:
    chosen = parser().parse_args()
    if chosen.mutations:
        return try_mutations(chosen.within, chosen.workers)
    if chosen.seed is not None:
        return replay(chosen.seed, chosen.shrink)
    seeds = range(chosen.first, chosen.first + chosen.seeds) if chosen.seeds else None
    if seeds is None and chosen.time is None:
        parser().error("name a SEED to replay, or how long to explore: --for 10m or --seeds 1000")
    return run_many(seeds, chosen)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "scripts/sim",
        description="A whole cluster in one process, from one seed: a random program on a random "
        "cluster with random faults, every answer compared with plain Python's.",
        epilog="examples: scripts/sim 42 (replay with its story), scripts/sim --for 10m (explore "
        "until a seed fails, which is then made smaller), scripts/sim --mutations (do the checkers "
        "bite?)",
    )
    made.add_argument("seed", type=int, nargs="?", metavar="SEED", help="replay this seed")
    made.add_argument("--shrink", action="store_true", help="make a SEED that fails smaller")
    made.add_argument("--for", dest="time", type=seconds, metavar="TIME", help="explore: 90s, 10m")
    made.add_argument("--seeds", type=int, metavar="N", help="explore this many seeds")
    made.add_argument("--from", dest="first", type=int, metavar="SEED", default=None)
    made.add_argument("--mutations", action="store_true", help="switch deliberate bugs on")
    made.add_argument("--within", type=int, metavar="N", help="other seeds than each bug says")
    made.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N")
    made.set_defaults(first=int.from_bytes(os.urandom(4), "big") * 1000)
    return made


def seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: use 90s, 10m or 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def replay(seed: int, shrink: bool) -> int:
    case = random_case(seed)
    if shrink and (failure := run_case(case).failure):
        case = smallest(case, failure, PATIENCE_S)
    return tell(case)


def tell(case: Case) -> int:
    """Prints a case, its story and the verdict; gives the exit code."""
    story = Chapters()
    result = run_case(case, story)
    print(case.text(), "\n".join(story.lines), "", sep="\n")
    if result.errors:
        print(f"failed for reasons that the faults justify: {counted(result.errors)}")
    if result.failure:
        print(f"FAILED: {result.failure}\nas data: {case!r}")
        return 1
    print("every answer was right")
    return 0


def run_many(seeds: range | None, chosen: argparse.Namespace) -> int:
    began_s = shown_s = time.monotonic()
    until_s = None if chosen.time is None else began_s + chosen.time
    print(f"from seed {chosen.first} with {chosen.workers} workers", flush=True)
    total = NOTHING
    for total in explore(seeds or count(chosen.first), chosen.workers, until_s):
        if time.monotonic() - shown_s > SHOWN_EVERY_S:
            shown_s = time.monotonic()
            print(f"  {total.seeds:,} seeds, {total.events:,} events", file=sys.stderr, flush=True)
    print(summary(total, time.monotonic() - began_s))
    for seed, failure in sorted(total.failed)[:1]:
        print(f"\nseed {seed} FAILED: {failure}\nmaking it smaller", flush=True)
        tell(smallest(random_case(seed), failure, PATIENCE_S))
        print(f"the whole of it: scripts/sim {seed}")
    return 1 if total.failed else 0


def summary(total: Summary, real_s: float) -> str:
    never = [f"{mark} ({file})" for mark, file in all_marks().items() if mark not in total.marks]
    return "\n".join(
        [
            f"{total.seeds:,} seeds in {real_s:,.0f} s, {total.events:,} events, "
            f"{total.virtual_s / 3600:,.1f} simulated hours",
            f"faults: {counted(total.faults)}",
            f"jobs that failed as the faults justify: {counted(total.errors)}",
            f"probes taken: {len(all_marks()) - len(never)} of {len(all_marks())}",
            *(f"  never: {each}" for each in never),
        ]
    )


def counted(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number:,}" for name, number in ordered) or "none"


def try_mutations(within: int | None, workers: int) -> int:
    blind = 0
    searched = {name: each.within for name, each in MUTATIONS.items() if within or each.within}
    seeds = [tuple(range(within or each)) for each in searched.values()]
    with make_pool(workers) as pool:
        for name, total in zip(searched, pool.map(run_seeds, seeds, searched), strict=True):
            blind += not total.failed
            found = f"seed {total.failed[0].seed:4}" if total.failed else "NOT FOUND"
            how = total.failed[0].failure[:100] if total.failed else f"in {total.seeds} seeds"
            print(f"{name:52} {found}  {how}", flush=True)
    print(f"{len(searched) - blind} of {len(searched)} bugs found")
    for name in [each for each in MUTATIONS if each not in searched]:
        print(f"{name:52} left to its kept case: tests/sim/kept_cases.py")
    return 1 if blind else 0


if __name__ == "__main__":
    sys.exit(main())
