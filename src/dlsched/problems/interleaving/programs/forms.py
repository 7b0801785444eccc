"""The form of groups, for proofs: all groups that matter at the proof's prices, no others.

Every grouping is worth the prices of its jobs and GPUs plus the reduced values of its groups. So
with a bound on groupings from the largest reduced value, a group whose reduced value is further
below the largest than the bound is above the target is in no grouping as good as that. All others
are enumerated anew (`priced_groups`), in integers throughout: a group's worth is rounded up to a
multiple of the unit that the proof's prices have.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.programs.priced_groups import (
    ExactGroup,
    PricedClass,
    groups_from,
)
from dlsched.proofs.forms.form import Form, Goal, Restricted, Row
from dlsched.proofs.forms.parameters import require_keys, whole, wholes
from dlsched.schema import Number

MOST_GROUPS = 100_000
"""A form with more is refused."""
BITS = 40
"""Efficiencies are rounded up to multiples of two to minus this."""
_FINEST = 500
_KEYS = ("prices", "gpu", "bits", "highest")


class _Class(NamedTuple):
    """Jobs of one number of GPUs: the positions of their profiles, and how many groups they make.

    The number of groups is from ``fewest`` to ``most``.
    """

    gpus: int
    profiles: Sequence[int]
    fewest: int
    most: int


class _Prices(NamedTuple):
    """What a proof states, in multiples of two to minus ``bits``.

    The prices of a job of each profile and of a GPU of the budget, and of each class a number that
    no group's reduced value exceeds.
    """

    profiles: Sequence[int]
    gpu: int
    bits: int
    highest: Sequence[int]


def groups(
    instance: Instance, parameters: Mapping[str, Any], level: int, targets: Sequence[Number]
) -> Form:
    """Return the set partitioning program over the groups that matter.

    Parameters
    ----------
    parameters
        ``prices``: of a job of each profile, and ``gpu``, of a GPU of the budget, in multiples of
        two to minus ``bits``; ``highest``: at least the largest reduced value of each class,
        likewise.
    """
    classes = list(_classes(instance))
    prices = _prices(instance, classes, parameters)
    target = math.ceil(Fraction(targets[0]) * 2**prices.bits)
    slack = _bound(instance, classes, prices) - target
    if slack < 0:
        raise ValueError("the prices' bound is below the target")
    enumerated: list[list[ExactGroup]] = []
    for profiles, highest in zip(classes, prices.highest, strict=True):
        allowed = MOST_GROUPS - sum(map(len, enumerated))
        enumerated.append(
            groups_from(_priced(instance, profiles, prices), highest - slack, allowed)
        )
        if any(group.reduced > highest for group in enumerated[-1]):
            raise ValueError("a group has a larger reduced value than is stated")
    return _form(instance, classes, enumerated)


FORMS = {"groups": Restricted(groups)}


def _classes(instance: Instance) -> Iterator[_Class]:
    """Yield the classes of jobs that can share, by ascending number of GPUs."""
    for gpus, jobs in instance.classes.items():
        profiles = [i for i, profile in enumerate(instance.profiles) if profile.gpus == gpus]
        fewest = -(-len(jobs) // instance.group_limit)
        uniform = instance.smallest_group == instance.group_limit
        yield _Class(gpus, profiles, fewest, fewest if uniform else len(jobs))


def _prices(
    instance: Instance, classes: Sequence[_Class], parameters: Mapping[str, Any]
) -> _Prices:
    """Return the prices that a proof states; any are valid."""
    require_keys("groups", parameters, _KEYS)
    profiles, gpu, bits, highest = (parameters[key] for key in _KEYS)
    if not (whole(bits) and 0 <= bits <= _FINEST and whole(gpu)):
        raise ValueError(f"bits and gpu must be integers, and bits from 0 to {_FINEST}")
    if not (wholes(profiles) and wholes(highest)):
        raise ValueError("prices and highest must be lists of integers")
    if len(profiles) != len(instance.profiles) or len(highest) != len(classes):
        raise ValueError("the prices are not of this form's profiles")
    if gpu < 0 or (gpu and instance.gpu_budget is None):
        raise ValueError("a GPU has no price without a budget, and never one below 0")
    return _Prices(profiles, gpu, bits, highest)


def _bound(instance: Instance, classes: Sequence[_Class], prices: _Prices) -> int:
    """Return what no grouping is worth more than, if no reduced value exceeds what is stated."""
    jobs = map(len, instance.profiles.values())
    total = sum(price * count for price, count in zip(prices.profiles, jobs, strict=True))
    total += prices.gpu * (instance.gpu_budget or 0)
    for job_class, highest in zip(classes, prices.highest, strict=True):
        total += highest * (job_class.most if highest > 0 else job_class.fewest)
    return total


def _priced(instance: Instance, job_class: _Class, prices: _Prices) -> PricedClass:
    entries = list(instance.profiles.items())
    return PricedClass(
        stages=[entries[i][0].stages for i in job_class.profiles],
        jobs=[len(entries[i][1]) for i in job_class.profiles],
        smallest=instance.smallest_group,
        largest=instance.group_limit,
        weight=instance.weight(job_class.gpus),
        prices=[prices.profiles[i] for i in job_class.profiles],
        fixed=prices.gpu * job_class.gpus,
        bits=prices.bits,
    )


def _form(
    instance: Instance, classes: Sequence[_Class], enumerated: Sequence[Sequence[ExactGroup]]
) -> Form:
    """Return the program: every profile's jobs are in groups, within the budget."""
    jobs = [len(members) for members in instance.profiles.values()]
    cells: list[dict[int, int]] = [{} for _ in jobs]
    of_class: list[dict[int, int]] = [{} for _ in classes]
    upper: list[int] = []
    gpus = {}
    costs = {}
    columns = [(c, group) for c, listed in enumerate(enumerated) for group in listed]
    for column, (c, group) in enumerate(columns):
        use = Counter(classes[c].profiles[p] for p in group.profiles)
        upper.append(min(jobs[row] // often for row, often in use.items()))
        for row, often in use.items():
            cells[row][column] = often
        of_class[c][column] = 1
        gpus[column] = classes[c].gpus
        costs[column] = -math.ceil(group.worth * 2**BITS)
    rows = [Row(entries, count, count) for entries, count in zip(cells, jobs, strict=True)]
    rows += [
        Row(of_one_class, job_class.fewest, job_class.most)
        for of_one_class, job_class in zip(of_class, classes, strict=True)
    ]
    if instance.gpu_budget is not None:
        rows.append(Row(gpus, None, instance.gpu_budget))
    goal = Goal("efficiency", -1, costs, 0, Fraction(1, 2**BITS), False)
    count = len(columns)
    return Form("groups", [0] * count, upper, [True] * count, rows, [goal])
