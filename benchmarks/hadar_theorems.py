"""Hadar's theorems: the states of Algorithm 2, and ratios of optima to what is online.

Sections of `utility.py`, which runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from claims_only.hadar_committed import hadar_committed

import dlsched
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


def theorem1() -> Iterator[str]:
    """Yield the states that the recursion of Algorithm 2 reaches in a slot, and their bounds."""
    yield "## Theorem 1: the states of Algorithm 2 in one slot\n"
    yield "Machines of 4 GPUs of one type each, three types in turn; generated jobs, all in the"
    yield "queue, each of which can finish in time. States: pairs of job and use of the GPUs of"
    yield "each machine that the recursion reaches, where each job has the allocation of its best"
    yield "payoff, or is left out (lines 14 and 15), each pair counted once; a job that has no"
    yield "allocation ends the recursion (lines 7 to 9). The proof counts n H R. Uses: what the"
    yield "GPUs of all machines in use can be, 5 to the power of the machines.\n"
    yield "| machines | jobs | n H R | states | uses |\n|" + "---|" * 5
    for machines in (3, 6, 9, 12, 15):
        jobs = 4 * machines
        made = dlsched.generate("utility", 1, jobs=jobs, slots=100, gpus=jobs, utilization=0.1)
        found = states(made)
        reached = f"over {MOST_STATES:,}" if found > MOST_STATES else f"{found:,}"
        uses = 5 ** len(made.machines)
        number = f"{uses:,}" if uses < 10**7 else f"{uses:.1e}"
        product = jobs * len(made.machines) * len(made.supply)
        yield f"| {len(made.machines)} | {jobs} | {product:,} | {reached} | {number} |"


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


def theorem2() -> Iterator[str]:
    """Yield ratios of the optimum to Hadar's rules on a stream of gangs, beside 2 alpha."""
    yield "## Theorem 2: a stream of gangs, one arrival a slot\n"
    yield "One type, four GPUs. Job i arrives in slot i, holds three GPUs for two slots, and is"
    yield "worth 1 + i / 100 if it runs at once, else 0.1. `hadar` decides anew in each slot, and"
    yield "gives the GPUs to the newest job, which is worth most. `hadar_committed` gives each job"
    yield "its schedule when it arrives, as the proof has it, and keeps it: every second job, which"
    yield "is late then and worth 0.1, keeps the next one from running at once. Best: the optimum,"
    yield "or every second job, a schedule that is checked, so that ratios are at least these.\n"
    heads = [f"{what}, {rule}" for rule in ONLINE for what in ("utility", "ratio")]
    yield f"| slots | best | proved | {' | '.join(heads)} | 2 alpha |"
    yield "|" + "---|" * (4 + len(heads))
    for slots in (*PROVED, *LONGER):
        made = stream(slots)
        value = float(dlsched.verify(made, alternate(made)).objective[0])
        proved = "no"
        if slots in PROVED:
            best = dlsched.solve(made)
            assert best.status == "optimal"
            value, proved = float(best.objective[0]), "yes"
        cells = []
        for rule in ONLINE.values():
            found = float(dlsched.solve(made, rule).objective[0])
            cells.append(f"{found:.2f} | {value / found:.1f}")
        alpha = HadarPrices(made, list(range(slots))).alpha
        yield f"| {slots} | {value:.2f} | {proved} | {' | '.join(cells)} | {2 * alpha:.1f} |"


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
