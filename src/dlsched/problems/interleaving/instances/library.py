"""Parameters of the library's instances of interleaving, and the quantities that fuzzing scales."""

from dlsched.library import LibraryEntry

_COVER = {"grouping": "cover", "distinct": False, "jobs": 1000}

ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"interleaving-small-{i:02}",
            i,
            {"jobs": 8 + 4 * (i % 3), "resources": 2 + i % 3},
        )
        for i in range(1, 6)
    ),
    *(
        LibraryEntry(
            "small",
            f"interleaving-small-{i:02}",
            i,
            {"jobs": 2 + i, "resources": 2 + i % 3, "grouping": "cover", "budget": 0.2},
        )
        for i in range(6, 11)
    ),
    *(
        LibraryEntry("medium", f"interleaving-{jobs}", seed, {"jobs": jobs})
        for seed, jobs in enumerate((24, 32, 48), start=1)
    ),
    *(
        LibraryEntry("production", f"interleaving-{jobs}-distinct", seed, {"jobs": jobs})
        for seed, jobs in enumerate((64, 96, 128), start=1)
    ),
    LibraryEntry("production", "interleaving-1000-25", 4, _COVER | {"budget": 0.25}),
    LibraryEntry("production", "interleaving-1000-50", 5, _COVER | {"budget": 0.5}),
    *(
        LibraryEntry(
            "open",
            f"interleaving-open-{jobs}-distinct",
            seed,
            {"jobs": jobs},
            methods=("swap", "column_generation"),
        )
        for seed, jobs in ((2, 128), (1, 512))
    ),
)
QUANTITIES = (("jobs.*.stages.*",),)
"""Groups of fields in one unit, which may be multiplied by one factor."""
