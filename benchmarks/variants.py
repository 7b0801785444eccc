"""Variants: which sizes the whole model reaches, what it costs, and rules beyond these sizes.

    python benchmarks/variants.py [nothing interleaving sensitivity utility dispatch]

Without arguments every section; prints markdown and writes it to benchmarks/figures/variants.md.
Times are processor seconds of one process on one thread, building included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from figures import arguments, cell, write

import dlsched
from dlsched.errors import DlschedError
from dlsched.results.result import Result
from dlsched.schema import Instance

LIMIT = 120.0
"""Seconds of a solve, on the wall."""
RULE_LIMITS = {"interleaving": 60.0, "sensitivity": 400.0, "utility": 60.0, "dispatch": 60.0}
"""The same under a rule, and of the problem without it."""
SIZES: dict[str, list[dict[str, Any]]] = {
    "reclaiming": [{"servers": 130}, {"servers": 520}],
    "elastic": [{"jobs": 200}, {"jobs": 2000}],
    "workers": [{}, {"training": 100, "loan": 100, "jobs": 100}],
    "interleaving": [{"jobs": 16}, {"jobs": 32}, {"jobs": 64, "distinct": True}],
    "utility": [{"jobs": 6, "slots": 8}, {"jobs": 10, "slots": 16}],
    "sensitivity": [{"servers": 4}, {"servers": 8}, {"servers": 64, "distinct": True}],
    "placement": [{"tables": 10}, {"tables": 16}],
    "dispatch": [{"pending": 6}, {"pending": 12}],
}


class Timed(NamedTuple):
    """A result, or why there is none, and processor seconds."""

    result: Result | None
    said: str
    seconds: float

    @property
    def status(self) -> str:
        """The cell of a table."""
        return self.said if self.result is None else str(self.result.status)


def timed(
    instance: Instance,
    method: str,
    variant: dlsched.Variant | None = None,
    limit: float = LIMIT,
) -> Timed:
    """Solve an instance; a size that is refused is no error."""
    began = time.process_time()
    try:
        result = dlsched.solve(instance, method, variant=variant, time_limit=limit)
    except DlschedError as error:
        return Timed(None, f"refused: {error}".partition(";")[0], time.process_time() - began)
    return Timed(result, "", time.process_time() - began)


def nothing() -> Iterator[str]:
    """Yield the table of variants that add nothing."""
    yield "## A variant that adds nothing, against the declarative model\n"
    yield "`milp` solves the declarative model, the variant's `exact` the"
    yield "whole model, which states each variable in both directions. A problem's first size is"
    yield "solved once before: imports are not counted."
    yield f"Limit {LIMIT:g} s on the wall, where a shared machine reaches less; seed 1.\n"
    yield "| problem | size | declarative | s | variant | s | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for problem, sizes in SIZES.items():
        variant = dlsched.Variant(problem, "nothing")
        for size in sizes:
            instance = dlsched.generate(problem, 1, **size)
            rows = []
            for method, changed in (("milp", None), ("exact", variant)):
                if size is sizes[0]:
                    timed(instance, method, changed)
                rows.append(timed(instance, method, changed))
            base, other = rows
            both = base.result is not None and other.result is not None
            ratio = f"{other.seconds / base.seconds:.1f}" if both else "-"
            said = ", ".join(f"{name} {value}" for name, value in size.items()) or "as generated"
            yield (
                f"| {problem} | {said} | {base.status} | {base.seconds:.2f} | {other.status} | "
                f"{other.seconds:.2f} | {ratio} |"
            )


def tenant(job: str) -> int:
    """Return the tenant of a job, by its number."""
    return int("".join(filter(str.isdigit, job))) % 4


def apart(instance: Any, first: Any, second: Any) -> bool:
    """Jobs of tenant 0 share only with each other."""
    return (tenant(first.id) == 0) == (tenant(second.id) == 0)


def three_of_a_tenant(instance: Any, held: Any) -> bool:
    """A server has at most three jobs of tenant 0: what a failure may cost it."""
    return sum(tenant(job) == 0 for job in held) <= 3


def not_before_four(instance: Any, job: Any, slot: int, speed: Any) -> bool:
    """Jobs of tenant 0 do not run before slot 4."""
    return slot >= 4 or tenant(job.id) != 0


def not_on_the_first_racks(instance: Any, workload: Any, job: Any, group: Any) -> bool:
    """Workloads of tenant 0 do not run on the first two racks of a cluster."""
    return tenant(workload.id) != 0 or group.machines.rack > 1


RULES: dict[str, tuple[str, Any, list[dict[str, Any]]]] = {
    "interleaving": (
        "Jobs of one tenant of four share GPUs only with each other.",
        apart,
        [{"jobs": 20}, {"jobs": 32}, {"jobs": 64}, {"jobs": 96}],
    ),
    "sensitivity": (
        "A server has at most three jobs of one tenant of four; each job has its own profile.",
        three_of_a_tenant,
        [{"servers": 4, "distinct": True}, *({"servers": n, "distinct": True} for n in (8, 64))],
    ),
    "utility": (
        "Jobs of one tenant of four do not run before slot 4.",
        not_before_four,
        [{"jobs": 40, "slots": 40}, {"jobs": 480, "slots": 400}],
    ),
    "dispatch": (
        "Workloads of one tenant of four do not run on the first two racks of a cluster.",
        not_on_the_first_racks,
        [{"pending": 12}, {"instance": "dispatch-largest-region-2"}],
    ),
}
"""What a rule says, the rule, and sizes or instances of the library; the first is solved once
before, for imports."""


def rules(problem: str) -> Iterator[str]:
    """Yield the table of a problem's rule by the structured method."""
    said, rule, sizes = RULES[problem]
    limit = RULE_LIMITS[problem]
    yield f"## A rule (`allow`) of {problem}\n"
    yield f"{said} `exact` is the structured method under the rule; beside it the whole model,"
    yield "and the problem without the rule. The gap is to the certified bound."
    yield f"Limit {limit:g} s on the wall, where a shared machine reaches less; seed 1.\n"
    yield "| size | with the rule | objective | gap | s | whole model | without the rule | s |"
    yield "|---|---|---|---|---|---|---|---|"
    variant = dlsched.Variant(problem, "rule", allow=rule)
    timed(_of_size(problem, sizes[0]), "exact", variant)
    for size in sizes:
        instance = _of_size(problem, size)
        ruled = timed(instance, "exact", variant, limit)
        whole = "no form"
        if problem != "sensitivity":
            whole = timed(instance, "whole_model", variant, limit).status
        free = timed(instance, "exact", None, limit)
        named = ", ".join(f"{name} {value}" for name, value in size.items())
        yield (
            f"| {named} | {ruled.status} | {_value(ruled)} | {_gap(ruled)} | {ruled.seconds:.2f} | "
            f"{whole} | {free.status}, {_value(free)} | {free.seconds:.2f} |"
        )


def _of_size(problem: str, size: dict[str, Any]) -> Instance:
    if "instance" in size:
        return dlsched.load(size["instance"])
    return dlsched.generate(problem, 1, **size)


def _value(timing: Timed) -> str:
    if timing.result is None or timing.result.objective is None:
        return "-"
    return ", ".join(f"{float(value):.6g}" for value in timing.result.objective)


def _gap(timing: Timed) -> str:
    if timing.result is None or timing.result.objective is None:
        return "-"
    value, certified = timing.result.objective[0], timing.result.certified[0]
    if certified is None:
        return "-"
    return cell(float((certified.value - value) / abs(value)) if value else 0.0)


SECTIONS = {"nothing": nothing} | {problem: partial(rules, problem) for problem in RULES}

if __name__ == "__main__":
    write("variants", SECTIONS, arguments())
