"""The checker of shares, in exact arithmetic; it knows neither programs nor solvers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import InstanceError
from dlsched.problems.shares.jobs import Job, Jobs, converted, read_gpus, read_jobs
from dlsched.problems.shares.measures import (
    Rated,
    combine,
    measure_of,
    proportional,
    require_steps,
    usable_rates,
    value,
)
from dlsched.problems.shares.rates import Alone, Pairs, Rates
from dlsched.results.result import Violation
from dlsched.schema.quantities import exact


class Share(NamedTuple):
    """A job's fraction of time on a type of GPU, alone or beside jobs of a model.

    Attributes
    ----------
    job, gpu
        Id of the job, and type of GPU.
    beside
        Model of the jobs, of the same scale, with which it shares the GPUs; ``None`` alone.
    share
        Fraction of time, from 0 to 1.
    """

    job: str
    gpu: str
    beside: str | None
    share: Fraction


@dataclass(frozen=True)
class Checked:
    """What the checker finds.

    Attributes
    ----------
    violations
        Broken requirements: ``negative``, ``time``, ``gpus``, ``cannot_run``, ``cannot_share``,
        ``sides`` (time beside another model that the other does not have), ``own_half`` (more than
        half of a model's time beside itself).
    objective
        The policy's objective; ``None`` if it is infinite.
    throughput, values
        By job: iterations per second, and the policy's value, ``None`` if infinite.
    """

    violations: tuple[Violation, ...]
    objective: Fraction | None
    throughput: Mapping[str, Fraction]
    values: Mapping[str, Fraction | None]

    @property
    def feasible(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations


def check(
    shares: Iterable[Share | Sequence[object]],
    rates: Rates | Alone,
    gpus: Mapping[str, int],
    jobs: Jobs,
    *,
    policy: str = "max_min",
    pairs: Pairs | None = None,
) -> Checked:
    """Check shares of any origin and compute what they are worth, in exact arithmetic.

    Parameters
    ----------
    shares
        (job, gpu, beside, share); see `Share`. Shares that are doubles are taken as the decimals
        they print as, so the shares of a floating-point solver may exceed a limit by its tolerance.
    rates, gpus, jobs, policy, pairs
        As given to `dlsched.problems.shares.shares`.

    Raises
    ------
    InstanceError
        If the input cannot be used, or a share is of no known job or type.
    """
    rated, supply, listed = Rates.of(rates, pairs), read_gpus(gpus), read_jobs(jobs)
    require_steps(listed, measure_of(policy))
    known = {job.id: job for job in listed}
    alone: dict[tuple[str, int], Rated] = {}
    for job in listed:
        if (job.model, job.scale) not in alone:
            alone[job.model, job.scale] = usable_rates(job, rated, supply)
    fair = {like: proportional(usable, supply) for like, usable in alone.items()}
    violations: list[Violation] = []
    time: dict[str, Fraction] = dict.fromkeys(known, Fraction(0))
    throughput: dict[str, Fraction] = dict.fromkeys(known, Fraction(0))
    used: dict[str, Fraction] = dict.fromkeys(supply, Fraction(0))
    beside: dict[tuple[str, str, int, str], list[tuple[str, Fraction]]] = defaultdict(list)
    for i, row in enumerate(shares):
        share = _share(row, i, known, supply)
        job, where = known[share.job], f"[{i}]"
        if share.share < 0:
            violations.append(
                Violation("negative", where, f"{_spell(share)} is negative", -share.share)
            )
        if not share.share:
            continue
        time[job.id] += share.share
        used[share.gpu] += job.scale * share.share / (1 if share.beside is None else 2)
        if share.beside is None:
            rate = alone[job.model, job.scale].get(share.gpu, 0)
            kind, said = "cannot_run", "cannot run there"
        else:
            both = rated.pair(job.model, share.beside, job.scale, share.gpu)
            rate = both[0] if both and supply[share.gpu] >= job.scale else 0
            kind, said = "cannot_share", "cannot run there beside that model"
            beside[job.model, share.beside, job.scale, share.gpu].append((job.id, share.share))
        if not rate:
            violations.append(Violation(kind, where, f"{_spell(share)}: it {said}", share.share))
        throughput[job.id] += rate * share.share
    violations += _over("time", "has more than all of its time", time, dict.fromkeys(known, 1))
    violations += _over("gpus", "is used more than there are GPUs", used, supply)
    violations += _sides(beside)
    values = {
        j.id: value(policy, j, throughput[j.id], fair[j.model, j.scale], supply, len(listed))
        for j in listed
    }
    return Checked(tuple(violations), combine(policy, values.values()), throughput, values)


def _over(
    kind: str, said: str, used: Mapping[str, Fraction], limits: Mapping[str, int]
) -> Iterator[Violation]:
    for name, amount in used.items():
        if amount > limits[name]:
            message = f"{name} {said}: {float(amount):.9g} of {limits[name]}"
            yield Violation(kind, name, message, amount - limits[name])


def _sides(
    beside: Mapping[tuple[str, str, int, str], Sequence[tuple[str, Fraction]]],
) -> Iterator[Violation]:
    """Yield where shared time cannot be divided into pairs of different jobs."""
    for (model, other, scale, gpu), entries in beside.items():
        total = sum((share for _, share in entries), Fraction(0))
        if model == other:
            shares: dict[str, Fraction] = defaultdict(Fraction)
            for job, share in entries:
                shares[job] += share
            for job, share in shares.items():
                if 2 * share > total:
                    message = f"{job} is beside {model} on {gpu} for over half of the time there"
                    yield Violation("own_half", job, message, share - total / 2)
            continue
        theirs = sum((s for _, s in beside.get((other, model, scale, gpu), ())), Fraction(0))
        if total > theirs:
            message = f"{model} beside {other} on {gpu} for {float(total):.9g}"
            message += f", {other} beside {model} for {float(theirs):.9g}"
            yield Violation("sides", f"{model} | {other} | {gpu}", message, total - theirs)


def _share(row: object, i: int, known: Mapping[str, Job], gpus: Mapping[str, int]) -> Share:
    remedy = "give (job, gpu, beside or None, share)"
    if not isinstance(row, (tuple, list)) or len(row) != 4:
        raise InstanceError("shares", f"[{i}]", "is no share", remedy)
    job, gpu, beside, amount = row
    for kind, name, names in (("job", job, known), ("type of GPU", gpu, gpus)):
        if not isinstance(name, str) or name not in names:
            raise InstanceError("shares", f"[{i}]", f"{name!r} is no {kind}", remedy)
    if beside is not None and not isinstance(beside, str):
        raise InstanceError("shares", f"[{i}]", f"{beside!r} is no model", remedy)
    if not isinstance(amount, Fraction):
        amount = Fraction(converted(amount, exact, "shares", f"[{i}]"))
    return Share(job, gpu, beside, amount)


def _spell(share: Share) -> str:
    beside = f" beside {share.beside}" if share.beside is not None else ""
    return f"{share.job} on {share.gpu}{beside}: {float(share.share):.9g}"
