"""The call that divides a cluster's GPUs among jobs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from dlsched.errors import OptionError, SolverDisagreement
from dlsched.problems.shares.allocation import Round, Shares
from dlsched.problems.shares.checker import Share, check
from dlsched.problems.shares.groups import Groups
from dlsched.problems.shares.jobs import Job, Jobs, read_gpus, read_jobs
from dlsched.problems.shares.kinds import group_jobs
from dlsched.problems.shares.measures import measure_of, require_steps
from dlsched.problems.shares.optimum import Solved
from dlsched.problems.shares.policies import solve
from dlsched.problems.shares.program import Program
from dlsched.problems.shares.rates import Alone, Pairs, Rates
from dlsched.results.result import Seconds
from dlsched.run import Run


def shares(
    rates: Rates | Alone,
    gpus: Mapping[str, int],
    jobs: Jobs | None = None,
    *,
    policy: str = "max_min",
    pairs: Pairs | None = None,
    space_sharing: bool | None = None,
    certify: bool = True,
) -> Shares:
    """Divide the time of a cluster's GPUs among jobs, by one of Gavel's policies.

    Gavel (OSDI'20) states a policy as an optimization over the fractions of time that each job
    spends on each type of GPU. Jobs that are equal in everything a policy reads are one kind, and
    the program is over kinds, which is exact by symmetry. With N_k GPUs of type k, prop_j = sum_k
    T_jk N_k / sum_k N_k:

    - ``"max_min"`` maximises the least scale x throughput / (weight x prop).
    - ``"water_filling"`` maximises the least such value, then the least of those that are not yet
      at their limit, and so on.
    - ``"makespan"`` minimises the longest steps / throughput.
    - ``"finish_time_fairness"`` minimises the largest ratio of a job's time to finish to that with
      its part of a cluster divided equally, see `dlsched.problems.shares.measures.isolated`.
    - ``"max_sum_throughput"`` maximises the sum of weight x throughput.

    As in Gavel, a job has at most all of its time and a type at most its GPUs; placement on
    machines is left to the scheduler's rounds.

    Parameters
    ----------
    rates, pairs
        Iterations per second of each model, alone and beside another; see `Rates.of`.
        `read_rates` reads Gavel's published files.
    gpus
        GPUs of each type.
    jobs
        `Job` objects, mappings with a job's fields, or a table with such columns. By default one
        job of each model in the rates, with the model's name as its id.
    policy
        One of ``dlsched.problems.shares.POLICIES``.
    space_sharing
        Whether two jobs of the same scale may share GPUs; by default, if there are rates of pairs.
    certify
        Whether to compute bounds; of water filling, one for each round.

    Raises
    ------
    InstanceError
        If rates, GPUs or jobs cannot be used: a job without a rate above 0, or whose scale exceeds
        the GPUs of every such type, has no share to speak of; leave it out.
    OptionError
        If space sharing is asked for without rates of pairs.
    UnknownName
        If there is no such policy.
    SolverFailure, SolverDisagreement
        If HiGHS fails, or the checker does not confirm the shares or their bound.

    Notes
    -----
    How this differs from the authors' public code (stanford-futuredata/gavel, in the versions
    read):

    - Its max-min fairness divides by the throughput of an allocation that is any optimum of the
      problem with all rates 1; with packing, by the sum of the rates over types. Here it is prop_j
      in both **(D)**, as in its water filling.
    - Its packing program by job types has variables for each job and partner type, and needs a
      model's jobs to have equal times beside their own model. Here only totals are variables.
    - Its water filling finds the jobs at their limit by an integer program with a big M and a
      tolerance of 1e-4; here by the duals. It has no packing; here there is.
    - Its makespan is found by bisection to 5 %; here by one program.
    - Its finish-time fairness ignores weights, and so does this. Its isolated throughput is that of
      any optimum of a program with many optima; see `dlsched.problems.shares.measures.isolated`.
    - Its sum of throughputs ignores weights **(D)** (equal ones give the same); costs and service
      level objectives are not here.
    - It lets a job use a type with fewer GPUs than its scale for part of the time; here it does
      not run there **(D)**.
    """
    began = time.perf_counter()
    measure = measure_of(policy)
    rated, supply = Rates.of(rates, pairs), read_gpus(gpus)
    listed = _default_jobs(rated) if jobs is None else read_jobs(jobs)
    require_steps(listed, measure)
    if space_sharing is None:
        space_sharing = bool(rated.beside)
    elif space_sharing and not rated.beside:
        raise OptionError("space_sharing=True needs rates of pairs; give pairs=")
    kinds = group_jobs(listed, rated, supply, measure)
    groups = Groups.of(kinds, rated, supply, space_sharing)
    run = Run()
    built = time.perf_counter()
    solved = solve(groups, policy, run, certify)
    optimized = time.perf_counter()
    divided = _expand(groups.program, solved, listed)
    checked = check(divided, rated, supply, listed, policy=policy)
    if checked.violations or checked.objective is None:
        said = checked.violations[0].message if checked.violations else "the objective is infinite"
        raise SolverDisagreement(f"the checker refuses the shares of {policy}: {said}")
    if solved.bound is not None:
        beaten = checked.objective - solved.bound
        if (beaten if measure.sense == "max" else -beaten) > 0:
            values = f"{float(checked.objective)!r} beats {float(solved.bound)!r}"
            raise SolverDisagreement(f"shares of {policy} are better than their bound: {values}")
    ended = time.perf_counter()
    name, version = next(iter(run.solvers.items()))
    return Shares(
        policy=policy,
        jobs=listed,
        shares=divided,
        objective=checked.objective,
        bound=solved.bound,
        throughput=checked.throughput,
        values={job: v for job, v in checked.values.items() if v is not None},
        rounds=tuple(
            Round(level, bound, tuple(listed[i].id for c in fixed for i in kinds[c].jobs))
            for level, bound, fixed in solved.rounds
        ),
        kinds=len(kinds),
        size=solved.size,
        solves=solved.solves,
        seconds=Seconds(built - began, optimized - built, ended - optimized, ended - began),
        solver=f"{name} {version}",
    )


def _default_jobs(rates: Rates) -> tuple[Job, ...]:
    """Return one job of each model, and of each scale that it has rates for."""
    several = len({model for model, _ in rates.alone}) < len(rates.alone)
    return tuple(
        Job(f"{model} x{scale or 1}" if several else model, model, scale or 1)
        for model, scale in rates.alone
    )


def _expand(program: Program, solved: Solved, jobs: tuple[Job, ...]) -> tuple[Share, ...]:
    """Return the shares of the jobs, in their order: each job has its part of its kind's total."""
    totals = [defaultdict[tuple[str, str | None], Fraction](Fraction) for _ in program.kinds]
    for column, amount in zip(program.columns, solved.times, strict=True):
        if amount:
            for c, _, group in column.sides(program.kinds):
                totals[c][column.gpu, group[0] if group else None] += amount
    parts_of_job: dict[int, dict[tuple[str, str | None], Fraction]] = {}
    for kind, of_kind in zip(program.kinds, totals, strict=True):
        parts = {key: total / kind.count for key, total in of_kind.items()}
        parts_of_job |= dict.fromkeys(kind.jobs, parts)
    return tuple(
        Share(job.id, gpu, beside, part)
        for i, job in enumerate(jobs)
        for (gpu, beside), part in parts_of_job[i].items()
    )
