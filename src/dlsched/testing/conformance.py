"""What every problem must fulfil: `check_problem` runs the checks of the modules ``*_checks``."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from dlsched import library
from dlsched.errors import ExtraMissing, OptionError, describe
from dlsched.registry import problem as find
from dlsched.testing import (
    method_checks,
    model_checks,
    package_checks,
    variant_checks,
)
from dlsched.testing.search import Finding, SearchReport
from dlsched.testing.subject import NothingToCheck, Subject, blind_spots
from dlsched.testing.trials import Broken

CHECKS: dict[str, Callable[[Subject], Finding | None]] = {
    "parts": package_checks.parts,
    "methods": package_checks.methods,
    "generator": package_checks.generator,
    "json": package_checks.json_round_trip,
    "immutable": package_checks.immutable,
    "labels": package_checks.labels,
    "infeasible": method_checks.infeasible,
    "model_levels": model_checks.model_levels,
    "model_assign": model_checks.model_assign,
    "exact": method_checks.exact,
    "heuristics": method_checks.heuristics,
    "bounds": method_checks.bounds,
    "renaming": method_checks.renaming,
    "order": method_checks.order,
    "deterministic": method_checks.deterministic,
    "limits": method_checks.limits,
    "warm_start": method_checks.warm_start,
    "proofs": model_checks.proofs,
    "variant_rows": variant_checks.variant_rows,
    "variant_fixings": variant_checks.variant_fixings,
    "variant_levels": variant_checks.variant_levels,
    "picture": package_checks.picture,
    "card": package_checks.card,
}
"""The checks by id, cheap ones first; the first line of each docstring states the requirement."""


@dataclass(repr=False)
class Conformance(SearchReport):
    """What `check_problem` found; true if every check passed.

    Attributes
    ----------
    passed, skipped
        Ids of the checks that passed, and of those that had nothing to look at or that need a
        library that is not installed.
    hints
        How to install these libraries, and of which levels the drawn instances show nothing, one
        line each.
    findings
        One for each check that failed; ``kind`` is the check's id.
    """

    problem: str
    passed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a report for people."""
        head = f"{self.problem}: {len(self.passed)} checks passed, {len(self.findings)} failed"
        if self.skipped:
            head += f", skipped: {', '.join(self.skipped)}"
        return "\n".join([head, *self.hints, *map(str, self.findings)])


def check_problem(
    name: str,
    *,
    checks: Collection[str] | None = None,
    examples: int = 25,
    card: str | Path | None = None,
) -> Conformance:
    """Check that a problem fulfils what the library's users and its other parts rely on.

    Parameters
    ----------
    name
        Name of the problem, of this package or of another one.
    checks
        Ids of the checks to run, keys of `CHECKS`; all by default.
    examples
        Instances to draw for each property.
    card
        Markdown file with the problem's model. Those of dlsched's own problems are found in a
        checkout; the check ``card`` is skipped where there is none.

    Raises
    ------
    UnknownName
        If there is no such problem.
    OptionError
        If there is no such check.
    """
    unknown = set(checks or ()) - set(CHECKS)
    if unknown:
        raise OptionError(f"checks={sorted(unknown)} must be among {', '.join(CHECKS)}")
    own = library.root().parent / "models" / f"{name}.md"
    subject = Subject(find(name), examples, Path(card) if card else own if own.exists() else None)
    report = Conformance(name)
    for check in CHECKS if checks is None else checks:
        if check == "card" and subject.card is None:
            report.skipped.append(check)
            continue
        try:
            finding = CHECKS[check](subject)
        except Broken as broken:
            finding = Finding(check, broken.message)
        except ExtraMissing as error:
            report.skipped.append(check)
            report.hints.append(str(error))
            continue
        except NothingToCheck:
            report.skipped.append(check)
            continue
        except Exception as error:  # a problem's code may raise anything
            finding = Finding(check, describe(error))
        if finding is None:
            report.passed.append(check)
            if check == "exact":
                report.hints += filter(None, [blind_spots(subject)])
        else:
            report.findings.append(Finding(check, finding.message, finding.instance))
    return report
