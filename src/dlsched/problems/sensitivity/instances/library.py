"""Parameters of the library's instances of sensitivity."""

from dlsched.library import LibraryEntry


def _small(i: int) -> LibraryEntry:
    gpus = 2 if i % 2 else 4
    parameters = {
        "servers": 1 + i // 4,
        "gpus": gpus,
        "memory": gpus * 62.5,
        "multi": i > 3,
        "allow_split": i % 3 > 0,
        "split": "40/40/20",
    }
    return LibraryEntry("small", f"sensitivity-small-{i:02}", i, parameters)


# No MPS file above 4 servers: solvers treat equal servers one by one, and take hours.
ENTRIES = (
    *(_small(i) for i in range(1, 11)),
    *(
        LibraryEntry("medium", f"sensitivity-{n}", seed, {"servers": n, "multi": True}, mps=False)
        for seed, n in enumerate((8, 16, 32), start=1)
    ),
    *(
        LibraryEntry("production", f"sensitivity-{name}", seed, parameters, mps=False)
        for seed, name, parameters in (
            (1, "128-single", {"servers": 128}),
            (2, "128-whole", {"servers": 128, "multi": True, "allow_split": False}),
            (3, "512-single", {"servers": 512, "split": "30/60/10"}),
            (4, "512-multi", {"servers": 512, "multi": True}),
            (5, "64-distinct", {"servers": 64, "distinct": True}),
        )
    ),
    # No exact method proves the number of splits: `dlsched prove` does.
    LibraryEntry(
        "production",
        "sensitivity-open-64-distinct",
        1,
        {"servers": 64, "multi": True, "distinct": True},
        mps=False,
    ),
)
