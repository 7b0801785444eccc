"""One table for every problem: the paper's heuristic, this library's and the exact method.

Seconds are processor time. Of a heuristic they are those of the method alone, without reading,
checking and labels: the least of some calls. Of an exact method they are those of one call of
`dlsched.solve`, whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np

import dlsched
from dlsched import library
from dlsched.registry import problem
from dlsched.results.objective import Objective
from dlsched.results.result import Result
from dlsched.run import Run
from dlsched.schema import Instance

EQUAL = 1e-9
"""Relative difference up to which two values are taken as equal."""


@dataclass(frozen=True)
class Rule:
    """A method of the table; `exact` ones are called once, and get the limit in seconds."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    exact: bool = False
    limit: float | None = None
    calls: int = 3

    @property
    def shown(self) -> str:
        """The first cell of a row."""
        return self.label or f"`{self.method}`"


def least(call: Callable[[], object], calls: int = 3) -> float:
    """Return the least processor time of some calls."""
    spent = []
    for _ in range(calls):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def shipped(name: str) -> Iterator[Instance]:
    """Yield the library's instances of a problem."""
    for line in library.index().values():
        if line["problem"] == name:
            yield dlsched.load(line["name"])


def measured(instance: Instance, rule: Rule) -> tuple[Result, float]:
    """Return a rule's result on an instance and its seconds."""
    if rule.exact:
        began = time.process_time()
        result = dlsched.solve(instance, rule.method, time_limit=rule.limit, **rule.options)
        return result, time.process_time() - began
    result = dlsched.solve(instance, rule.method, time_limit=rule.limit, **rule.options)
    method = problem(instance.problem).methods[rule.method]

    def alone() -> object:
        state = Run() if method.wants_run else np.random.default_rng(0)
        return method.function(instance, state, **rule.options)

    return result, least(alone, rule.calls)


def distances(
    objectives: Sequence[Objective | None], known: Objective | None
) -> list[list[float | None]]:
    """Return each objective's distance to the best of all, by level.

    A second level counts only where the first is the best one; None stands where it is not. No
    solution is a distance of 1, as is anything above a best value of 0 that is minimised.
    """
    found = [o for o in [*objectives, known] if o is not None]
    best = found[0]
    for other in found[1:]:
        best = other if other.better_than(best) else best
    rows: list[list[float | None]] = []
    for objective in objectives:
        row: list[float | None] = []
        for i, target in enumerate(best):
            if objective is None:
                row.append(1.0)
                continue
            value, wanted = float(objective[i]), float(target)
            away = abs(value - wanted) / abs(wanted) if wanted else float(abs(value) > EQUAL)
            row.append(0.0 if away <= EQUAL else away)
            if away > EQUAL:
                row.extend([None] * (len(best) - i - 1))
                break
        rows.append(row + [None] * (len(best) - len(row)))
    return rows


def _known(instance: Instance) -> Objective | None:
    for line in library.index().values():
        if line["sha256"] == instance.sha256:
            solution = dlsched.load_solution(library.solution_file(line["name"]))
            return dlsched.verify(instance, solution).objective
    return None


def _cells(values: Sequence[float | None]) -> str:
    there = [v for v in values if v is not None]
    if not there:
        return "- | -"
    return f"{100 * mean(there):.3g} % | {100 * max(there):.3g} %"


def rows(
    name: str, rules: Sequence[Rule], groups: Mapping[str, Callable[[], Iterable[Instance]]]
) -> Iterator[str]:
    """Yield the table of a problem.

    Parameters
    ----------
    name
        The problem.
    rules
        The methods; the first is the paper's heuristic, to which times are compared.
    groups
        By title what makes a group's instances.
    """
    levels = [level.name for level in problem(name).levels]
    yield "Distance: to the best solution known, of these methods and the library; mean and worst"
    yield "of a group, 100 % without a solution. A level counts where those before are the best."
    yield "Proved: by the method itself. Processor milliseconds of the method alone (`exact`: of"
    yield "`solve`), and their ratio to the first row's.\n"
    shown = " | ".join(f"{level}, mean | worst" for level in levels)
    yield f"| instances | method | {shown} | best found | proved | ms, mean | slowest | ratio |"
    yield "|---|---|" + "---|---|" * len(levels) + "---|---|---|---|---|"
    for title, made in groups.items():
        results: list[list[Result]] = [[] for _ in rules]
        spent: list[list[float]] = [[] for _ in rules]
        away: list[list[list[float | None]]] = [[] for _ in rules]
        for instance in made():
            for i, rule in enumerate(rules):
                result, seconds = measured(instance, rule)
                results[i].append(result)
                spent[i].append(seconds)
            found = [row[-1].objective for row in results]
            for i, distance in enumerate(distances(found, _known(instance))):
                away[i].append(distance)
        base = mean(spent[0])
        for i, rule in enumerate(rules):
            cells = " | ".join(_cells([d[k] for d in away[i]]) for k in range(len(levels)))
            count = len(results[i])
            best = sum(all(part == 0 for part in d) for d in away[i])
            proved = sum(result.status.value == "optimal" for result in results[i])
            first = f"{title} ({count})" if i == 0 else ""
            yield (
                f"| {first} | {rule.shown} | {cells} | {best} | {proved} "
                f"| {1000 * mean(spent[i]):.3g} | {1000 * max(spent[i]):.3g} "
                f"| {mean(spent[i]) / base:.3g} |"
            )
