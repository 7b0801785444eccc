"""Ready-made property tests for a heuristic: what holds, what does not, and on which instance."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from dlsched.errors import OptionError
from dlsched.registry import Method, MethodLike, Problem
from dlsched.results.objective import Objective
from dlsched.schema.envelope import Instance
from dlsched.testing.search import Finding, SearchReport, first_finding
from dlsched.testing.transformations import renamed, reordered
from dlsched.testing.trials import (
    Broken,
    Trial,
    attempt,
    false_claim,
    gap_to,
    optimum_of,
    owner_for,
    precision_of,
    strategy_of,
)
from dlsched.variants import VariantLike

INVARIANTS = {"names": renamed, "order": reordered}


@dataclass(repr=False)
class Findings(SearchReport):
    """What `check_heuristic` found; true if every property holds.

    Attributes
    ----------
    examples
        Instances tried, those of shrinking included.
    solved, optimal
        On how many it returned a solution, and on how many of these the optimum.
    worst_gap, worst_instance
        The largest gap to the optimum and the instance that shows it; None without an oracle.
    findings
        The properties that do not hold, each with its smallest instance.
    """

    problem: str
    heuristic: str
    examples: int = 0
    solved: int = 0
    optimal: int = 0
    worst_gap: float | None = None
    worst_instance: Instance | None = None
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a report for people."""
        head = f"{self.heuristic} for {self.problem}: {self.examples} instances, "
        head += f"{self.solved} solved"
        if self.worst_gap is not None:
            head += f", {self.optimal} to the optimum, worst gap {100 * self.worst_gap:.3g} %"
        lines = [str(finding) for finding in self.findings] or ["every property holds"]
        return "\n".join([head, *lines])


def check_heuristic(
    problem: str,
    heuristic: MethodLike,
    *,
    examples: int = 200,
    oracle: bool = True,
    invariant: Collection[str] = ("names",),
    complete: bool = False,
    seed: int = 0,
    instances: st.SearchStrategy[Any] | None = None,
    variant: VariantLike = None,
) -> Findings:
    """Test the properties that a heuristic should have, on random small instances.

    Each property is tested until `examples` instances pass or one fails, which is then shrunk. The
    kinds: ``crash`` (it raises, in every call or in some), ``exits`` (it ends the process),
    ``changes_instance``, ``no_solution_object`` (it returns something else), ``infeasible`` (with
    the checker's violation), ``wrong_claim`` (its objective is not what the checker finds),
    ``wrong_status`` (it claims optimality or infeasibility wrongly), ``wrong_bound``
    (the optimum is better than its bound), ``not_deterministic`` (the same seed gives another
    solution), ``beats_optimum``, ``stuck`` (no solution where there is one),
    ``depends_on_names``, ``depends_on_order``.

    Parameters
    ----------
    problem
        Name of the problem.
    heuristic
        A method's name, or a function as `dlsched.solve` takes it: ``f(instance, rng)``.
    examples
        Random instances for each property.
    oracle
        Whether to compare with brute force; without it gaps, statuses
        and bounds are not tested.
    invariant
        What the objective must not depend on: ``"names"``, ``"order"`` or both. Ties that are
        broken by the order of the file are no fault, so order is not asked by default.
    complete
        Whether to return no solution where there is one is a fault; heuristics may get stuck.
    seed
        Of the heuristic; the instances are always the same.
    instances
        A strategy for instances; by default that of `dlsched.testing.strategies`.
    variant
        A change of the problem that the heuristic is for: its answers are checked for it, and its
        optimum is that of the variant's ``exact``, which is proved, instead of brute force. The
        variant must fit all instances that are drawn.

    Raises
    ------
    UnknownName
        If there is no such problem or method.
    OptionError
        If `invariant` names something else, or the problem has no strategy or no oracle.
    """
    unknown = set(invariant) - set(INVARIANTS)
    if unknown:
        raise OptionError(f"invariant={sorted(unknown)} must be among {', '.join(INVARIANTS)}")
    owner = owner_for(problem, variant)
    method = owner.resolve(heuristic)
    drawn = strategy_of(problem) if instances is None else instances
    findings = Findings(problem, method.name)
    optimum = optimum_of(owner, "pass oracle=False") if oracle else None
    check = _Check(owner, method, findings, optimum, complete, invariant, seed)
    while True:
        finding = first_finding(check, drawn, examples)
        if finding is None:
            return findings
        findings.findings.append(finding)
        check.known.add(finding.kind)


@dataclass
class _Check:
    """All properties on one instance, but those that are known to fail."""

    owner: Problem
    method: Method
    found: Findings
    oracle: Callable[[Any], Objective | None] | None
    complete: bool
    invariant: Collection[str]
    seed: int
    known: set[str] = field(default_factory=set)
    optima: dict[str, Objective | None] = field(default_factory=dict)

    def optimum(self, instance: Instance) -> Objective | None:
        """Return the optimum, which takes longest, once for every instance."""
        assert self.oracle is not None
        text = instance.model_dump_json()
        if text not in self.optima:
            self.optima[text] = self.oracle(instance)
        return self.optima[text]

    def __call__(self, instance: Instance) -> None:
        self.found.examples += 1
        try:
            trial = attempt(self.method, instance, self.seed, self.owner)
        except Broken as broken:
            self.fail(broken.kind, broken.message)
            return
        if trial.objective is not None:
            self.found.solved += 1
        self.repeat(instance, trial)
        if self.oracle is not None:
            self.compare(instance, trial, self.optimum(instance))
        for name in self.invariant:
            self.transform(instance, trial, name)

    def fail(self, kind: str, message: str) -> None:
        if kind not in self.known:
            raise Broken(kind, message)

    def _beats(self, mine: Objective, optimum: Objective) -> bool:
        return mine.better_than(optimum) and gap_to(optimum, mine) > precision_of(self.owner)

    def repeat(self, instance: Instance, trial: Trial) -> None:
        try:
            again = attempt(self.method, instance, self.seed, self.owner)
        except Broken as broken:
            self.fail("not_deterministic", f"the second time: {broken}")
            return
        if again.solution != trial.solution:
            message = f"seed {self.seed} gives {trial.objective}, then {again.objective}"
            self.fail("not_deterministic", message)

    def compare(self, instance: Instance, trial: Trial, optimum: Objective | None) -> None:
        mine = trial.objective
        report = self.found
        false = false_claim(trial, optimum)
        if false is not None:
            self.fail(false.kind, false.message)
        if mine is None:
            if optimum is not None and self.complete:
                self.fail("stuck", f"no solution, though {optimum} can be had")
        elif optimum is None or self._beats(mine, optimum):
            self.fail("beats_optimum", f"{mine} against {optimum}: one of the checkers is wrong")
        else:
            gap = gap_to(optimum, mine)
            report.optimal += gap == 0
            if report.worst_gap is None or gap > report.worst_gap:
                report.worst_gap, report.worst_instance = gap, instance

    def transform(self, instance: Instance, trial: Trial, name: str) -> None:
        other = INVARIANTS[name](instance)
        kind = f"depends_on_{name}"
        try:
            mine = attempt(self.method, other, self.seed, self.owner).objective
        except Broken as broken:
            self.fail(kind, f"transformed: {broken}")
            return
        if mine != trial.objective:
            self.fail(kind, f"{trial.objective}, transformed {mine}")
