"""Rows of the whole model for a rule on the sets of jobs that one server may hold.

A part is a job with at least some GPUs on a server. What the rule allows it allows with fewer jobs
or GPUs, so that it is the same as its smallest sets of parts that are not allowed: of each, one
part at least is missing on every server. Of parts of which any r are such a set, at most r - 1 are
there, which is one row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.allow import Allow
from dlsched.problems.sensitivity.definition.schema import Instance, Job, Solution

MOST_ASKED = 200_000
"""Most sets of parts of which the rule is asked."""
_MOST_CHECKED = 20_000
"""Up to this number of sets of parts that fit a server's GPUs, the rule is asked of each."""
_PROBED = 100
"""Number of the sets that are not allowed that are tried with more of a job."""


class Part(NamedTuple):
    """A job with at least some GPUs on a server."""

    job: str
    gpus: int


Parts = frozenset[Part]
Counts = tuple[str, list[int]]
"""A job, and the numbers of GPUs that it can have on a server."""


class TooManySets(OptionError):
    """A rule of which more sets would have to be asked than `MOST_ASKED`."""


class _Asked:
    """What the rule says of sets of parts; `counts` has the jobs that fit a server."""

    def __init__(self, instance: Instance, allow: Allow) -> None:
        self.instance = instance
        self.allow = allow
        self.known: dict[Parts, bool] = {}
        counts = ((job.id, _counts(instance, job)) for job in instance.jobs)
        self.counts = {job: fitting for job, fitting in counts if fitting}

    def __call__(self, held: Parts) -> bool:
        if held and held not in self.known:
            if len(self.known) >= MOST_ASKED:
                raise TooManySets(
                    f"to state allow on the model of {self.instance.name} it would have to be "
                    f"asked of more than {MOST_ASKED} sets of jobs; leave out constrain, levels "
                    f"and fix, and use exact, which needs no model"
                )
            self.known[held] = self.allow(self.instance, dict(sorted(held)))
        return not held or self.known[held]

    def smaller(self, held: Parts) -> Iterator[Parts]:
        """Yield the sets in which one part has as few GPUs less as it can, or is missing."""
        for part in held:
            counts = self.counts[part.job]
            place = counts.index(part.gpus)
            others = held - {part}
            yield others | {Part(part.job, counts[place - 1])} if place else others

    def at_once(self, held: Parts) -> bool:
        """Whether a set is known to be allowed that no server may have the GPUs for."""
        try:
            return self(held)
        except TooManySets:
            raise
        except OptionError:
            return False  # what the rule does beyond a server's GPUs is no error

    def in_order(self) -> list[Counts]:
        """Return the jobs, first those that are missing in a largest set that is allowed.

        So fewer sets have to be asked of where the rule is about some jobs.
        """
        jobs = list(self.counts.items())
        missing: dict[str, None] = {}
        for some in (jobs, jobs[::-1]):
            held: Parts = frozenset()
            for entry in some:
                more = held | _most([entry])
                if self.at_once(more):
                    held = more
                else:
                    missing[entry[0]] = None
        return sorted(jobs, key=lambda entry: entry[0] not in missing)


def _most(jobs: Iterable[Counts]) -> Parts:
    """Return all of some jobs with as many GPUs as they can have on a server."""
    return frozenset(Part(job, counts[-1]) for job, counts in jobs)


def _counts(instance: Instance, job: Job) -> list[int]:
    """Return the numbers of GPUs that a job can have on a server."""
    gpus, most = instance.profile(job).gpus, instance.servers.gpus
    if gpus > 1 and instance.allow_split:
        return list(range(1, min(gpus, most) + 1))
    return [gpus] if gpus <= most else []


def _check_all(asked: _Asked) -> None:
    """Raise `OptionError` if the rule allows a set of parts and not one with fewer jobs or GPUs.

    It is asked of all sets that fit a server's GPUs, unless these are more than `_MOST_CHECKED`.
    """
    jobs, most = list(asked.counts.items()), asked.instance.servers.gpus
    sets_of = [1] + [0] * most  # by their GPUs
    for _, counts in jobs:
        before = list(sets_of)
        for gpus in counts:
            for total in range(gpus, most + 1):
                sets_of[total] += before[total - gpus]
    if sum(sets_of) > _MOST_CHECKED:
        return
    stack: list[tuple[Parts, int, int]] = [(frozenset(), 0, most)]
    while stack:
        held, first, free = stack.pop()
        _require(not asked(held) or all(map(asked, asked.smaller(held))), held)
        for i in range(first, len(jobs)):
            job, counts = jobs[i]
            for gpus in counts:
                if gpus <= free:
                    stack.append((held | {Part(job, gpus)}, i + 1, free - gpus))


