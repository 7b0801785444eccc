"""The worst small instance found for each heuristic and baseline; the same one on every run."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import dlsched
from dlsched.registry import Kind, problem
from dlsched.testing import worst_case
from dlsched.testing.strategies import reclaiming
from dlsched.testing.trials import Broken

BUDGET = 1500
FORKING = (("utility", "hadare"),)
"""Has no solution for the strategy's gang jobs."""
SLOW = {("placement", "annealing"): 40, ("utility", "insertion"): 200}
"""Budgets where a call takes long."""
DRAWN = {"reclaiming": partial(reclaiming, max_servers=8, max_jobs=8, weighted=False)}
"""Strategies other than the problem's own. Lyra knows no weights: every job counts 1."""


def found(name: str) -> Iterator[dict[str, Any]]:
    """Yield a problem's rows: small random instances, moved towards larger gaps, then shrunk."""
    for method in problem(name).methods.values():
        if method.kind not in (Kind.HEURISTIC, Kind.BASELINE) or (name, method.name) in FORKING:
            continue
        budget, drawn = SLOW.get((name, method.name), BUDGET), DRAWN.get(name)
        options: dict[str, Any] = {"level": 0, "positive": True, "instances": drawn and drawn()}
        try:
            case = worst_case(name, method.name, budget, **options)
        except Broken as broken:
            yield {"method": method.name, "tried": str(broken)}
            continue
        if case is None:
            yield {"method": method.name, "tried": "solved nothing"}
            continue
        parts = ("servers", "machines", "tables", "jobs")
        made = [part for p in parts if isinstance(part := getattr(case.instance, p, None), tuple)]
        text = case.instance.model_dump_json(exclude_defaults=True, exclude={"name"})
        value, optimum = float(case.objective[0]), float(case.optimum[0])
        yield {
            "method": method.name, "tried": case.tried,
            "gap": f"{100 * float(case.gap or 0):.3g} %",
            "value": f"{value:.4g}", "optimum": f"{optimum:.4g}", "items": sum(map(len, made)),
            "instance": f"`{text}`",
        }  # fmt: skip


SECTIONS = {name: partial(found, name) for name in dlsched.list_problems()}
