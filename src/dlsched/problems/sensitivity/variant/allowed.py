"""Variants in which a rule says which jobs may be on one server.

First the instance is solved without the rule, whose bound is one with it; jobs that can replace
each other then change places until the rule allows every server, and where they do, that is the
optimum. Else the rule is stated on the model with every server, if that is small enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.check import check, value_of
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.exact import patterns
from dlsched.problems.sensitivity.exact.bounds import pooled
from dlsched.problems.sensitivity.exact.milp import Best, incumbent, solve_model
from dlsched.problems.sensitivity.structures.server_patterns import Item
from dlsched.problems.sensitivity.variant import TUNABLES
from dlsched.problems.sensitivity.variant.allow import (
    assign_parts,
    forbidden,
    held_by_server,
    require_downward,
    violations,
)
from dlsched.problems.sensitivity.variant.forbidden_sets import Allow, TooManySets
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run, Stage

PRELOAD = ("highspy", "scipy.sparse")


@dataclass(frozen=True)
class _Ruled:
    """The model with the rule, as `solve_levels` takes it."""

    allow: Allow
    read = staticmethod(model.read)

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model, in which the rule allows every server."""
        import pyomo.core as pyo

        m = model.build(instance)
        m.not_allowed = pyo.ConstraintList()
        for expression in forbidden(instance, m, self.allow):
            m.not_allowed.add(expression <= 0)
        return m

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to its value in the solution."""
        model.assign(instance, m, solution)
        assign_parts(m, solution)


def solve_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Whole-server patterns without the rule, then the model with it, where it matters.

    Exact because an optimum without the rule that the rule allows is one with it; the model states
    all that the rule forbids. Where that would have too many variables or rows, the best solution
    found is returned with the bound without the rule.
    """
    without = run.nested(TUNABLES.share * (run.time_limit or float("inf")), run.gap)
    without.found = list(run.found)
    without.start = run.start
    claim = patterns(instance, without)
    if claim.status is Status.INFEASIBLE or not instance.jobs:
        return claim
    run.announce(Stage.SEARCHING, "jobs change places until the rule allows every server")
    placed = _allowed(instance, claim.solution, allow, run)
    if placed is not None and (claim.status is Status.OPTIMAL or run.stop_reason()):
        require_downward(instance, placed, allow)
        start = claim.start or _accepted(run)
        return replace(claim, solution=placed, objective=None, start=start)
    best = incumbent(run, partial(value_of, instance))
    others = (_allowed(instance, s, allow, run) for s in (*run.found, run.start, run.known))
    for solution in (placed, *others):
        if solution is not None:
            best.offer(solution)
    return replace(_on_model(instance, run, allow, claim, best), start=_accepted(run))