def smallest_forbidden(instance: Instance, allow: Allow) -> list[Parts]:
    """Return the smallest sets of parts that fit a server's GPUs and are not allowed.

    Raises
    ------
    OptionError
        If the rule would have to be asked of more than `MOST_ASKED` sets, or allows a set and not
        a smaller one.
    """
    asked = _Asked(instance, allow)
    _check_all(asked)
    jobs = asked.in_order()
    found: list[Parts] = []
    stack: list[tuple[Parts, list[Counts], int]] = [
        (frozenset(), jobs, instance.servers.gpus),
    ]
    while stack:
        held, others, free = stack.pop()
        rest = _extend(asked, held, others, free, found)
        # From this position on all jobs may be there at once, with what is held.
        end = bisect_left(
            range(len(rest) + 1), True, key=lambda i: asked.at_once(held | _most(rest[i:]))
        )
        for i, (job, counts) in enumerate(rest[:end]):
            for gpus in counts:
                stack.append((held | {Part(job, gpus)}, rest[i + 1 :], free - gpus))
    for held in found[:_PROBED]:
        for more in _larger(held, jobs, instance.servers.gpus):
            _require(not asked(more), more)
    return found


def _larger(held: Parts, jobs: Iterable[Counts], most: int) -> Iterator[Parts]:
    """Yield the sets up to a number of GPUs in which one job has more, or is there besides."""
    parts = {part.job: part for part in held}
    free = most - sum(part.gpus for part in held)
    for job, counts in jobs:
        part = parts.get(job)
        more = counts[:1] if part is None else [n for n in counts if n > part.gpus]
        others = held if part is None else held - {part}
        for gpus in more:
            if gpus - (part.gpus if part else 0) <= free:
                yield others | {Part(job, gpus)}


def _extend(
    asked: _Asked, held: Parts, others: Iterable[Counts], free: int, found: list[Parts]
) -> list[Counts]:
    """Return what may be added to a set; a part that may not, and each smaller one, is found."""
    rest: list[Counts] = []
    for job, counts in others:
        fitting: list[int] = []
        for gpus in (count for count in counts if count <= free):
            more = held | {Part(job, gpus)}
            least = all(map(asked, asked.smaller(more)))
            if not asked(more):
                if least:
                    found.append(more)
                break
            _require(least, more)
            fitting.append(gpus)
        if fitting:
            rest.append((job, fitting))
    return rest


def _require(downward: bool, held: Parts) -> None:
    if not downward:
        named = ", ".join(f"{job} ({gpus} GPUs)" for job, gpus in sorted(held))
        raise OptionError(
            f"allow admits {named} on one server, but not with fewer jobs or GPUs; what it allows "
            f"it must allow with fewer"
        )


def merged(sets: Iterable[Parts]) -> Iterator[tuple[Parts, int]]:
    """Yield sets of parts and how many of each may be there, which say what these sets forbid."""
    left = dict.fromkeys(sets)
    known = set(left)
    by_size: dict[int, dict[Part, None]] = {}
    for held in left:
        by_size.setdefault(len(held), {}).update(dict.fromkeys(sorted(held)))
    while left:
        held = next(iter(left))
        parts, size = list(held), len(held)
        jobs = {part.job for part in parts}
        for part in by_size[size]:
            rests = combinations(parts, size - 1)
            if part.job not in jobs and all(frozenset((*rest, part)) in known for rest in rests):
                parts.append(part)
                jobs.add(part.job)
        for some in combinations(parts, size):
            left.pop(frozenset(some), None)
        yield frozenset(parts), size - 1


def forbidden(instance: Instance, m: Any, allow: Allow) -> Iterator[Any]:
    """Yield expressions that are at most 0 where the rule allows every server.

    Of jobs that may be split, binary variables `at_least` say that they have several GPUs on a
    server; they may be 1 without that.
    """
    import pyomo.core as pyo

    rows = list(merged(smallest_forbidden(instance, allow)))
    named = {part for parts, _ in rows for part in parts}
    several = {part for part in named if part.gpus > 1 and instance.allow_split}
    m.PARTS = pyo.Set(initialize=sorted(several), dimen=2)
    m.at_least = pyo.Var(m.PARTS, m.SERVERS, domain=pyo.Binary)

    most_of = {job.id: instance.profile(job).gpus for job in instance.jobs}

    def gpus(j: str, s: int) -> Any:
        return pyo.quicksum(m.y[j, c, s] for c in m.CHOICES_OF[j])

    def there(part: Part, s: int) -> Any:
        if part in several:
            return m.at_least[part.job, part.gpus, s]
        return m.z[part.job, s] if part.job in m.SEVERAL else gpus(part.job, s)

    for j, count in m.PARTS:
        more = min(most_of[j], instance.servers.gpus) - count + 1
        for s in m.SERVERS:
            yield gpus(j, s) - more * m.at_least[j, count, s] - (count - 1)
    for s in m.SERVERS:
        for parts, most in rows:
            yield pyo.quicksum(there(part, s) for part in sorted(parts)) - most


def assign_parts(m: Any, solution: Solution) -> None:
    """Set the variables of parts to their values in a solution, if there are any."""
    if m.component("at_least") is None:
        return
    for (j, count, s), variable in m.at_least.items():
        given = solution.allocation.get(j)
        held = 0 if given is None else given.gpus.get(str(s), 0)
        variable.set_value(int(held >= count), skip_validation=True)
