"""Parameters of the library's instances of configurations, and the quantities fuzzing scales."""

from __future__ import annotations

from dlsched.library import LibraryEntry
from dlsched.problems.configurations.instances.profiles import WORKLOADS

ENTRIES = (
    *(
        LibraryEntry("small", f"configurations-small-{i:02}", i, {"jobs": 3 + 2 * i})
        for i in range(1, 11)
    ),
    *(
        LibraryEntry(
            "production",
            f"configurations-64-{workload}",
            seed,
            {"jobs": 20 + 20 * seed, "workload": workload},
            mps=workload == "philly",
        )
        for seed, workload in enumerate(WORKLOADS, start=2)
    ),
    LibraryEntry("production", "configurations-512", 5, {"jobs": 250, "scale": 8}, mps=False),
    LibraryEntry("production", "configurations-2048", 10, {"jobs": 1000, "scale": 32}, mps=False),
    LibraryEntry(
        "production",
        "configurations-512-total",
        7,
        {"jobs": 250, "scale": 8, "power": 0.5},
        mps=False,
    ),
)
QUANTITIES = (("models.*.goodput.*",), ("models.*.restart_seconds", "jobs.*.age"))
"""Groups of fields in one unit, which may be multiplied by one factor."""
