"""Parameters of the library's instances of reclaiming."""

from dlsched.library import LibraryEntry

ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"reclaiming-small-{i:02}",
            i,
            {"servers": 6 + 2 * i, "demand": 2 + i // 2, "spread": 0.3, "flexible": 0.2},
        )
        for i in range(1, 11)
    ),
    *(
        LibraryEntry("medium", f"reclaiming-{n}", seed, {"servers": n, "spread": 0.5})
        for seed, n in enumerate((48, 96, 192), start=1)
    ),
    *(
        LibraryEntry("production", f"reclaiming-520-{demand}", seed, {"demand": demand})
        for seed, demand in enumerate((26, 52, 130, 260), start=1)
    ),
    LibraryEntry("production", "reclaiming-520-130-flexible", 5, {"demand": 130, "flexible": 0.5}),
    LibraryEntry("trace", "reclaiming-trace-20d", 0, {"at": 20 * 86400, "servers": 64}),
    LibraryEntry(
        "open",
        "reclaiming-open-100-scattered",
        0,
        {"servers": 100, "gpus": 64, "jobs": 200, "demand": 30, "scattered": 4},
        methods=("exact", "spectral"),
    ),
    LibraryEntry(
        "open",
        "reclaiming-open-520-scattered",
        0,
        {"servers": 520, "gpus": 64, "jobs": 2000, "demand": 130, "scattered": 4},
        methods=("exact", "spectral"),
    ),
)