def bound_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Bounds of stage one on all servers together, which no rule of servers raises."""
    return pooled(instance, run)


def _allowed(instance: Instance, solution: object, allow: Allow, run: Run) -> Solution | None:
    """Return a solution, or one with the same choices, that the rule allows; None if none."""
    if not isinstance(solution, Solution) or not check(instance, solution).feasible:
        return None
    if not any(violations(instance, solution, allow)):
        return solution
    search = _Exchanges(instance, solution, allow)
    return search.solution() if search.repair(run.nested()) else None


def _on_model(instance: Instance, run: Run, allow: Allow, free: Claim, best: Best) -> Claim:
    """Return the claim of the model with the rule; the best known if that would be too large.

    The bounds of the claim without the rule, `free`, are valid, too.
    """
    bounds = _valid(free)
    reason = "no jobs that change places make every server allowed, and the model is too large"
    if model.variables(instance) <= TUNABLES.most_variables and not run.stop_reason():
        if best.solution is not None:
            require_downward(instance, best.solution, allow)
        run.known = best.solution
        try:
            claim = solve_model(instance, run, best.solution, module=_Ruled(allow))
        except TooManySets as error:
            reason = str(error)
        else:
            if claim.status is Status.INFEASIBLE:
                return claim
            levels = zip_longest(bounds, claim.bounds, fillvalue=())
            return replace(claim, bounds=[[*without, *own] for without, own in levels])
    return Claim(
        solution=best.solution,
        status=Status.NO_SOLUTION if best.solution is None else Status.FEASIBLE,
        termination=run.stop_reason() or Termination.UNDECIDED,
        reason=reason,
        bounds=bounds,
    )


def _accepted(run: Run) -> Start | None:
    return None if run.start is None else Start(True, "the search had it")


def _valid(claim: Claim) -> list[list[Bound]]:
    """Return the bounds of a solve without the rule; that of the split jobs holds only with it."""
    bounds = [list(level) for level in claim.bounds]
    first = bounds[0] if bounds else []
    forced = [b for b in (bounds[1] if len(bounds) > 1 else []) if b.method != "highs"]
    return [first, forced[:1]]


class _Exchanges:
    """Jobs change servers until a rule allows what every server holds; their choices stay.

    Two parts of jobs that take the same GPUs, CPUs and memory can change places on any servers, and
    throughput and the number of split jobs stay as they are. A part may also move to where there is
    room for it.
    """

    def __init__(self, instance: Instance, solution: Solution, allow: Allow) -> None:
        self.instance = instance
        self.allow = allow
        self.servers: list[dict[str, int]] = [{} for _ in range(instance.servers.count)]
        self.given = solution.allocation
        self.known: dict[tuple[tuple[str, int], ...], int] = {}
        for server, held in held_by_server(solution).items():
            self.servers[int(server)] = held

    def part(self, job: str, gpus: int) -> Item:
        """Return what a job takes on a server."""
        given = self.given[job]
        return Item(gpus, given.cpus, given.memory)

    def excess(self, held: dict[str, int]) -> int:
        """Return how many jobs of a server are not allowed, taken one after the other."""
        key = tuple(sorted(held.items()))
        if key not in self.known:
            kept: dict[str, int] = {}
            broken = bool(held) and not self.allow(self.instance, dict(held))
            for job, gpus in key if broken else ():
                if self.allow(self.instance, {**kept, job: gpus}):
                    kept[job] = gpus
            self.known[key] = max(1, len(key) - len(kept)) if broken else 0
        return self.known[key]

    def repair(self, run: Run) -> bool:
        """Change places until all servers are allowed; return whether they are."""
        for _ in range(TUNABLES.most_steps):
            broken = [s for s, held in enumerate(self.servers) if self.excess(held)]
            if not broken:
                return True
            if run.stop_reason():
                return False
            s = broken[int(run.rng.integers(len(broken)))]
            jobs = list(self.servers[s])
            self._improve(s, jobs[int(run.rng.integers(len(jobs)))], run)
        return False

    def _improve(self, s: int, job: str, run: Run) -> None:
        """Move a job off a server, or exchange it, if that helps; sometimes if it does not."""
        options = list(self._options(s, job))
        order = run.rng.permutation(len(options))[: TUNABLES.tried].tolist()
        for i in order:
            t, other = options[i]
            here, there = dict(self.servers[s]), dict(self.servers[t])
            there[job] = here.pop(job)
            if other is not None:
                here[other] = there.pop(other)
            gain = self.excess(self.servers[s]) + self.excess(self.servers[t])
            gain -= self.excess(here) + self.excess(there)
            if gain > 0 or run.rng.random() < TUNABLES.uphill:
                self.servers[s], self.servers[t] = here, there
                return

    def _options(self, s: int, job: str) -> Iterator[tuple[int, str | None]]:
        """Yield servers with a job to exchange, or with room."""
        part = self.part(job, self.servers[s][job])
        for t, held in enumerate(self.servers):
            if t == s or job in held:
                continue
            for other, gpus in held.items():
                if self.part(other, gpus) == part and other not in self.servers[s]:
                    yield t, other
            if self._fits(held, part):
                yield t, None

    def _fits(self, held: dict[str, int], part: Item) -> bool:
        parts = [*(self.part(job, gpus) for job, gpus in held.items()), part]
        servers = self.instance.servers
        return (
            sum(p.gpus for p in parts) <= servers.gpus
            and sum(p.gpus * p.cpus for p in parts) <= servers.cpus
            and sum(p.gpus * p.memory for p in parts) <= servers.memory
        )

    def solution(self) -> Solution:
        """Return the solution with the jobs where they are now."""
        gpus: dict[str, dict[str, int]] = {job: {} for job in self.given}
        for s, held in enumerate(self.servers):
            for job, count in held.items():
                gpus[job][str(s)] = count
        return Solution(
            allocation={
                job: Allocation(cpus=given.cpus, memory=given.memory, gpus=gpus[job])
                for job, given in self.given.items()
            }
        )
