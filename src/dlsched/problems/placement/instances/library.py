"""Parameters of the library's instances of placement."""

from dlsched.library import LibraryEntry

ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"placement-small-{i:02}",
            i,
            {
                "tables": 4 + i // 2,
                "regions": 2 + i % 3,
                "jobs": 5 + i,
                "version": "v1" if i % 4 == 3 else "v2",
                "kinds": 1 + i % 2,
                "largest": 0.4,
                "move_share": 0.5 if i % 5 == 4 else None,
                "at_home": 0.3 if i % 5 == 3 else 0.0,
            },
        )
        for i in range(1, 11)
    ),
    *(
        LibraryEntry("medium", f"placement-{n}x4-{seed}", seed, {"tables": n, "jobs": n + 4})
        for seed, n in ((1, 10), (2, 12), (4, 12))
    ),
    *(
        LibraryEntry(
            "production",
            f"placement-{tables}x4x{jobs}-{version}-{seed}",
            seed,
            {"tables": tables, "jobs": jobs, "version": version},
            # The file states the model that `refinement` ended with, which takes a proof's time.
            mps=tables <= 20,
        )
        for seed, tables, jobs, version in (
            (1, 15, 20, "v2"),
            (3, 15, 20, "v2"),
            (3, 30, 40, "v2"),
            (1, 30, 40, "v1"),
            (3, 30, 40, "v1"),
        )
    ),
    *(
        LibraryEntry(
            "open",
            f"placement-open-{tables}x{regions}x{jobs}",
            1,
            {"tables": tables, "regions": regions, "jobs": jobs},
            methods=("tempering", "relaxation_tree"),
        )
        for tables, regions, jobs in ((200, 6, 600), (1000, 10, 3000))
    ),
)
