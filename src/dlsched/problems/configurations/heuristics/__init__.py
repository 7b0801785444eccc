"""Baselines of configurations: greedy by goodput per GPU, max-min, and shortest first."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.configurations.definition.costs import Costs, restart_factor
from dlsched.problems.configurations.definition.schema import Configuration, Instance, Job, Solution
from dlsched.problems.configurations.model import blocks
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.incremental import IncrementalProgram


class Nodes:
    """Free blocks of nodes by type and size; see `model.blocks`."""

    def __init__(self, instance: Instance) -> None:
        self.whole = {kind.id: kind.gpus_per_node for kind in instance.types}
        self.free = {
            kind.id: {b: kind.nodes * (kind.gpus_per_node // b) for b in blocks(kind)}
            for kind in instance.types
        }

    def take(self, one: Configuration) -> bool:
        """Take a configuration's blocks, if they are free."""
        free, each = self.free[one.type], min(one.gpus, self.whole[one.type])
        needs = {b: one.nodes * (each // b) for b in free}
        if any(needs[b] > free[b] for b in free):
            return False
        for b in free:
            free[b] -= needs[b]
        return True


def given_in_turn(instance: Instance, wishes: Iterable[tuple[Job, Id]]) -> Solution:
    """Give each job the first of its wishes that fits beside those before."""
    nodes, given = Nodes(instance), dict[Id, Id]()
    for job, name in wishes:
        if job.id not in given and nodes.take(instance.by_id[name]):
            given[job.id] = name
    order = (job.id for job in instance.jobs)
    return Solution(configurations={job: given[job] for job in order if job in given})


def goodputs(instance: Instance, costs: Costs, job: Job) -> dict[Id, Fraction]:
    """Return a job's normalised goodput by configuration, after what its restart takes."""
    goodput, least = instance.model_of[job.model].goodput, instance.least.get(job.model, 1)
    factor = restart_factor(instance, job)
    return {
        name: Fraction(goodput[name]) / least * (1 if name == job.present else factor)
        for name in costs.of(job)
    }


@method("configurations", kind="baseline")
def greedy(instance: Instance) -> Solution:
    """Give configurations by normalised goodput per GPU, the highest first, as long as they fit."""
    costs = Costs(instance)
    rows = []
    for j, job in enumerate(instance.jobs):
        for name, value in goodputs(instance, costs, job).items():
            gpus = instance.by_id[name].gpus
            rows.append((-float(value) / gpus, gpus, j, name))
    return given_in_turn(instance, ((instance.jobs[j], name) for *_, j, name in sorted(rows)))


@method("configurations", kind="baseline")
def shortest_first(instance: Instance) -> Solution:
    """Give one GPU to each job, the fastest that is left, in the order of remaining time on it.

    Jobs that state nothing of what remains are last, in the file's order.
    """
    costs, rows = Costs(instance), []
    for j, job in enumerate(instance.jobs):
        goodput = instance.model_of[job.model].goodput
        ones = [(-goodput[n], n) for n in costs.of(job) if instance.by_id[n].gpus == 1]
        if ones:
            unknown = job.remaining is None
            seconds = float(-(job.remaining or 0) / min(ones)[0])
            rows.append((unknown, seconds, j, [name for _, name in sorted(ones)]))
    rows.sort(key=lambda row: row[:3])
    wishes = ((instance.jobs[j], name) for *_, j, names in rows for name in names)
    return given_in_turn(instance, wishes)


@method("configurations", kind="baseline", preload=["highspy", "scipy.sparse"])
def max_min(instance: Instance, run: Run) -> Solution | Claim:
    """Maximise the least normalised goodput of shares of time, and give the largest shares.

    The linear program has jobs' shares of the round in each configuration, of which a job's sum to
    at most 1, and each type's to no more GPUs than there are. Configurations then follow by
    their shares, the largest first, as long as they fit; a job that gets none of these has what
    fits of the others, by goodput per GPU.
    """
    from scipy import sparse

    costs = Costs(instance)
    columns = [
        (j, name, float(value))
        for j, job in enumerate(instance.jobs)
        for name, value in goodputs(instance, costs, job).items()
    ]
    jobs, count = len(instance.jobs), len(columns)
    row_of = {kind.id: 2 * jobs + t for t, kind in enumerate(instance.types)}
    chosen = [instance.by_id[name] for _, name, _ in columns]
    owners = [j for j, *_ in columns]
    able = sorted(set(owners))
    values = [value for *_, value in columns]
    # Rows: a job's shares; its goodput less the least, which is the last column; GPUs by type.
    places = [*owners, *(jobs + j for j in owners), *(row_of[one.type] for one in chosen)]
    entries = [1.0] * count + values + [float(one.gpus) for one in chosen]
    starts = [*(3 * list(range(count))), *(count for _ in able)]
    places += [jobs + j for j in able]
    entries += [-1.0] * len(able)
    A: Any = sparse.csc_array(
        (entries, (places, starts)), shape=(2 * jobs + len(row_of), count + 1)
    )
    program = IncrementalProgram(run, maximize=True)
    program.add_rows([-np.inf] * jobs, [1.0] * jobs)
    program.add_rows([0.0] * jobs, [np.inf] * jobs)
    there = [float(kind.nodes * kind.gpus_per_node) for kind in instance.types]
    program.add_rows([-np.inf] * len(there), there)
    program.add_columns(np.array([0.0] * count + [1.0]), A)
    if not able:
        return Solution(configurations={})
    if program.solve() is not Termination.PROVED:
        return Claim(status=Status.NO_SOLUTION, termination=run.stop_reason())
    shares = np.round(program.values, 9)[:count].tolist()
    rows = [
        (-share, -value / one.gpus, j, name)
        for (j, name, value), share, one in zip(columns, shares, chosen, strict=True)
    ]
    return given_in_turn(instance, ((instance.jobs[j], name) for *_, j, name in sorted(rows)))
