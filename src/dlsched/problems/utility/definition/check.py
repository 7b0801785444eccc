"""The definition of utility: the violations of a schedule, and its utility."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain

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
    times = completions(instance, solution.schedule)
    objective = _utility(instance, times)
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
    return instance.gain(job, rate_of(instance, job, held))


def rate_of(instance: Instance, job: Job, held: Held) -> Number:
    """Return the iterations per second of a job in a slot; see `progress`."""
    copies = [(k, n) for kinds in held.gpus.values() for k, n in kinds.items()]
    if instance.forking:
        return sum(n * instance.rate(job, k) for k, n in copies)
    return min((instance.rate(job, k) for k, _ in copies), default=0)


def completions(instance: Instance, schedule: Schedule) -> dict[str, int]:
    """Return the completion times in slots of the jobs that finish.

    A job finishes in the last slot that it holds, if it has done its iterations by then.
    """
    times = {}
    for job in instance.jobs:
        rows = schedule.get(job.id, ())
        slots_at = Counter(rate_of(instance, job, held) for held in rows)
        done = sum(slots * instance.gain(job, rate) for rate, slots in slots_at.items())
        if rows and done >= job.iterations:
            times[job.id] = max(held.slot for held in rows) - job.arrival + 1
    return times


def evaluate(instance: Instance, schedule: Schedule) -> ByLevel[Number]:
    """Return the sum of utilities of the jobs that finish; invalid entries add nothing."""
    return _utility(instance, completions(instance, schedule))


def _utility(instance: Instance, times: Mapping[str, int]) -> ByLevel[Number]:
    """Return the sum of utilities of these completion times."""
    total: Number = sum(
        instance.worth(job, min(max(times[job.id], 1), instance.slots - job.arrival + 1))
        for job in instance.jobs
        if job.id in times
    )
    return ByLevel(LEVELS, (simplify(total),))


def _violations(instance: Instance, solution: Solution) -> Iterator[Violation]:
    jobs = {job.id: job for job in instance.jobs}
    for name, rows in solution.schedule.items():
        if name in jobs:
            yield from _of_job(instance, jobs[name], rows)
        else:
            yield Violation("unknown_job", f"schedule.{name}", f'there is no job "{name}"')
    yield from _over_capacity(instance, solution.schedule)
    if instance.must_finish:
        yield from _unfinished(instance, solution.schedule)


def _over_capacity(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield where jobs together hold more GPUs of a type than a machine has."""
    used: Counter[tuple[int, int, str]] = Counter()
    for held in chain.from_iterable(schedule.get(job.id, ()) for job in instance.jobs):
        for name in held.gpus.keys() & instance.machine_index:
            for kind, count in held.gpus[name].items():
                used[held.slot, instance.machine_index[name], kind] += count
    for (slot, m, kind), count in sorted(used.items()):
        have = instance.machines[m].gpus.get(kind, 0)
        if 0 < have < count:
            where = f"slot {slot}, machine {instance.machines[m].id}"
            message = f"{count} {kind} are held, it has {have}"
            yield Violation("gpus_exceeded", where, message, count - have)


def _unfinished(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    finished = completions(instance, schedule)
    for job in instance.jobs:
        if job.id not in finished:
            done = sum(progress(instance, job, held) for held in schedule.get(job.id, ()))
            message = f"{float(done):g} of {float(job.iterations):g} iterations are done"
            yield Violation("unfinished", f"schedule.{job.id}", message, job.iterations - done)


def _of_job(instance: Instance, job: Job, rows: Sequence[Held]) -> Iterator[Violation]:
    """Yield what is wrong with the slots of a job, and with its GPUs in each."""
    seen: set[int] = set()
    for i, held in enumerate(rows):
        where = f"schedule.{job.id}[{i}]"
        if held.slot in seen:
            yield Violation("repeated_slot", f"{where}.slot", f"slot {held.slot} is repeated")
        seen.add(held.slot)
        if held.slot > instance.slots:
            yield Violation("slot_range", f"{where}.slot", f"there are {instance.slots} slots")
        if held.slot < job.arrival:
            message = f"slot {held.slot} is before the job's arrival in {job.arrival}"
            yield Violation("before_arrival", f"{where}.slot", message, job.arrival - held.slot)
        known = 0
        for name, gpus in held.gpus.items():
            if name in instance.machine_index:
                yield from _on_machine(instance, job, name, gpus, f"{where}.gpus.{name}")
                known += sum(gpus.values())
            else:
                message = f'there is no machine "{name}"'
                yield Violation("unknown_machine", f"{where}.gpus.{name}", message)
        message = f"{known} GPUs, the job runs on {job.workers}"
        if known < job.workers and not instance.forking:
            yield Violation("too_few_workers", f"{where}.gpus", message, job.workers - known)
        if known > job.workers and not instance.forking:
            yield Violation("too_many_workers", f"{where}.gpus", message, known - job.workers)


def _on_machine(
    instance: Instance, job: Job, name: str, gpus: Mapping[str, int], where: str
) -> Iterator[Violation]:
    """Yield what is wrong with the GPUs that a job holds on a machine."""
    present = instance.machines[instance.machine_index[name]].gpus
    for kind in gpus:
        if not present.get(kind, 0):
            yield Violation("unknown_type", f"{where}.{kind}", f'it has no GPU of type "{kind}"')
        elif not instance.rate(job, kind):
            yield Violation("no_rate", f"{where}.{kind}", f'the job has no rate on "{kind}"')
    copies = sum(gpus.values())
    if instance.forking and copies > 1:
        yield Violation("several_on_machine", where, "a job has one copy on a machine", copies - 1)


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
            slots = str(need) if need <= 10**9 else "over 1e9"
            return f"job {job.id} needs {slots} slots at its fastest, {slots_left} are left"
    return ""
