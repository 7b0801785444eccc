"""Parameters of the library's instances of workers."""

from typing import Any

from dlsched.library import LibraryEntry

_SCENARIOS = ("basic", "advanced", "heterogeneous", "ideal")


def _small(i: int) -> LibraryEntry:
    parameters: dict[str, Any] = {
        "training": 1 + i // 3,
        "loan": 1 + i // 2,
        "gpus": 4 if i % 2 else 8,
        "jobs": 4 + i,
        "scenario": _SCENARIOS[i % 4],
        "admitted": False,
        "training_used": 0.5,
        "loan_used": 0.5,
    }
    return LibraryEntry("small", f"workers-small-{i:02}", i, parameters)


ENTRIES = (
    *(_small(i) for i in range(1, 11)),
    *(
        LibraryEntry(
            "medium",
            f"workers-{n}",
            seed,
            {"training": n // 2, "loan": n // 2, "jobs": n, "scenario": "advanced"},
        )
        for seed, n in enumerate((48, 96, 192), start=1)
    ),
    *(
        LibraryEntry("production", f"workers-963-{name}", seed, {"scenario": name})
        for seed, name in enumerate(_SCENARIOS, start=1)
    ),
    LibraryEntry(
        "production", "workers-963-shared", 5, {"scenario": "ideal", "separate_groups": False}
    ),
    LibraryEntry(
        "production",
        "workers-963-536",
        6,
        {"jobs": 580, "scenario": "advanced", "training_used": 0.3, "loan_used": 0.5},
    ),
    # Workers of 28 sizes on servers of 64 GPUs, which hold very many sets of workers.
    LibraryEntry(
        "production",
        "workers-open-120-sizes",
        1,
        {
            "training": 60,
            "loan": 60,
            "gpus": 64,
            "jobs": 400,
            "sizes": dict.fromkeys(range(5, 33), 1),
            "scenario": "advanced",
            "training_used": 0.4,
            "loan_used": 0.4,
        },
        mps=False,
    ),
)
