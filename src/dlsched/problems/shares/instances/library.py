"""Parameters of the library's instances of shares."""

from dlsched.library import LibraryEntry

_OBJECTIVES = ("max_min", "makespan", "finish_time", "total")


ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"shares-small-{i:02}",
            i,
            {"jobs": 3 + i, "gpus": 2, "models": 3, "objective": _OBJECTIVES[i % 4]},
        )
        for i in range(1, 11)
    ),
    LibraryEntry("medium", "shares-64", 1, {}),
    LibraryEntry("production", "shares-1024", 1, {"jobs": 1024}, mps=False),
    *(
        LibraryEntry(
            "production",
            f"shares-256-{objective.replace('_', '-')}",
            seed,
            {"jobs": 256, "objective": objective},
            mps=objective in ("max_min", "total"),
        )
        for seed, objective in enumerate(_OBJECTIVES, start=2)
    ),
)
