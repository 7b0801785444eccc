"""Parameters of the library's instances of elastic."""

from dlsched.library import LibraryEntry

_EPOCH = {"items": 354, "capacity": 245}
"""The worst epoch of the paper's evaluation."""
_IDEAL = {"fungible": 1.0, "heterogeneous": 1.0, "mixed_efficiency": 1.0}
"""Lyra's Ideal scenario: every job can use both kinds of GPU, at full efficiency."""

# No open instance is known: the dynamic program proves every size that was tried.
ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"elastic-small-{i:02}",
            i,
            {"jobs": 4 + i, "capacity": 10 + 2 * i, "scaling": "linear" if i % 2 else "loss"},
        )
        for i in range(1, 11)
    ),
    *(
        LibraryEntry(
            "small",
            f"elastic-loan-small-{i:02}",
            i,
            {"jobs": 4 + i, "capacity": 6 + 2 * i, "loan": 4 + 2 * i, "heterogeneous": 0.3},
        )
        for i in range(1, 4)
    ),
    *(
        LibraryEntry("medium", f"elastic-{n}", seed, {"items": n, "capacity": round(0.7 * n)})
        for seed, n in enumerate((40, 80, 160), start=1)
    ),
    LibraryEntry("production", "elastic-354-mixed", 1, _EPOCH | {"running": 0.5}),
    LibraryEntry("production", "elastic-354-phase2", 2, _EPOCH | {"running": 1.0}),
    LibraryEntry("production", "elastic-354-loss", 3, _EPOCH | {"scaling": "loss"}),
    LibraryEntry("production", "elastic-354-loan", 5, _EPOCH | {"loan": 80}),
    LibraryEntry("production", "elastic-354-loan-ideal", 6, _EPOCH | {"loan": 80} | _IDEAL),
    LibraryEntry("production", "elastic-3000", 4, {"items": 3000, "capacity": 600}),
    LibraryEntry("production", "elastic-20000", 5, {"items": 20_000, "capacity": 4000}),
    LibraryEntry("trace", "elastic-trace-20d", 0, {"at": 20 * 86400, "servers": 64}),
)
