"""The smallest sets of jobs that a rule does not allow on one server, which rows can state.

A part is a job with at least some GPUs on a server. What the rule allows it allows with fewer jobs
or GPUs, so that it is the same as its smallest sets of parts that are not allowed: of each, one
part at least is missing on every server. Of parts of which any r are such a set, at most r - 1 are
there, which is one row.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import NamedTuple, TypeAlias

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Instance, Job
from dlsched.problems.sensitivity.variant import TUNABLES

Held: TypeAlias = Mapping[str, int]
"""GPUs of each job on a server, by the job's id."""
Allow: TypeAlias = Callable[[Instance, Held], bool]


class Presence(NamedTuple):
    """A job with at least some GPUs on a server."""

    job: str
    gpus: int


Parts = frozenset[Presence]
Counts = tuple[str, list[int]]
"""A job, and the numbers of GPUs that it can have on a server."""


class TooManySets(OptionError):
    """A rule of which more sets would have to be asked than `Tunables.most_asked`."""


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
            most = TUNABLES.most_asked
            if len(self.known) >= most:
                raise TooManySets(
                    f"to state allow on the model of {self.instance.name} it would have to be "
                    f"asked of more than {most} sets of jobs; leave out constrain, levels "
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
            yield others | {Presence(part.job, counts[place - 1])} if place else others

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
    return frozenset(Presence(job, counts[-1]) for job, counts in jobs)


def _counts(instance: Instance, job: Job) -> list[int]:
    """Return the numbers of GPUs that a job can have on a server."""
    gpus, most = instance.profile(job).gpus, instance.servers.gpus
    if gpus > 1 and instance.allow_split:
        return list(range(1, min(gpus, most) + 1))
    return [gpus] if gpus <= most else []


def _fitting(jobs: Sequence[Counts], gpus: int) -> Iterator[Parts]:
    """Yield the sets of parts that fit a number of GPUs."""
    stack: list[tuple[Parts, int, int]] = [(frozenset(), 0, gpus)]
    while stack:
        held, first, free = stack.pop()
        yield held
        for i in range(first, len(jobs)):
            job, counts = jobs[i]
            for count in counts:
                if count <= free:
                    stack.append((held | {Presence(job, count)}, i + 1, free - count))


def _check_all(asked: _Asked) -> None:
    """Raise `OptionError` if the rule allows a set of parts and not one with fewer jobs or GPUs.

    It is asked of all sets that fit a server's GPUs, unless there are too many.
    """
    every = _fitting(list(asked.counts.items()), asked.instance.servers.gpus)
    some = list(islice(every, TUNABLES.most_checked + 1))
    if len(some) <= TUNABLES.most_checked:
        for held in some:
            _require(not asked(held) or all(map(asked, asked.smaller(held))), held)


def smallest_forbidden(instance: Instance, allow: Allow) -> list[Parts]:
    """Return the smallest sets of parts that fit a server's GPUs and are not allowed.

    `OptionError` if the rule allows a set and not a smaller one, or has to be asked of too many.
    """
    asked = _Asked(instance, allow)
    _check_all(asked)
    jobs = asked.in_order()
    gpus = instance.servers.gpus
    forbidden: list[Parts] = []
    stack: list[tuple[Parts, list[Counts], int]] = [(frozenset(), jobs, gpus)]
    while stack:
        held, others, free = stack.pop()
        rest = _extend(asked, held, others, free, forbidden)
        for i, (job, counts) in enumerate(rest[: _first_free(asked, held, rest)]):
            for count in counts:
                stack.append((held | {Presence(job, count)}, rest[i + 1 :], free - count))
    for held in forbidden[: TUNABLES.probed]:
        for more in _larger(held, jobs, gpus):
            _require(not asked(more), more)
    return forbidden


def _first_free(asked: _Asked, held: Parts, rest: Sequence[Counts]) -> int:
    """Return the position from which on all jobs may be there at once, with what is held."""
    positions = range(len(rest) + 1)
    return bisect_left(positions, True, key=lambda i: asked.at_once(held | _most(rest[i:])))


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
                yield others | {Presence(job, gpus)}


def _extend(
    asked: _Asked, held: Parts, others: Iterable[Counts], free: int, forbidden: list[Parts]
) -> list[Counts]:
    """Return what may be added to a set; sets that are not allowed, but smaller, are appended."""
    rest: list[Counts] = []
    for job, counts in others:
        fitting: list[int] = []
        for gpus in (count for count in counts if count <= free):
            more = held | {Presence(job, gpus)}
            least = all(map(asked, asked.smaller(more)))
            if not asked(more):
                if least:
                    forbidden.append(more)
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
    by_size: dict[int, dict[Presence, None]] = {}
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
