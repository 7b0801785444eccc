"""The definition of utility: the violations of a schedule, and its utility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dlsched.problems.utility.definition.schema import Held, Instance, Job, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify

LEVELS = (Level("utility", "max", "utility"),)

Schedule = Mapping[str, tuple[Held, ...]]


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution.

    Violations: ``unknown_job``, ``slot_range``, ``before_arrival``, ``repeated_slot``,
    ``unknown_machine``, ``unknown_type`` (the machine has no GPU of it), ``no_rate``,
    ``too_few_workers``, ``too_many_workers``, ``several_on_machine`` (forking: at most one copy of
    a job on a machine), ``gpus_exceeded``, ``unfinished`` (if every job must finish).

    ``details`` has the numbers of jobs ``finished`` and ``unfinished``, the ``mean_completion`` of
    the finished ones in slots, the ``last_slot`` in use, and the share of GPUs ``used`` up to it.
    """
    violations = list(_violations(instance, solution))
    objective = evaluate(instance, solution.schedule)
    times = completions(instance, solution.schedule)
    held = [h for rows in solution.schedule.values() for h in rows]
    last = max((h.slot for h in held), default=0)
    total = sum(n for h in held for kinds in h.gpus.values() for n in kinds.values())
    gpus = sum(instance.supply.values())
    details: dict[str, Number | float] = {
        "finished": len(times),
        "unfinished": len(instance.jobs) - len(times),
        "mean_completion": float(Fraction(sum(times.values()), len(times))) if times else 0,
        "last_slot": last,
        "used": total / (gpus * last) if gpus * last else 0,
    }
    return Report(tuple(violations), objective, details)


def progress(instance: Instance, job: Job, held: Held) -> Number:
    """Return the iterations that a job does in a slot; 0 if it holds no GPU that it can use.

    A gang's rate is that of its slowest GPU (1b); the copies of a forking job add up (section V).
    """
    copies = [(k, n) for kinds in held.gpus.values() for k, n in kinds.items()]
    if not copies:
        return 0
    if instance.forking:
        return instance.gain(job, sum(n * instance.rate(job, k) for k, n in copies))
    return instance.gain(job, min(instance.rate(job, k) for k, _ in copies))


def completions(instance: Instance, schedule: Schedule) -> dict[str, int]:
    """Return the completion times in slots of the jobs that finish.

    A job finishes in the last slot that it holds, if it has done its iterations by then.
    """
    times = {}
    for job in instance.jobs:
        rows = schedule.get(job.id, ())
        done = sum(progress(instance, job, held) for held in rows)
        if rows and done >= job.iterations:
            times[job.id] = max(held.slot for held in rows) - job.arrival + 1
    return times


def evaluate(instance: Instance, schedule: Schedule) -> ByLevel[Number]:
    """Return the sum of utilities of the jobs that finish; invalid entries add nothing."""
    times = completions(instance, schedule)
    total: Number = sum(
        instance.worth(job, min(max(times[job.id], 1), instance.slots - job.arrival + 1))
        for job in instance.jobs
        if job.id in times
    )
    return ByLevel(LEVELS, (simplify(total),))


def _violations(instance: Instance, solution: Solution) -> Iterable[Violation]:
    jobs = {job.id: job for job in instance.jobs}
    used: dict[tuple[int, int, str], int] = {}
    for name, rows in solution.schedule.items():
        if name not in jobs:
            yield Violation("unknown_job", f"schedule.{name}", f'there is no job "{name}"')
            continue
        seen: set[int] = set()
        for i, held in enumerate(rows):
            where = f"schedule.{name}[{i}]"
            if held.slot in seen:
                yield Violation("repeated_slot", f"{where}.slot", f"slot {held.slot} is repeated")
            seen.add(held.slot)
            yield from _of_slot(instance, jobs[name], held, where)
            for machine, kinds in held.gpus.items():
                if machine in instance.machine_index:
                    for kind, count in kinds.items():
                        key = (held.slot, instance.machine_index[machine], kind)
                        used[key] = used.get(key, 0) + count
    yield from _over_capacity(instance, used)
    if instance.must_finish:
        finished = completions(instance, solution.schedule)
        for name, job in jobs.items():
            if name not in finished:
                done = sum(progress(instance, job, h) for h in solution.schedule.get(name, ()))
                message = f"{float(done):g} of {float(job.iterations):g} iterations are done"
                yield Violation("unfinished", f"schedule.{name}", message, job.iterations - done)


def _over_capacity(
    instance: Instance, used: Mapping[tuple[int, int, str], int]
) -> Iterable[Violation]:
    for (slot, m, kind), count in sorted(used.items()):
        have = instance.machines[m].gpus.get(kind, 0)
        if 0 < have < count:
            where = f"slot {slot}, machine {instance.machines[m].id}"
            message = f"{count} {kind} are held, it has {have}"
            yield Violation("gpus_exceeded", where, message, count - have)


def _of_slot(instance: Instance, job: Job, held: Held, where: str) -> Iterable[Violation]:
    if held.slot > instance.slots:
        yield Violation("slot_range", f"{where}.slot", f"there are {instance.slots} slots")
    if held.slot < job.arrival:
        message = f"slot {held.slot} is before the job's arrival in {job.arrival}"
        yield Violation("before_arrival", f"{where}.slot", message, job.arrival - held.slot)
    total = 0
    for machine, kinds in held.gpus.items():
        path = f"{where}.gpus.{machine}"
        if machine not in instance.machine_index:
            yield Violation("unknown_machine", path, f'there is no machine "{machine}"')
            continue
        present = instance.machines[instance.machine_index[machine]].gpus
        for kind, count in kinds.items():
            if not present.get(kind, 0):
                message = f'it has no GPU of type "{kind}"'
                yield Violation("unknown_type", f"{path}.{kind}", message)
            elif not instance.rate(job, kind):
                message = f'the job has no rate on "{kind}"'
                yield Violation("no_rate", f"{path}.{kind}", message)
            total += count
        copies = sum(kinds.values())
        if instance.forking and copies > 1:
            message = "a job has one copy on a machine"
            yield Violation("several_on_machine", path, message, copies - 1)
    if instance.forking:
        return
    message = f"{total} GPUs, the job runs on {job.workers}"
    if total < job.workers:
        yield Violation("too_few_workers", f"{where}.gpus", message, job.workers - total)
    if total > job.workers:
        yield Violation("too_many_workers", f"{where}.gpus", message, total - job.workers)


def explain(instance: Instance) -> str:
    """Return why no schedule exists; an empty string if no reason is known."""
    if not instance.must_finish:
        return ""
    for j, job in enumerate(instance.jobs):
        fastest = instance.fastest[j]
        slots_left = instance.slots - job.arrival + 1
        if not fastest:
            return f"job {job.id} has {job.workers} workers, and too few GPUs have a rate for it"
        if fastest * slots_left < job.iterations:
            need = -(-Fraction(job.iterations) // Fraction(fastest))
            slots = str(need) if need < 10**9 else "over 1e9"
            return f"job {job.id} needs {slots} slots at its fastest, {slots_left} are left"
    return ""
