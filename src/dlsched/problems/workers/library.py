"""Parameters of the library's instances of workers, and the quantities that fuzzing scales."""

from typing import Any

from dlsched.library import LibraryEntry

_SCENARIOS = ("basic", "advanced", "heterogeneous", "ideal")


def _small(i: int) -> LibraryEntry:
    parameters: dict[str, Any] = {
        "training": 1 + i // 3,
        "loan": 1 + i // 2,
        "gpus": 4 if i % 2 else 8,
        "jobs": 4 + i,
        "scenario": _SCENARIOS[i % 4],
        "admitted": False,
        "training_used": 0.5,
        "loan_used": 0.5,
    }
    return LibraryEntry("small", f"workers-small-{i:02}", i, parameters)


# The MPS files have the servers one by one, which solvers do not prove on large fleets.
ENTRIES = (
    *(_small(i) for i in range(1, 11)),
    *(
        LibraryEntry(
            "medium",
            f"workers-{n}",
            seed,
            {"training": n // 2, "loan": n // 2, "jobs": n, "scenario": "advanced"},
            mps=False,
        )
        for seed, n in enumerate((48, 96, 192), start=1)
    ),
    *(
        LibraryEntry("production", f"workers-963-{name}", seed, {"scenario": name}, mps=False)
        for seed, name in enumerate(_SCENARIOS, start=1)
    ),
    LibraryEntry(
        "production", "workers-963-shared", 5, {"scenario": "ideal", "separate_groups": False},
        mps=False,
    ),
    LibraryEntry(
        "production",
        "workers-963-500",
        6,
        {"scenario": "advanced", "training_used": 0.3, "loan_used": 0.5},
        mps=False,
    ),
)  # fmt: skip
QUANTITIES: tuple[tuple[str, ...], ...] = ()
"""No field may be multiplied: all quantities are whole GPUs and workers."""
