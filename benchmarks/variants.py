"""Variants: which sizes the whole model reaches, what it costs, and rules beyond these sizes.

    python benchmarks/variants.py [nothing rules]

Without arguments every section; prints markdown and writes it to benchmarks/figures/variants.md.
Times are processor seconds of one process on one thread, building included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from figures import arguments, cell, write

import dlsched
from dlsched.errors import DlschedError
from dlsched.results.result import Result
from dlsched.schema import Instance

LIMIT = 120.0
"""Seconds of a solve, on the wall."""
DECLARATIVE = {"workers": "per_server"}
"""The method that solves the problem's declarative model, where it is not called milp."""
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


def timed(instance: Instance, method: str, variant: dlsched.Variant | None = None) -> Timed:
    """Solve an instance; a size that is refused is no error."""
    began = time.process_time()
    try:
        result = dlsched.solve(instance, method, variant=variant, time_limit=LIMIT)
    except DlschedError as error:
        return Timed(None, f"refused: {error}".partition(";")[0], time.process_time() - began)
    return Timed(result, "", time.process_time() - began)


def nothing() -> Iterator[str]:
    """Yield the table of variants that add nothing."""
    yield "## A variant that adds nothing, against the declarative model\n"
    yield "`milp` (workers: `per_server`) solves the declarative model, the variant's `exact` the"
    yield "whole model, which states each variable in both directions. A problem's first size is"
    yield "solved once before: imports and compilation are not counted."
    yield f"Limit {LIMIT:g} s on the wall; seed 1.\n"
    yield "| problem | size | declarative | s | variant | s | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for problem, sizes in SIZES.items():
        variant = dlsched.Variant(problem, "nothing")
        for size in sizes:
            instance = dlsched.generate(problem, 1, **size)
            rows = []
            for method, changed in ((DECLARATIVE.get(problem, "milp"), None), ("exact", variant)):
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


RULES: list[tuple[str, Any, dict[str, Any]]] = [
    ("interleaving", apart, {"jobs": 32, "distinct": True}),
    ("interleaving", apart, {"jobs": 64, "distinct": True}),
    ("interleaving", apart, {"jobs": 96, "distinct": True}),
    ("sensitivity", three_of_a_tenant, {"servers": 8, "distinct": True}),
    ("sensitivity", three_of_a_tenant, {"servers": 64, "distinct": True}),
    ("utility", not_before_four, {"jobs": 20, "slots": 40}),
    ("utility", not_before_four, {"jobs": 480, "slots": 400}),
]
WARM: list[tuple[str, Any, dict[str, Any]]] = [
    ("interleaving", apart, {"jobs": 20}),
    ("sensitivity", three_of_a_tenant, {"servers": 4}),
    ("utility", not_before_four, {"jobs": 40, "slots": 40}),
]
"""Large enough for compiled loops, and solved once before."""


def rules() -> Iterator[str]:
    """Yield the table of rules by the structured methods."""
    yield "## Rules (`allow`), beyond the sizes of the whole model\n"
    yield "Interleaving: jobs of one tenant of four share GPUs only with each other. Sensitivity: a"
    yield "server has at most three of its jobs. Utility: they do not run before slot 4. By"
    yield "`exact`, which is the problem's structured method under the rule; beside it the whole"
    yield "model, and the problem without the rule. The gap is to the certified bound."
    yield f"Limit {LIMIT:g} s on the wall; seed 1.\n"
    yield "| problem | size | with the rule | objective | gap | s | whole model | without it | s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for problem, rule, small in WARM:  # imports and compilation
        variant = dlsched.Variant(problem, "rule", allow=rule)
        timed(dlsched.generate(problem, 1, **small), "exact", variant)
    for problem, rule, size in RULES:
        instance = dlsched.generate(problem, 1, **size)
        variant = dlsched.Variant(problem, "rule", allow=rule)
        ruled = timed(instance, "exact", variant)
        whole = "no form"
        if problem != "sensitivity":
            whole = timed(instance, "whole_model", variant).status
        free = timed(instance, "exact")
        said = ", ".join(f"{name} {value}" for name, value in size.items())
        objective = gap = "-"
        if ruled.result is not None and ruled.result.objective is not None:
            objective = ", ".join(f"{float(v):.6g}" for v in ruled.result.objective)
            certified = ruled.result.certified[0]
            value = ruled.result.objective[0]
            if certified is not None:
                gap = cell(float((certified.value - value) / abs(value)) if value else 0.0)
        without = "-"
        if free.result is not None and free.result.objective is not None:
            without = f"{free.status}, {float(free.result.objective[0]):.6g}"
        yield (
            f"| {problem} | {said} | {ruled.status} | {objective} | {gap} | {ruled.seconds:.2f} | "
            f"{whole} | {without} | {free.seconds:.2f} |"
        )


SECTIONS = {"nothing": nothing, "rules": rules}

if __name__ == "__main__":
    write("variants", SECTIONS, arguments())
