"""Parameters of the library's instances of configurations."""

from typing import Any

from dlsched.library import LibraryEntry

_LARGE: dict[str, tuple[int, dict[str, Any]]] = {
    "64-philly": (2, {"jobs": 60, "workload": "philly"}),
    "64-helios": (3, {"jobs": 80, "workload": "helios"}),
    "64-newtrace": (4, {"jobs": 100, "workload": "newtrace"}),
    "512": (5, {"jobs": 250, "scale": 8}),
    "2048": (10, {"jobs": 1000, "scale": 32}),
    "512-total": (7, {"jobs": 250, "scale": 8, "power": 0.5}),
}
ENTRIES = tuple(
    LibraryEntry("small", f"configurations-small-{i:02}", i, {"jobs": 3 + 2 * i})
    for i in range(1, 11)
) + tuple(
    LibraryEntry("production", f"configurations-{name}", *drawn, mps=name == "64-philly")
    for name, drawn in _LARGE.items()
)
