"""A search for small instances on which a heuristic is far from the optimum."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import strategies as st

from dlsched.registry import MethodLike
from dlsched.results.objective import Objective, relative_gap
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.testing.search import report_text
from dlsched.testing.trials import attempt, gap_to, optimum_of, owner_for, strategy_of
from dlsched.text.rendering import Rendered, text
from dlsched.variants import VariantLike


@dataclass(frozen=True, repr=False)
class Worst(Rendered):
    """The instance with the largest gap that was found."""

    gap: float
    instance: Instance
    objective: Objective
    optimum: Objective
    tried: int

    def __str__(self) -> str:
        """Return the gap, both objectives, and the instance as JSON."""
        text = self.instance.model_dump_json(exclude_defaults=True)
        return f"gap {100 * self.gap:.3g} %: {self.objective}, optimum {self.optimum}\n  {text}"


text.register(Worst, report_text)


class _AsBad(Exception):
    """An instance as bad as the worst one found."""


def worst_case(
    problem: str,
    heuristic: MethodLike,
    budget: int = 1000,
    *,
    level: int | None = None,
    positive: bool = False,
    seed: int = 0,
    instances: st.SearchStrategy[Any] | None = None,
    variant: VariantLike = None,
    time_limit: float | None = None,
    on_progress: Callable[[int, Worst | None], None] | None = None,
) -> Worst | None:
    """Search for a small instance on which a heuristic's gap to the optimum is largest.

    Random instances and local moves towards larger gaps (Hypothesis's targeted search), by brute
    force; the worst one is then shrunk to the smallest with as large a gap. Gaps are
    |value - optimum| / the larger of the two, at the first level where they differ: 50 % is twice
    the optimum where less is better, and half of it where more is.

    Parameters
    ----------
    problem, heuristic
        As for `check_heuristic`.
    budget
        Instances to try, those of shrinking not counted.
    level
        Position of the level to look at, among instances where the earlier ones are optimal; by
        default the first at which the heuristic and the optimum differ.
    positive
        Whether only instances count with an optimum other than 0 at that level (the first by
        default), where every gap would be 100 %.
    seed
        Of the heuristic and of the search.
    instances
        A strategy for instances; by default that of `dlsched.testing.strategies`.
    variant
        As for `check_heuristic`.
    time_limit
        Seconds after which no further instance is tried; the worst one so far is returned.
    on_progress
        Called with each instance's number and the worst one so far.

    Returns
    -------
    Worst or None
        None if the heuristic solved nothing.

    Raises
    ------
    Broken
        If the heuristic crashes or breaks a constraint; use `check_heuristic` first.
    UnknownName, OptionError
        If there is no such problem or method, or the problem has no strategy or oracle.
    """
    owner = owner_for(problem, variant)
    method = owner.resolve(heuristic)
    oracle = optimum_of(owner, "there is no optimum to compare with")
    chosen = strategy_of(problem) if instances is None else instances
    run = Run(time_limit=time_limit)
    tried = 0
    best: Worst | None = None

    known: dict[str, tuple[float, Objective, Objective] | None] = {}

    def gap_on(instance: Instance) -> tuple[float, Objective, Objective] | None:
        text = instance.model_dump_json()  # the search meets many instances more than once
        if text not in known and not run.stop_reason():
            known[text] = measured(instance)
        return known.get(text)

    def measured(instance: Instance) -> tuple[float, Objective, Objective] | None:
        trial = attempt(method, instance, seed, owner)
        optimum = oracle(instance) if trial.objective is not None else None
        mine = trial.objective
        if optimum is None or mine is None or (positive and not optimum[level or 0]):
            return None
        if level is None:
            return gap_to(optimum, mine), mine, optimum
        if tuple(mine)[:level] != tuple(optimum)[:level]:
            return None
        return relative_gap(mine[level], optimum[level]), mine, optimum

    phases = hypothesis.Phase
    settings = hypothesis.settings(
        max_examples=budget,
        deadline=None,
        database=None,
        phases=(phases.generate, phases.target),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    small: Instance | None = None

    def look(instance: Instance) -> None:
        nonlocal tried, best, small
        if goal is None:
            if run.stop_reason():
                return
            tried += 1
            if on_progress:
                on_progress(tried, best)
        measure = gap_on(instance)
        if measure is None:
            return
        hypothesis.target(measure[0])
        if goal is not None and measure[0] >= goal:
            small = instance
            raise _AsBad
        if best is None or measure[0] > best.gap:
            best = Worst(measure[0], instance, measure[1], measure[2], tried)

    goal: float | None = None
    hypothesis.seed(seed)(settings(hypothesis.given(chosen)(look)))()
    if best is None:
        return None
    # The same search once more, from the same seed, up to the same instance; then it is shrunk.
    goal = best.gap
    again = hypothesis.settings(
        settings,
        phases=(*settings.phases, phases.shrink),
        report_multiple_bugs=False,
        print_blob=False,
    )
    with contextlib.suppress(_AsBad):
        hypothesis.seed(seed)(again(hypothesis.given(chosen)(look)))()
    found = None if small is None else gap_on(small)
    return best if found is None or small is None else Worst(found[0], small, *found[1:], tried)
