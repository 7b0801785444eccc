"""The core at work: an instance of the library, solved to a proven optimum and verified."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from dlsched import api
from dlsched.doctor.finding import Finding
from dlsched.errors import describe
from dlsched.problems import library
from dlsched.results.result import Status

EXAMPLE, METHOD = "lyra-fig5", "milp"


@dataclass(frozen=True)
class Core:
    """The library of instances, and one of them solved.

    Attributes
    ----------
    folder, instances, missing
        Of the library; how many instances its index names, and of how many a file is missing.
    example, method
        The instance that is solved, and how.
    works
        Whether its optimum is proved, and equals the library's.
    seconds
        Wall-clock time of loading, solving and verifying it.
    failure
        Why it does not work, or nothing.
    """

    folder: str
    instances: int
    missing: int
    example: str
    method: str
    works: bool
    seconds: float
    failure: str = ""

    def findings(self) -> Iterator[Finding]:
        """Yield what is missing or fails."""
        again = "install dlsched again"
        if not self.instances:
            yield Finding(f"no library of instances in {self.folder}", again, True)
        elif self.missing:
            yield Finding(f"{self.missing} files of the library are missing", again, True)
        if not self.works:
            what = f"{self.example} is not solved: {self.failure}"
            yield Finding(what, "see the other findings; if there are none, report it", True)


def core_at_work() -> Core:
    """Look for the library's files; solve and verify an example."""
    folder, count, missing = str(library.root()), 0, 0
    began, works = time.perf_counter(), False
    try:
        names = library.names()
        count = len(names)
        files = (f for n in names for f in (library.instance_file(n), library.solution_file(n)))
        missing = sum(not file.exists() for file in files)
        result = api.solve(EXAMPLE, METHOD)
        best = library.best_objective(api.load(EXAMPLE).sha256)
        works = result.status is Status.OPTIMAL and result.objective == best
        failure = "" if works else f"{result.status}, {result.objective} where {best} is known"
    except Exception as error:  # anything may be broken here
        failure = describe(error)
    seconds = time.perf_counter() - began
    return Core(folder, count, missing, EXAMPLE, METHOD, works, seconds, failure)
