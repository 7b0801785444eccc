"""Parameters of the library's instances of configurations, and the quantities fuzzing scales."""

from __future__ import annotations

from dlsched.library import LibraryEntry

ENTRIES = (
    *(
        LibraryEntry("small", f"configurations-small-{i:02}", i, {"jobs": 8 + 2 * i})
        for i in range(1, 5)
    ),
    LibraryEntry("medium", "configurations-64-philly", 5, {"jobs": 60}),
    LibraryEntry("medium", "configurations-64-helios", 6, {"jobs": 80, "workload": "helios"}),
    LibraryEntry("medium", "configurations-64-newtrace", 7, {"jobs": 100, "workload": "newtrace"}),
    LibraryEntry("medium", "configurations-128-total", 8, {"jobs": 60, "scale": 2, "power": 0.5}),
    LibraryEntry("production", "configurations-512", 9, {"jobs": 250, "scale": 8}, mps=False),
    LibraryEntry("production", "configurations-2048", 10, {"jobs": 1000, "scale": 32}, mps=False),
)
QUANTITIES = (("models.*.goodput.*",), ("models.*.restart_seconds", "jobs.*.age"))
"""Groups of fields in one unit, which may be multiplied by one factor."""
