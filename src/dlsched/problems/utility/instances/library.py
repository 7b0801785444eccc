"""Parameters of the library's instances of utility."""

from dlsched.library import LibraryEntry

ENTRIES = (
    *(
        LibraryEntry(
            "small",
            f"utility-small-{i:02}",
            i,
            {
                "jobs": 2 + i // 2,
                "slots": 4 + i,
                "gpus": 3 + i % 4,
                "per_machine": 2,
                "utility": ("effective_throughput", "linear", "table")[i % 3],
                "mix": "even",
                "utilization": 0.8,
            },
        )
        for i in range(1, 11)
    ),
    *(
        LibraryEntry(
            "medium", f"utility-{jobs}x{slots}", seed, {"jobs": jobs, "slots": slots, "gpus": 12}
        )
        for seed, jobs, slots in ((1, 8, 20), (2, 10, 25), (3, 12, 30))
    ),
    *(
        LibraryEntry(
            "production",
            f"utility-{jobs}x{slots}-{kind.split('_')[0]}-{seed}",
            seed,
            {"jobs": jobs, "slots": slots, "gpus": gpus, "utility": kind},
        )
        for seed, jobs, slots, gpus, kind in (
            (1, 20, 40, 12, "effective_throughput"),
            (1, 20, 40, 12, "linear"),
            (2, 20, 40, 12, "table"),
            (2, 40, 60, 60, "effective_throughput"),
            (3, 40, 60, 60, "effective_throughput"),
        )
    ),
    LibraryEntry(
        "open",
        "utility-open-20x40-even",
        2,
        {"jobs": 20, "slots": 40, "gpus": 12, "mix": "even"},
        methods=("dantzig_wolfe", "milp"),
    ),
    LibraryEntry(
        "open",
        "utility-open-60x100-even",
        1,
        {"jobs": 60, "slots": 100, "gpus": 24, "mix": "even"},
        methods=("dantzig_wolfe",),
    ),
)
