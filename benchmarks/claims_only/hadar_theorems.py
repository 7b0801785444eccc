"""Hadar's theorems: the states of Algorithm 2, and ratios of optima to what is online."""

from collections.abc import Iterator
from fractions import Fraction

from runs import Row

import dlsched
from claims_only.hadar_committed import hadar_committed
from dlsched.problems.utility import Instance
from dlsched.problems.utility.definition.schema import Held, Solution
from dlsched.problems.utility.heuristics.hadar import Hadar
from dlsched.problems.utility.heuristics.hadar_prices import HadarPrices
from dlsched.problems.utility.structures.slot_simulation import Rounds

ONLINE = {
    "hadar": "hadar",
    "hadar_literal": "hadar_literal",
    "hadar_committed": hadar_committed,
}
PROVED, LONGER = (20, 40, 60), (120, 300, 400)
"""Slots of the streams whose optimum is proved, and of those with a schedule to compare with."""
MOST_STATES = 100_000


def theorem1() -> Iterator[Row]:
    """Yield the states that the recursion of Algorithm 2 reaches in a slot, and their bounds."""
    for machines in (3, 6, 9, 12, 15):
        jobs = 4 * machines
        made = dlsched.generate("utility", 1, jobs=jobs, slots=100, gpus=jobs, utilization=0.1)
        found, uses = states(made), 5 ** len(made.machines)
        yield {
            "machines": len(made.machines), "jobs": jobs,
            "n H R": f"{jobs * len(made.machines) * len(made.supply):,}",
            "states": f"over {MOST_STATES:,}" if found > MOST_STATES else f"{found:,}",
            "uses": f"{uses:,}" if uses < 10**7 else f"{uses:.1e}",
        }  # fmt: skip


def states(made: Instance) -> int:
    """Return the pairs of job and use that the recursion reaches, or one above `MOST_STATES`."""
    hadar, rounds = Hadar(made), Rounds(made)
    queue = rounds.queue
    prices = HadarPrices(made, queue, hadar.pools, hadar.terms)
    worth = {j: hadar.utilities(rounds, j) for j in queue}
    reached = {tuple(0 for _ in hadar.pools)}
    total = len(reached)
    for j in queue:
        before, reached = reached, set()
        for used in before:
            left = [pool.gpus - n for pool, n in zip(hadar.pools, used, strict=True)]
            price = [float(row[n]) for row, n in zip(prices.table, used, strict=True)]
            taken, _ = hadar.best(worth[j], j, hadar.cheapest(price, left), price, left)
            if taken is not None:
                reached |= {used, tuple(n + taken.get(p, 0) for p, n in enumerate(used))}
                if total + len(reached) > MOST_STATES:
                    return MOST_STATES + 1
        total += len(reached)
    return total


def theorem2() -> Iterator[Row]:
    """Yield ratios of the optimum to Hadar's rules on a stream of gangs, beside 2 alpha."""
    for slots in (*PROVED, *LONGER):
        made = stream(slots)
        value = float(dlsched.verify(made, alternate(made)).objective[0])
        if slots in PROVED:
            best = dlsched.solve(made)
            assert best.status == "optimal"
            value = float(best.objective[0])
        row: Row = {"slots": slots, "best": value, "proved": "yes" if slots in PROVED else "no"}
        for name, rule in ONLINE.items():
            found = float(dlsched.solve(made, rule).objective[0])
            row |= {f"utility, {name}": found, f"ratio, {name}": value / found}
        yield row | {"2 alpha": float(2 * HadarPrices(made, list(range(slots))).alpha)}


def stream(slots: int) -> Instance:
    """Return the gangs of `theorem2`."""
    return Instance(
        name=f"stream-{slots}",
        slots=slots,
        slot_seconds=1,
        machines=[{"id": "m", "gpus": {"A": 4}}],
        utility={"kind": "table"},
        jobs=[
            {
                "id": f"j{i}",
                "arrival": i,
                "workers": 3,
                "iterations": 2,
                "rates": {"A": 1},
                "utilities": [1 + Fraction(i, 100)] * 2 + [Fraction(1, 10)] * (slots - 2),
            }
            for i in range(1, slots + 1)
        ],
    )


def alternate(made: Instance) -> Solution:
    """Return the schedule of the stream in which every second job runs at once."""
    gpus = {"m": {"A": 3}}
    return Solution(
        schedule={
            f"j{i}": (Held(slot=i, gpus=gpus), Held(slot=i + 1, gpus=gpus))
            for i in range(1, made.slots, 2)
        }
    )
