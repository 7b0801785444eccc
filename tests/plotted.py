"""Solutions that tests of pictures draw, and what is read from a picture."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import dlsched
from dlsched.doctor import library


class Drawn(NamedTuple):
    """A paper's example, and an instance beyond the sizes that are drawn one by one."""

    example: str
    large: tuple[dict[str, int], str] | str
    """Generator parameters and a quick heuristic, or a name in the library."""
    whole: str
    """What the large picture says about how much it shows."""


DRAWN = {
    "reclaiming": Drawn("lyra-fig5", ({"servers": 120}, "lyra"), "all 120 servers"),
    "elastic": Drawn("lyra-table4", ({"jobs": 150}, "lyra"), "all 150 jobs"),
    "interleaving": Drawn("muri-table2", ({"jobs": 64}, "greedy"), "groups"),
    "utility": Drawn("hadar-section2", "utility-40x60-effective-2", "60 GPUs"),
    "placement": Drawn("mast-two-regions", "placement-open-200x6x600", "all 200 tables"),
    "sensitivity": Drawn("synergy-two-servers", ({"servers": 24}, "greedy"), "all 24 servers"),
    "dispatch": Drawn(
        "mast-two-workloads", ({"machines": 100, "pending": 60}, "mast"), "all 600 machines"
    ),
    "workers": Drawn(
        "workers-two-groups", ({"training": 60, "loan": 60}, "bfd"), "all 120 servers"
    ),
}


@cache
def solved(problem: str) -> dlsched.Solution:
    """Return the optimum of a paper's example."""
    return dlsched.load_solution(library.solution_file(DRAWN[problem].example))


@cache
def large(problem: str) -> dlsched.Result | dlsched.Solution:
    """Return a heuristic's result for a large instance, or the library's solution."""
    if isinstance(DRAWN[problem].large, str):
        return dlsched.load_solution(library.solution_file(DRAWN[problem].large))
    parameters, method = DRAWN[problem].large
    return dlsched.solve(dlsched.generate(problem, seed=1, **parameters), method)


def legend(ax: Any) -> dict[str, Any]:
    """Return the legend's entries with their colours."""
    (box,) = ax.figure.legends
    return {
        text.get_text(): handle.get_facecolor() if hasattr(handle, "get_facecolor") else None
        for text, handle in zip(box.get_texts(), box.legend_handles, strict=True)
    }


def words(ax: Any) -> str:
    """Return the title and the axes' labels."""
    parts = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
    return " ".join(" ".join(parts).split())


def with_names(names: tuple[str, ...]) -> dlsched.Instance:
    """Return an instance of two servers whose texts are all odd."""
    data = {"dlsched": 1, "problem": "reclaiming", "name": "100$ $\\bad$", "demand": 1}
    servers = [{"id": "$\\q$", "gpus": len(names)}, {"id": "_t", "gpus": 2}]
    jobs = [{"id": name, "workers": [{"server": "$\\q$", "gpus": 1}]} for name in names]
    return dlsched.load(data | {"servers": servers, "jobs": jobs})
