"""Parameters of the library's instances of dispatch."""

from dlsched.library import LibraryEntry

_SMALL = {"regions": 2, "clusters": 1, "machines": 4, "pending": 4, "tenants": 4, "types": 1}
_LARGEST = {
    "scope": "one",
    "regions": 1,
    "clusters": 20,
    "machines": 3325,
    "gpu_share": 125 / 3325,
    "types": 1,
    "tenants": 60,
    "copies": 1,
    "pending": 100,
    "allocation": 1.0,
}

ENTRIES = (
    *(
        LibraryEntry("small", f"dispatch-small-{i:02}", i, _SMALL | more, mps=False)
        for i in range(1, 11)
        for more in [{"pending": 3 + i % 3} if i < 6 else {"scope": "one", "rack": 2}]
    ),
    *(
        LibraryEntry("medium", f"dispatch-3x2x20x15-{seed}", seed, {}, mps=False)
        for seed in (1, 2, 3)
    ),
    *(
        LibraryEntry("production", f"dispatch-largest-region-{seed}", seed, _LARGEST, mps=False)
        for seed in (2, 4, 6, 9, 12)
    ),
    LibraryEntry(
        "open",
        "dispatch-open-10x5x100x300",
        1,
        {"regions": 10, "clusters": 5, "machines": 100, "pending": 300, "tenants": 60},
        methods=("exact", "lp"),
        mps=False,
    ),
)
