"""Picture of elastic: a row of GPUs per job with its running time; many jobs by their size."""

from itertools import pairwise
from typing import Any

from dlsched.display.drawing.cells import Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    IDLE,
    Colouring,
    Differences,
    Look,
    by_name,
    by_number,
    differences,
    gpus_of_a,
    light,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.problems.elastic.definition.check import check, of_job
from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    held_by,
    reduction,
    running_time,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution

COLOR_BY = ("job", "status", "gpus_per_worker")
"""What rows can be coloured by: the job; running, launched or waiting; GPUs of a worker."""
COLOR_BY_OF_MANY = ("outcome", "gpus_per_worker", "running")
"""What many jobs can be coloured by: what they get; GPUs of a worker; whether they run."""
_ROWS = 40
"""Most jobs that have a row each; more are counted by size."""
_STATUS = {"running": "#0072b2", "launched": "#56b4e9", "waiting": IDLE}
_OUTCOMES = {
    "waits": IDLE,
    "base workers only": "#a6cde8",
    "some extra workers": "#4a90c2",
    "all extra workers": "#124a78",
}
_GREY = "#666666"
_BASE = Mark("base workers", _GREY)
_EXTRA = Mark("extra workers", light(_GREY))
_MORE = Mark("could still get", IDLE, dashed=True)
_WAITS = Mark("waits: base workers", IDLE)
_LOAN = Mark("on loan", hatch="//////")


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that get other numbers of workers in two solutions."""
    names = [job.id for job in instance.jobs]
    first, second = (
        dict(zip(names, map(sum, _given(instance, solution)), strict=True)) for solution in (a, b)
    )
    return differences(names, first, second, "number of workers")


def _given(instance: Instance, solution: Solution | None) -> list[Workers]:
    """Return the workers of each job; without a solution the base of running jobs."""
    if solution is None:
        return [held_by(instance, job) for job in instance.jobs]
    return [workers_of(instance, solution, job) for job in instance.jobs]


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw a row of GPUs per job: base workers, extra workers, and those that it could still get.

    The running time and the time saved by extra workers are beside it. With pools the workers on
    loan are hatched. More than 40 jobs are counted by the GPUs of their base workers, and by what
    they get. Without a solution every running job has its base workers.
    """
    jobs = instance.jobs
    given = _given(instance, solution)
    size = f"{len(jobs):,} job{'s' * (len(jobs) != 1)}, {instance.gpus:,} free GPUs"
    if instance.pools:
        size += f", {instance.by_pool[1].capacity:,} of them on loan"
    if solution is not None:
        size += f", {check(instance, solution).details['gpus']:,} taken"
    if len(jobs) > _ROWS:
        color_by = view.choose(COLOR_BY_OF_MANY, COLOR_BY_OF_MANY[0])
        colouring = _colouring(instance, given, color_by)
        counts = {label: colouring.labels.count(label) for label in colouring.key}
        colouring = colouring.renamed(lambda label: f"{label}: {counts[label]:,}")
        return Picture(
            size,
            _classes(jobs, colouring),
            f"all {len(jobs):,} jobs by the GPUs of their base workers",
            "GPUs",
            colouring=colouring,
        )
    colouring = _colouring(instance, given, view.choose(COLOR_BY, COLOR_BY[0]))
    rows = []
    for j, (job, workers) in enumerate(zip(jobs, given, strict=True)):
        look = view.look(job.id, colouring.look(j))
        pieces = _pieces(instance, job, workers, look)
        rows.append(Owner(job.id, 0, pieces, _outcome(instance, job, workers)))
    return Picture(size, rows, "GPUs", "job", colouring=colouring)


def _pieces(instance: Instance, job: Job, workers: Workers, look: Look) -> list[Piece]:
    """Return what a job has and could have.

    Workers on loan are the last ones, or the first ones if a running job has its base there.
    """
    size = job.gpus_per_worker
    given = sum(workers)
    base = min(given, job.min_workers)
    loan = workers[1] if instance.pools else 0
    first_loan = 0 if loan and job.running and base_of(instance, job)[1] else given - loan
    extra = look._replace(colour=light(look.colour))
    pieces = []
    for first, end in pairwise(sorted({0, base, first_loan, first_loan + loan, given})):
        lent = (_LOAN,) * (first_loan <= first < first_loan + loan)
        marks = (_BASE if end <= base else _EXTRA, *lent)
        pieces.append(Piece((end - first) * size, look if end <= base else extra, marks=marks))
    if not given:
        pieces.append(Piece(job.min_workers * size, Look(IDLE), marks=(_WAITS,)))
    more = job.max_workers - (given or job.min_workers)
    return pieces + [Piece(more * size, Look(IDLE), marks=(_MORE,))] * (more > 0)


def _outcome(instance: Instance, job: Job, workers: Workers) -> str:
    """Return the running time and what is saved, in words."""
    if not any(workers):
        return "waits"
    if any(of_job(instance, job, workers)):
        return "not valid"
    words = _seconds(running_time(instance, job, workers))
    saved = reduction(instance, job, workers)
    if not saved:
        return words
    return (
        f"{words}, saves {_seconds(saved)}" if saved > 0 else f"{words}, loses {_seconds(-saved)}"
    )


def _seconds(value: Any) -> str:
    """Return a time in seconds, minutes or hours."""
    seconds = float(value)
    if abs(seconds) < 600:
        return f"{seconds:.4g} s"
    if abs(seconds) < 36_000:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:,.4g} h" if abs(seconds) < 3.6e7 else f"{seconds / 3600:,.0f} h"


def _classes(jobs: tuple[Job, ...], colouring: Colouring) -> list[Owner]:
    """Return the numbers of jobs by the GPUs of their base workers, rounded up to a power of 2."""
    bits = [(job.gpus_per_worker * job.min_workers - 1).bit_length() for job in jobs]
    rows = []
    for power in range(min(bits), max(bits) + 1):
        labels = [label for b, label in zip(bits, colouring.labels, strict=True) if b == power]
        counts = {label: labels.count(label) for label in colouring.key if label in labels}
        pieces = [
            Piece(count, Look(colouring.key[label], label), f"{count:,}")
            for label, count in counts.items()
        ]
        name = f"{2 ** (power - 1) + 1:,}–{2**power:,}" if power > 1 else str(2**power)
        rows.append(Owner(name, 0, pieces, f"{len(labels):,}" * (len(pieces) > 1)))
    return rows


def _colouring(instance: Instance, given: list[Workers], color_by: str) -> Colouring:
    jobs = instance.jobs
    if color_by == "job":
        return by_name([job.id for job in jobs])
    if color_by == "gpus_per_worker":
        sizes = by_number([job.gpus_per_worker for job in jobs])
        return sizes.renamed(gpus_of_a("worker"))
    if color_by == "running":
        return Colouring(tuple("running" if job.running else "waiting" for job in jobs), _STATUS)
    pairs = zip(jobs, map(sum, given), strict=True)
    if color_by == "status":
        started = (("running" if job.running else "launched", count) for job, count in pairs)
        return Colouring(tuple(name if count else "waiting" for name, count in started), _STATUS)
    waits, base, some, every = _OUTCOMES
    labels = []
    for job, count in pairs:
        extra = some if count < job.max_workers else every
        labels.append(waits if not count else base if count <= job.min_workers else extra)
    return Colouring(tuple(labels), _OUTCOMES)
