"""Parameters of the library's instances of interleaving."""

from dlsched.library import LibraryEntry

_SMALL_COVER = {"grouping": "cover", "budget": 0.2}
_COVER = {"grouping": "cover", "distinct": False, "jobs": 1000}

ENTRIES = (
    *(
        LibraryEntry(
            "small", f"interleaving-small-{i:02}", i, {"jobs": jobs, "resources": 2 + i % 3} | more
        )
        for i in range(1, 11)
        for jobs, more in [(8 + 4 * (i % 3), {}) if i < 6 else (2 + i, _SMALL_COVER)]
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
            methods=("column_generation",),
        )
        for seed, jobs in ((2, 128), (1, 512))
    ),
)
