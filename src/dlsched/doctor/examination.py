"""All that is examined, and what was found to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dlsched.doctor.compiled import CompiledLoops, compiled_loops
from dlsched.doctor.core import Core, core_at_work
from dlsched.doctor.finding import Finding
from dlsched.doctor.machine import Machine, this_machine
from dlsched.doctor.packages import Installation, installation
from dlsched.doctor.solvers import SolverState, solver_states


@dataclass(frozen=True)
class Examination:
    """The state of an installation on this machine, part by part."""

    installation: Installation
    solvers: tuple[SolverState, ...]
    compiled: CompiledLoops
    core: Core
    machine: Machine

    @property
    def findings(self) -> list[Finding]:
        """What is wrong, fatal findings first."""
        return sorted(self._findings(), key=lambda finding: not finding.fatal)

    def _findings(self) -> Iterator[Finding]:
        yield from self.installation.findings()
        yield from filter(None, (solver.finding() for solver in self.solvers))
        yield from self.compiled.findings()
        yield from self.core.findings()

    @property
    def ok(self) -> bool:
        """Whether the core works: no finding is fatal."""
        return not any(finding.fatal for finding in self.findings)

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data."""
        findings = [asdict(finding) for finding in self.findings]
        return {"ok": self.ok, "findings": findings, **asdict(self)}


def examine(on_part: Callable[[str], None] = lambda part: None) -> Examination:
    """Examine this installation; it takes a few seconds, and nothing is compiled or written.

    Parameters
    ----------
    on_part
        Called with what is examined next.
    """
    on_part("packages")
    packages = installation()
    on_part("solvers, each on a small integer program")
    solvers = solver_states()
    on_part("the core, on an instance of the library")
    core = core_at_work()
    on_part("compiled loops")
    compiled = compiled_loops()
    return Examination(packages, solvers, compiled, core, this_machine())
