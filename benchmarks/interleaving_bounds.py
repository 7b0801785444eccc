"""The relaxation of large interleaving instances, and what it gave for the open instances.

Sections of interleaving.py. Limits and seconds here are processor time, so that other work on the
machine changes little.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from figures import cell

import dlsched
from dlsched import library
from dlsched.problems.interleaving import PROBLEM, Instance
from dlsched.problems.interleaving.exact import group_columns, search_groups
from dlsched.problems.interleaving.heuristics import consecutive_groups
from dlsched.problems.interleaving.heuristics.muri import improve
from dlsched.problems.interleaving.programs.tunables import TUNABLES, Tunables
from dlsched.results.objective import bound_from_data, gap, number_from_data
from dlsched.results.result import Point
from dlsched.run import Run

LIMITS = {1000: 150, 512: 40}
"""Processor seconds by the number of distinct jobs."""
SEEDS = (1, 2, 3)
LATER = 15.0
"""Processor seconds after the first bound, within the limit, for the search for better groups."""
CLUSTERED = ((0.02, 201), (0.05, 202), (0.1, 203))
"""Noise and seed."""
CLUSTERED_LIMIT = 20.0
SMOOTHED = ((512, 1),)
"""Sizes and seeds with the smoothed relaxation as well, for as long as the other one took."""
NEVER = 10**9
"""As `many_profiles`: the smoothed relaxation at every size, as before."""
OPEN = (
    ("interleaving-open-128-distinct", 42, "2026-11-22"),
    ("interleaving-open-512-distinct", 42, "2026-11-22"),
)
"""Open instances: processor seconds and date of the search."""


class ProcessorRun(Run):
    """A run whose limit is processor time."""

    def elapsed(self) -> float:
        """Seconds of processor time since the run began."""
        return time.process_time() - self.began


@dataclass
class Course:
    """The points of a run, with processor time."""

    points: list[Point] = field(default_factory=list)

    def certified(self) -> list[Point]:
        """Return the points with a bound."""
        return [point for point in self.points if point.bound is not None]

    def cells(self) -> str:
        """Return seconds, bound and gap when the first bound was there, and at the end."""
        found = self.certified()
        if not found:
            return "- | - | - | - | - | -"
        return " | ".join(
            f"{point.seconds:.0f} | {point.bound:.4f} | {cell(1 - point.objective / point.bound)}"
            for point in (found[0], found[-1])
        )


def course(instance: Instance, limit: float, many: int, later: float = LATER) -> Course:
    """Run `column_generation` with the new relaxation from `many` profiles on.

    Parameters
    ----------
    limit
        Processor seconds.
    later
        It also ends so many processor seconds after the first bound.
    """
    taken = Course()
    trivial = len(instance.jobs) / len(instance.resources)

    def note(point: Point) -> None:
        if point.bound is not None and point.bound < trivial:
            taken.points.append(point)
        if taken.points:
            run.interrupted = point.seconds > taken.points[0].seconds + later

    run = ProcessorRun(time_limit=limit, on_progress=note)
    run.began = time.process_time()
    claim = search_groups(instance, run, Tunables(many_profiles=many))
    taken.points.append(Point(run.elapsed(), claim.objective[0], float(claim.bounds[0][0].value)))
    return taken


def bound() -> Iterator[str]:
    """Yield the table of the relaxation by sample and box beside the smoothed one."""
    yield "## The relaxation of large instances\n"
    yield "Distinct jobs in groups of four, `column_generation`; seconds are processor time. The"
    yield "relaxation by representatives, a box and few exact passes, with a limit of"
    yield f"{LIMITS[1000]} s ({LIMITS[512]} s for 512 jobs), stopped {LATER:.0f} s after the first"
    yield "bound; beside it, for as long, the smoothed one that small instances have, as before."
    yield "The gap is 1 - objective / bound, with the certified bound; the first bound is the first"
    yield "one below full efficiency.\n"
    yield (
        "| jobs | seed | relaxation | first bound, s | bound | gap | end, s | bound | gap |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    dlsched.solve(dlsched.generate("interleaving", 9, jobs=20), "column_generation")
    for jobs, limit in LIMITS.items():
        for seed in SEEDS:
            instance = dlsched.generate("interleaving", seed, jobs=jobs)
            taken = course(instance, limit, TUNABLES.many_profiles)
            yield f"| {jobs} | {seed} | sample, box | {taken.cells()} |"
            if (jobs, seed) in SMOOTHED:
                before = course(instance, taken.points[-1].seconds, NEVER, np.inf)
                yield f"| {jobs} | {seed} | smoothed | {before.cells()} |"


def clustered() -> Iterator[str]:
    """Yield the table of a thousand jobs of eight models whose stages differ little."""
    yield "## A thousand jobs of eight models: bounds by processor seconds\n"
    yield "Stages differ from their model's by up to the noise, and by a factor of the job's own;"
    yield "seeds that were not used while the passes were written. The relaxation of `exact` alone,"
    yield f"with a limit of {CLUSTERED_LIMIT:.0f} processor seconds that stops it, from groups of"
    yield "consecutive jobs improved by exchanges (not the start of `exact`, which is better). The"
    yield "gap is 1 - value / bound to that start; of full efficiency it is in the last column.\n"
    yield (
        "| noise | seed | start | first bound, s | bound | gap | last bound, s | bound | gap "
        "| full efficiency |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    PROBLEM.methods["column_generation"].load()
    for noise, seed in CLUSTERED:
        instance = dlsched.generate("interleaving", seed, jobs=1000, noise=noise)
        pool = group_columns.GroupPool(instance)
        groups = improve(instance, consecutive_groups(instance), 20, Run())
        run = ProcessorRun(time_limit=CLUSTERED_LIMIT)
        run.began = time.process_time()
        search = group_columns.GroupSearch(pool, run)
        search.incumbent.offer(pool.groups_of_jobs(groups))
        search.solve_relaxation(share=1.0)
        trivial = float(pool.full_efficiency)
        found = [p for p in run.trajectory if p.bound is not None and p.bound < trivial]
        cells = [
            f"{p.seconds:.1f} | {p.bound:.3f} | {cell(1 - search.value / p.bound)}"
            for p in (found[:1] + found[-1:])
        ] or ["- | - | -"] * 2
        yield (
            f"| {noise} | {seed} | {search.value:.3f} | {' | '.join(cells)} "
            f"| {cell(1 - search.value / trivial)} |"
        )


def small() -> Iterator[str]:
    """Yield the table of small instances, which have the smoothed relaxation."""
    yield "## The size from which the relaxation is another\n"
    yield "Processor seconds of the relaxation alone, distinct jobs in groups of four; the bounds"
    yield "differ by the last column. Below 150 profiles of one class the smoothed relaxation"
    yield "stays, so that the times there are those of before.\n"
    yield "| jobs | seed | smoothed, s | sample, box, s | bounds differ by |\n|---|---|---|---|---|"
    for jobs in (16, 32, 64, 128, 160):
        for seed in SEEDS:
            instance = dlsched.generate("interleaving", seed, jobs=jobs)
            seconds, values = [], []
            for many in (NEVER, 1):
                began = time.process_time()
                pool = group_columns.GroupPool(instance)
                search = group_columns.GroupSearch(pool, Run(), Tunables(many_profiles=many))
                search.incumbent.offer(_greedy(pool, instance))
                search.solve_relaxation(share=1.0)
                seconds.append(time.process_time() - began)
                values.append(float(search.bound or 0))
            differ = abs(values[0] - values[1]) / values[0]
            yield f"| {jobs} | {seed} | {seconds[0]:.2f} | {seconds[1]:.2f} | {differ:.1e} |"


def _greedy(pool: group_columns.GroupPool, instance: Instance) -> group_columns.Groups:
    size = len(instance.resources)
    jobs = range(len(instance.jobs))
    return pool.groups_of_jobs([jobs[i : i + size] for i in range(0, len(jobs), size)])


def open_() -> Iterator[str]:
    """Yield the table of the library's open instances."""
    yield "## Open instances of the library\n"
    yield "By `python instances/hard.py NAME --seconds 240`: `swap`, then `column_generation` from"
    yield "its solution; s is processor time. The bounds are those of proofs that have"
    yield "been made since, by `python instances/prove.py --bound VALUE NAME`, in 137 and 35 s.\n"
    yield (
        "| instance | solution | bound | gap | method | s | date |\n|---|---|---|---|---|---|---|"
    )
    for name, seconds, date in OPEN:
        line = library.index()[name]
        objective = [number_from_data(v) for v in line["objective"].values()]
        bounds = [bound_from_data(b) for b in line["bound"].values()]
        owner = dlsched.registry.problem("interleaving")
        apart = gap(owner.by_level(objective), owner.by_level(bounds))[0]
        yield (
            f"| {name} | {float(objective[0]):.6f} | {float(bounds[0].value):.6f} | {cell(apart)} "
            f"| `{line['proof']['method']}` | {seconds} | {date} |"
        )
