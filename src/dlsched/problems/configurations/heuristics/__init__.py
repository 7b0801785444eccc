"""Baselines of configurations: greedy by goodput per GPU, max-min, and shortest first."""

from collections.abc import Iterable

import numpy as np

from dlsched.problems.configurations.definition.costs import Costs, restart_factor
from dlsched.problems.configurations.definition.schema import Instance, Job, Solution
from dlsched.problems.configurations.model import blocks, blocks_of
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Id
from dlsched.solvers.incremental import IncrementalProgram


def given_in_turn(instance: Instance, wishes: Iterable[tuple[int, Id]]) -> Solution:
    """Give jobs, by their positions, the first of their wishes that fits beside those before."""
    given = dict[Id, Id]()
    free = {(t.id, b): t.nodes * (t.gpus_per_node // b) for t in instance.types for b in blocks(t)}
    for j, name in wishes:
        job, one = instance.jobs[j].id, instance.by_id[name]
        kind = instance.type_of[one.type]
        needs = {(kind.id, b): blocks_of(kind, one, b) for b in blocks(kind)}
        if job not in given and all(free[key] >= n for key, n in needs.items()):
            given[job] = name
            free |= {key: free[key] - n for key, n in needs.items()}
    return Solution(configurations=given)


def goodputs(costs: Costs, job: Job) -> dict[Id, float]:
    """Return a job's normalised goodput by configuration, after what its restart takes."""
    factor, values = float(restart_factor(costs.instance, job)), costs.normalised(job.model)
    return {c: float(values[c]) * (1 if c == job.present else factor) for c in costs.of(job)}


@method("configurations", kind="baseline")
def greedy(instance: Instance) -> Solution:
    """Give configurations by normalised goodput per GPU, the highest first, as long as they fit."""
    costs, rows = Costs(instance), []
    for j, job in enumerate(instance.jobs):
        for name, value in goodputs(costs, job).items():
            gpus = instance.by_id[name].gpus
            rows.append((-value / gpus, gpus, j, name))
    return given_in_turn(instance, (row[2:] for row in sorted(rows)))


@method("configurations", kind="baseline")
def shortest_first(instance: Instance) -> Solution:
    """Give one GPU to each job, the fastest that is left, in the order of remaining time on it.

    Jobs that state nothing of what remains are last, in the file's order.
    """
    costs, rows = Costs(instance), []
    for j, job in enumerate(instance.jobs):
        goodput = instance.model_of[job.model].goodput
        ones = [(-goodput[n], n) for n in costs.of(job) if instance.by_id[n].gpus == 1]
        for place, (_, name) in enumerate(sorted(ones)):
            seconds = float((job.remaining or 0) / -min(ones)[0])
            rows.append((job.remaining is None, seconds, j, place, name))
    return given_in_turn(instance, ((j, name) for *_, j, _, name in sorted(rows)))


@method("configurations", kind="baseline", preload=["highspy"])
def max_min(instance: Instance, run: Run) -> Solution | Claim:
    """Maximise the least normalised goodput of shares of time, and give the largest shares.

    The linear program has jobs' shares of the round in each configuration, of which a job's sum to
    at most 1, and each type's to no more GPUs than there are. The largest shares that fit are
    given; a job that gets none of them has what fits of the others, by goodput per GPU.
    """
    costs, jobs = Costs(instance), len(instance.jobs)
    rows = [(j, *v) for j, job in enumerate(instance.jobs) for v in goodputs(costs, job).items()]
    able = sorted({j for j, *_ in rows})
    if not able:
        return Solution(configurations={})
    # Goodputs above 1e15 are refused.
    # Rows: a job's shares; its goodput less the least, which is the last column; GPUs by type.
    program = IncrementalProgram(run, maximize=True)
    gpus = [kind.nodes * kind.gpus_per_node for kind in instance.types]
    least = [-np.inf] * jobs + [0.0] * jobs + [-np.inf] * len(gpus)
    program.add_rows(least, [1.0] * jobs + [np.inf] * jobs + gpus)
    row_of = {kind.id: 2 * jobs + t for t, kind in enumerate(instance.types)}
    for j, name, value in rows:
        one = instance.by_id[name]
        places = [j, jobs + j, row_of[one.type]]
        program.add_column(0.0, 0.0, 1.0, places, [1.0, min(value, 1e9), one.gpus])
    program.add_column(1.0, 0.0, np.inf, [jobs + j for j in able], [-1.0] * len(able))
    if program.solve() is not Termination.PROVED:
        return Claim(status=Status.NO_SOLUTION, termination=run.stop_reason())
    wishes = [
        (-share, -value / instance.by_id[name].gpus, j, name)
        for (j, name, value), share in zip(rows, np.round(program.values, 9).tolist(), strict=False)
    ]
    return given_in_turn(instance, (wish[2:] for wish in sorted(wishes)))
