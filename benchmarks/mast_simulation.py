"""MAST against federated schedulers, and its rule against better solutions, on drawn workloads.

    python benchmarks/mast_simulation.py [load-1.3 load-2.5 busy latency allocation methods]

Without arguments all sections; prints markdown and writes it to
benchmarks/figures/mast_simulation.md. The inputs are drawn: MAST's traces are not public. Every
simulation is audited. Times are CPU seconds of everything but the audit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from claims_only.latency import allocation_rate, preemptions, violations, waits

import dlsched
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import mast_cluster, mast_workload

HOURS = 8
SEEDS = range(5)
LOADS: dict[str, tuple[float, float]] = {
    "load-1.3": (1.3, 0.9),
    "load-2.5": (2.5, 0.9),
    "busy": (2.5, 2.5),
}
"""What arrives over what the clusters can do, and the quotas over it; with the last nearly all that
arrives is within quota, so that workloads of high priority compete with one another."""
LIMITS = (600, 1800)
HIGH = 3
"""Priorities from 1 to this count as high; they are 39 % of the workloads."""
POLICIES: tuple[tuple[str, str, str | None, dict[str, Any]], ...] = (
    ("mast", "mast", None, {}),
    ("mast, a pass every 300 s", "mast", None, {"interval": 300}),
    ("mast, only the least used region", "mast", "top_k", {}),
    ("federated", "federated", None, {}),
    ("local", "local", None, {}),
)
"""Label, policy, method (None: the paper's, counted) and options."""
METHOD_SEEDS = 10
LOWEST = 7
"""The priority of what is over quota."""


class Counted:
    """MAST's rule, which counts what the negative cache answers."""

    name = "mast, counted"

    def __init__(self) -> None:
        self.attempts = self.hits = self.failures = 0

    def __call__(self, instance: Instance, rng: Any) -> Solution:
        """Return the solution of `mast`."""
        fleet = Fleet(instance)
        own = Dispatcher(fleet)
        own.dispatch(startable(instance), lambda r: fleet.sites_of(instance.pending[r.position]))
        self.attempts += own.attempts
        self.hits += own.hits
        self.failures += own.failures
        return own.solution()


def measured(
    workload: Workload, cluster: Cluster, policy: str, method: Any, **options: Any
) -> tuple[Simulation, float]:
    """Return an audited simulation and its CPU seconds."""
    began = time.process_time()
    run = simulate(workload, cluster, policy, method=method, **options)
    seconds = time.process_time() - began
    report = run.audit()
    if not report:
        raise SystemExit(f"the audit of {run} failed: {report.violations[:3]}")
    return run, seconds


def late(
    run: Simulation, limit: float, highest: int = 6, begin: float = 0, end: float = 3600 * HOURS
) -> tuple[int, int]:
    """Return violations and waits within quota of the workloads that arrive, up to a priority."""
    table = violations(run.log, limit, begin=begin, end=end)
    table = table[table.index <= highest]
    return int(table["violations"].sum()), int(table["waits"].sum())


def share(part: int, whole: int) -> str:
    """Return a percentage with its numbers."""
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "-"


def policies(load: float, quota: float) -> Iterator[str]:
    """Yield MAST beside workloads that are bound on arrival to a region, or to a cluster."""
    yield (
        "| policy | waits over 10 min | by seed | worse seeds | better seeds | over 30 min "
        "| over 10 min, priorities 1 to 3 | worst hour | preemptions a workload "
        "| preemptions by seed | of priority 1 within quota | GPUs allocated | allocated by seed "
        "| less allocated | cache hits | CPU s |"
    )
    yield "|" + "---|" * 16
    first_parts: list[float] = []
    first_rates: list[float] = []
    for label, policy, method, options in POLICIES:
        counts = [[0, 0] for _ in range(3)]
        stopped = jobs = first = 0
        rates, seconds, rule, hours = [], 0.0, Counted(), []
        parts: list[float] = []
        stops: list[float] = []
        for seed in SEEDS:
            cluster = mast_cluster(seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            run, spent = measured(workload, cluster, policy, method or rule, **options)
            seconds += spent
            found = (late(run, LIMITS[0]), late(run, LIMITS[1]), late(run, LIMITS[0], HIGH))
            for count, (part, whole) in zip(counts, found, strict=True):
                count[0] += part
                count[1] += whole
            parts.append(100 * found[0][0] / max(1, found[0][1]))
            hours += [
                late(run, LIMITS[0], HIGH, 3600 * hour, 3600 * (hour + 1)) for hour in range(HOURS)
            ]
            table = preemptions(run.log)
            own = int(table["preemptions"].sum())
            stopped, jobs = stopped + own, jobs + len(workload.jobs)
            stops.append(own / len(workload.jobs))
            first += int(table["within_quota"].get(1, 0))
            rates.append(allocation_rate(run.log, 0, 3600 * HOURS))
        cells = [share(part, whole) for part, whole in counts]
        worst = share(*max(hours, key=lambda hour: (hour[0] / max(1, hour[1]), hour[1])))
        hits = share(rule.hits, rule.attempts)
        rates = [100 * rate for rate in rates]
        first_parts, first_rates = first_parts or parts, first_rates or rates
        pairs = list(zip(parts, first_parts, strict=True))
        less = sum(a < b for a, b in zip(rates, first_rates, strict=True))
        yield (
            f"| {label} | {cells[0]} | {min(parts):.1f} to {max(parts):.1f} % "
            f"| {sum(a > b for a, b in pairs)} | {sum(a < b for a, b in pairs)} "
            f"| {' | '.join(cells[1:])} | {worst} | {stopped / jobs:.2f} "
            f"| {min(stops):.2f} to {max(stops):.2f} | {first} "
            f"| {sum(rates) / len(rates):.1f} % | {min(rates):.1f} to {max(rates):.1f} % "
            f"| {less} | {hits} | {seconds:.1f} |"
        )


def latency() -> Iterator[str]:
    """Yield how long workloads wait within and over quota (Figure 11)."""
    yield (
        "| load | waits within quota | P50, within | P95, within | longest, within | over quota "
        "| P50, over | P95, over | longest, over |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for name, (load, quota) in LOADS.items():
        found: dict[bool, list[float]] = {True: [], False: []}
        for seed in SEEDS:
            cluster = mast_cluster(seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            run, _ = measured(workload, cluster, "mast", None)
            table = waits(run.log)
            table = table[(table["begin"] > 0) & (table["begin"] < 3600 * HOURS)]
            for within in found:
                chosen = table[(table["rank"] < LOWEST) == within]
                found[within] += (chosen["seconds"].astype(float) / 60).tolist()
        cells = []
        for seconds in found.values():
            values = sorted(seconds)
            at = (values[int(p * len(values))] for p in (0.5, 0.95))
            cells += [str(len(values)), *(f"{v:.1f}" for v in at), f"{values[-1]:,.0f}"]
        yield f"| {name} | {' | '.join(cells)} |"


def allocation() -> Iterator[str]:
    """Yield the allocation rate by the size of the clusters (Figure 5)."""
    load, quota = LOADS["load-2.5"]
    yield f"{len(SEEDS)} seeds. Lost to room: share of the GPU hours free while a workload waits."
    yield (
        "| GPUs of a cluster | workloads | largest | allocated | least | most | lost to room "
        "| CPU s |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for machines in (10, 20, 40):
        jobs, largest, rates, lost, seconds = 0, 0, [], [], 0.0
        for seed in SEEDS:
            cluster = mast_cluster(4, 2, machines, types=1, seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            run, spent = measured(workload, cluster, "mast", None)
            seconds += spent
            jobs += len(workload.jobs)
            largest = max(largest, *(j.gpus for j in workload.jobs))
            rates.append(100 * allocation_rate(run.log, 0, 3600 * HOURS))
            lost.append(100 * free_while_waiting(run))
        yield (
            f"| {8 * machines} | {jobs / len(SEEDS):.0f} | {largest} "
            f"| {sum(rates) / len(rates):.1f} % | {min(rates):.1f} % | {max(rates):.1f} % "
            f"| {sum(lost) / len(lost):.1f} % | {seconds:.1f} |"
        )


def free_while_waiting(run: Simulation) -> float:
    """Return the share of the GPU hours that are free while a workload waits."""
    end, gpus = 3600.0 * HOURS, run.cluster.gpus
    changes = [(row[1] / 1e6, row[3], 0) for row in run.log.rows("segments")]
    changes += [(row[2] / 1e6, -row[3], 0) for row in run.log.rows("segments")]
    for wait in waits(run.log).itertuples():
        changes += [(wait.begin, 0, 1), (wait.end, 0, -1)]
    lost, before, held, waiting = 0.0, 0.0, 0, 0
    for time_at, more, jobs in sorted(changes):
        now = min(time_at, end)
        lost += (now - before) * (gpus - held) * (waiting > 0)
        before, held, waiting = now, held + more, waiting + jobs
    return lost / (gpus * end)


class Compared:
    """MAST's rule, which counts the passes in which the optimum is better."""

    name = "mast, compared"

    def __init__(self) -> None:
        self.passes = self.proved = self.better = 0

    def __call__(self, instance: Instance, rng: Any) -> Solution:
        """Return the solution of `mast`."""
        rule, best = dlsched.solve(instance, "mast"), dlsched.solve(instance, "exact")
        self.passes += 1
        self.proved += best.status is dlsched.Status.OPTIMAL
        self.better += rule.objective != best.objective
        assert isinstance(rule.solution, Solution)
        return rule.solution


def methods() -> Iterator[str]:
    """Yield MAST's rule and the exact method in the same place."""
    yield (
        "| seed | workloads | mast | exact | bound | saved by exact | makespan saved "
        "| preemptions, mast | preemptions, exact | better passes | CPU s, mast | CPU s, exact |"
    )
    yield "|" + "---|" * 12
    means: dict[str, list[float]] = {}
    saved = []
    for seed in range(METHOD_SEEDS):
        cluster = mast_cluster(2, 2, 8, types=1, seed=seed)
        workload = mast_workload(cluster, HOURS, load=LOADS["load-1.3"][0], scale=0.5, seed=seed)
        rule, own = measured(workload, cluster, "mast", None)
        best, spent = measured(workload, cluster, "mast", "exact", time_limit=60)
        solved = [entry for entry in best.rounds["solved"] if '"status"' in entry]
        if not all('"optimal"' in entry for entry in solved):
            raise SystemExit(f"seed {seed}: a pass was not proved")
        compared = Compared()
        measured(workload, cluster, "mast", compared)
        bound = float(rule.bound("mean_jct").value)
        row = [run.summary["mean_jct"] for run in (rule, best)]
        for name, value in zip(("mast", "exact", "bound"), [*row, bound], strict=True):
            means.setdefault(name, []).append(value)
        saved.append(1 - row[1] / row[0])
        span = 1 - best.summary["makespan"] / rule.summary["makespan"]
        yield (
            f"| {seed} | {len(workload.jobs)} | {' | '.join(f'{v:,.0f}' for v in [*row, bound])} "
            f"| {100 * saved[-1]:.1f} % | {100 * span:.1f} % | {rule.summary['preemptions']} "
            f"| {best.summary['preemptions']} | {compared.better} of {compared.passes} "
            f"| {own:.1f} | {spent:.1f} |"
        )
    average = {name: sum(values) / len(values) for name, values in means.items()}
    yield (
        f"| mean | | {' | '.join(f'{value:,.0f}' for value in average.values())} "
        f"| {100 * (1 - average['exact'] / average['mast']):.1f} % | | | | | | |"
    )


SECTIONS = {name: partial(policies, *given) for name, given in LOADS.items()} | {
    "latency": latency,
    "allocation": allocation,
    "methods": methods,
}
