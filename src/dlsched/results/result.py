"""Status and termination of a run, the checker's report, claims and results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dlsched.errors import OptionError
from dlsched.results.objective import Bound, Bounds, ByLevel, Level, Objective, gap, number_to_data
from dlsched.results.proof import Proof, VariantLabel
from dlsched.results.status import Status, Termination, default_termination
from dlsched.schema.envelope import link_instance, linked_instance, without_link
from dlsched.schema.files import JsonObject
from dlsched.schema.quantities import Number
from dlsched.schema.solution import AnySolution
from dlsched.text.rendering import Rendered, register, summary

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Claim",
    "Limits",
    "Point",
    "Report",
    "Result",
    "Seconds",
    "Start",
    "Status",
    "Termination",
    "VariantLabel",
    "Violation",
    "default_termination",
]


UNDECIDED = "undecided"
"""The kind of a violation that says what could not be decided in exact arithmetic."""


@dataclass(frozen=True, repr=False)
class Violation(Rendered):
    """One broken requirement.

    Attributes
    ----------
    kind
        Name of the requirement, the same for every instance; tests and tables group by it. It is
        `UNDECIDED` where the checker cannot tell whether the requirement is broken.
    where
        Path in the solution or instance, as ``workers.A``.
    message
        In the instance's words.
    amount
        By how much, in the requirement's own unit.
    """

    kind: str
    where: str
    message: str
    amount: Number = 1


@dataclass(frozen=True, repr=False)
class Report(Rendered):
    """What the checker finds.

    ``objective`` is what the solution is worth if all its references resolve, also when it is
    infeasible; ``details`` holds further figures of the problem. ``gap`` is to the bound that
    `verify` was given or that the library records for the instance.
    """

    violations: tuple[Violation, ...]
    objective: Objective | None
    details: Mapping[str, Number | float] = field(default_factory=dict)
    gap: ByLevel[float | None] | None = None

    @property
    def feasible(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations

    @property
    def undecided(self) -> bool:
        """Whether nothing is known to be violated, but something could not be decided."""
        return not self.feasible and all(v.kind == UNDECIDED for v in self.violations)

    def __bool__(self) -> bool:
        """Whether the solution is feasible."""
        return self.feasible

    def levels(self) -> list[LevelValue]:
        """Return the levels with their values and gaps; none if the objective is not known."""
        if self.objective is None:
            return []
        gaps = [None] * len(self.objective) if self.gap is None else self.gap
        pairs = zip(self.objective.pairs(), gaps, strict=True)
        return [LevelValue(level, value, gap) for (level, value), gap in pairs]


class LevelValue(NamedTuple):
    """A level, its value in a report, and the gap to the bound, if one is known."""

    level: Level
    value: Number
    gap: float | None


class Point(NamedTuple):
    """The state of a search after some seconds; ``None`` where there is nothing yet."""

    seconds: float
    objective: float | None
    bound: float | None


class Seconds(NamedTuple):
    """Wall-clock seconds by phase; ``total`` also includes the time outside these phases."""

    build: float
    solve: float
    check: float
    total: float


class Limits(NamedTuple):
    """The limits of a run: seconds, the gap that was asked for, threads."""

    time_limit: float | None
    gap: float
    threads: int


class Start(NamedTuple):
    """Whether a start solution was used, and why."""

    accepted: bool
    reason: str


@dataclass(frozen=True)
class Claim:
    """What a method returns, before it is checked; see `Result`.

    Attributes
    ----------
    solution
        A solution, or a mapping with the problem's own fields. Labels are added by the run.
    termination, reason
        Why the method stopped; derived from the status and the run's limits by default. The reason
        is a sentence, by default that of the termination.
    bounds
        For each level, any bounds known; the strongest of each kind is kept.
    """

    solution: AnySolution | Any = None
    status: Status = Status.FEASIBLE
    reason: str = ""
    objective: Sequence[Number | float] | None = None
    bounds: Sequence[Sequence[Bound]] = ()
    solver_message: str = ""
    build_seconds: float = 0.0
    start: Start | None = None
    termination: Termination | None = None


@dataclass(frozen=True, repr=False)
class Result(Rendered):
    """What a method returned, checked.

    Attributes
    ----------
    status, termination, reason, solver_message
        How far it got; why it ended, as data and as a sentence; the solver's own message.
    solution, objective
        Checked; both ``None`` if there is no solution.
    bound, gap
        Per level the strongest bound, and the distance to it.
    certified
        Per level the strongest bound that was re-checked; it may be weaker than ``bound``.
    seconds
        Wall-clock seconds: build, solve, check, total.
    trajectory
        (seconds, objective, bound) along the search, of the level being solved.
    start
        Whether the start solution was accepted, and why; ``None`` if there was none.
    limits
        Time limit, gap asked for, threads; ``None`` in files of versions that did not record it.
    proof
        With ``certify=True``, the checked proof that the solution is optimal, if one was found.
    variant
        The change of the problem that was solved; ``None`` if it was the problem itself.
    spent
        Of a problem's exact method, seconds for heuristics, bound method and search, by name.

    What another package's method calls optimal, infeasible or certified is its claim: the
    termination is then ``CLAIMED``, and the bounds are claimed ones.
    """

    problem: str
    instance: str
    instance_sha256: str
    method: str
    kind: str
    status: Status
    termination: Termination
    reason: str
    # `| Any` instead of `| None` spares users a test for None where they know that there is one.
    solution: AnySolution | Any
    objective: Objective | Any
    bound: Bounds
    certified: Bounds
    gap: ByLevel[float | None]
    seconds: Seconds
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Number | float] = field(default_factory=dict)
    trajectory: tuple[Point, ...] = ()
    start: Start | None = None
    solver: str | None = None
    solver_version: str | None = None
    solver_message: str = ""
    limits: Limits | None = None
    proof: Proof | None = None
    variant: VariantLabel | None = None
    spent: Mapping[str, float] = field(default_factory=dict)

    def summary(self) -> str:
        """Return a text of several lines: what was found, what is proved, why it ended, what next.

        It states the gap asked for, the gap achieved and the tolerance; per level objective, bound,
        whether the bound is certified, and its source; termination, method, solver, seed and
        limits; the seconds for building apart from those for the search.
        """
        register()
        return summary(self)

    def gap_to(self, bound: ByLevel[Any]) -> ByLevel[float | None]:
        """Return this solution's gap to another result's bound or objective.

        Raises
        ------
        ValueError
            If there is no solution.
        """
        if self.objective is None:
            raise ValueError(f"{self.method} has no solution to compare: {self.reason}")
        return gap(self.objective, bound)

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return data frames: ``result``, ``levels``, ``trajectory``, and those of the solution."""
        import pandas as pd

        labels = ("problem", "instance", "method", "kind", "status", "termination", "reason")
        whole = {name: str(getattr(self, name)) for name in labels} | {"seed": self.seed}
        levels = [
            {
                "level": level.name,
                "unit": level.unit,
                "objective": None if self.objective is None else float(self.objective[i]),
                "bound": float(bound.value) if bound else None,
                "bound_kind": bound.kind if bound else None,
                "gap": self.gap[i],
            }
            for i, (level, bound) in enumerate(self.bound.pairs())
        ]
        frames = {
            "result": pd.DataFrame([whole | self.seconds._asdict()]),
            "levels": pd.DataFrame(levels),
            "trajectory": pd.DataFrame(list(self.trajectory), columns=[*Point._fields]),
        }
        return frames | (self.solution.to_frames() if self.solution is not None else {})

    def replaced(self, **changes: Any) -> Result:
        """Return the result with some fields changed; it knows the instance, too."""
        changed = replace(self, **changes)
        instance = linked_instance(self)
        if instance is not None:
            link_instance(changed, instance)
        return changed

    def to_data(self) -> JsonObject:
        """Return plain JSON data; no digit is lost.

        Raises
        ------
        OptionError
            If an option is nothing that JSON has, or the variant has no identity.
        """
        return {
            "problem": self.problem,
            "instance": self.instance,
            "instance_sha256": self.instance_sha256,
            "method": self.method,
            "kind": str(self.kind),
            "status": str(self.status),
            "termination": str(self.termination),
            "reason": self.reason,
            "objective": self.objective and self.objective.map(number_to_data).as_dict(),
            "bound": self.bound.map(lambda b: b and b.to_data()).as_dict(),
            "certified": self.certified.map(lambda b: b and b.to_data()).as_dict(),
            "gap": self.gap.as_dict(),
            "seconds": self.seconds._asdict(),
            "seed": self.seed,
            "options": _options_to_data(self.method, self.options),
            "details": {k: number_to_data(v) for k, v in self.details.items()},
            "solver": self.solver,
            "solver_version": self.solver_version,
            "solver_message": self.solver_message,
            "start": self.start and self.start._asdict(),
            "limits": self.limits and self.limits._asdict(),
            "trajectory": [list(point) for point in self.trajectory],
            "solution": self.solution and self.solution.to_data(),
            "proof": self.proof and self.proof.to_data(),
            "variant": self.variant and self._variant_to_data(self.variant),
            "spent": dict(self.spent),
        }

    def _variant_to_data(self, variant: VariantLabel) -> dict[str, Any]:
        levels = [{"name": level.name, "sense": level.sense} for level in self.bound.levels]
        return variant.to_data() | {"model_sha256": variant.model_sha256, "levels": levels}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields, not the link to the instance."""
        return without_link(vars(self))

    def to_json(self) -> str:
        """Return JSON text; `dlsched.read_result` is its inverse."""
        return json.dumps(self.to_data(), allow_nan=False)


def _options_to_data(method: str, options: Mapping[str, Any]) -> JsonObject:
    """Return options as they are; raise `OptionError` if JSON does not have a value of theirs."""
    for name, value in options.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            problem = f"option {name}={value!r} of {method} cannot be written as JSON"
            raise OptionError(f"{problem}; give a finite number, or text") from None
    return dict(options)
