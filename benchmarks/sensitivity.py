"""Sensitivity: proven optima, readings of TUNE, and Synergy-OPT as the paper states it.

Times are processor seconds of one process on one thread, unless a section says otherwise. The
measured profiles are those of ../shared/data/synergy.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from claims_only.synergy_opt_plain import synergy_opt_plain
from code_version import ROOT
from runs import Row, rows_of

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.heuristics.tuning import tune
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles
from dlsched.problems.sensitivity.programs.cvxpy_reference import stage_one, stage_two

PROFILES = ROOT.parent / "shared" / "data" / "synergy" / "profiles.json"
SEEDS = (1, 2, 3, 4, 5)
GLPK_LIMIT = 20
"""Seconds of wall time after which GLPK is ended, as its search is exponential."""


def cluster(servers: int, split: str, multi: bool, seed: int = 1, **more: bool) -> Instance:
    """Return an instance with jobs of measured models."""
    mix = tuple(map(int, split.split("/")))
    return from_profiles(PROFILES, servers=servers, split=mix, seed=seed, multi=multi, **more)


def _named(servers: int, split: str, multi: bool) -> Row:
    sizes = "1 to 4" if multi else "1"
    return {"servers": servers, "image/language/speech": split, "GPUs a job": sizes}


def measured(sizes: Sequence[int], splits: Sequence[str]) -> Iterator[Row]:
    """Yield optima, and the gaps of heuristics and of the pooled bound, in per cent."""
    for servers, split, multi in itertools.product(sizes, splits, (False, True)):
        for allow in (True, False) if multi else (True,):
            made = cluster(servers, split, multi, allow_split=allow)
            row = _named(servers, split, multi) | {"jobs may split": "yes" if allow else "no"}
            row["jobs"] = len(made.jobs)
            methods = [{"method": "patterns", "time_limit": 120.0}]
            methods += [{"method": m} for m in ("tune", "tune_public", "proportional", "pooled")]
            best, *others = rows_of(made, methods, row)
            row |= {"status": best["status"], "s": best["s"], "split": best["split"]}
            row |= {other["method"]: other["gap"] for other in others[:-1]}
            yield row | {"optimum to pooled": 100 * (1 - best["throughput"] / others[-1]["bound"])}


def readings(splits: Sequence[str]) -> Iterator[Row]:
    """Yield TUNE's gaps by interpretation of section 4.2, on 128 GPUs."""
    for multi, split, seed in itertools.product((False, True), splits, SEEDS):
        made = cluster(16, split, multi, seed=seed)
        row = _named(16, split, multi) | {"profiles": "measured", "seed": seed}
        methods = [
            {"method": "exact", "time_limit": 60.0},
            {"method": "tune", "label": "descending demand, best, just enough"},
            {"method": "tune_public", "label": "given, first, cpu per gpu"},
        ]
        yield from list(rows_of(made, methods, row))[1:]


def idle(splits: Sequence[str]) -> Iterator[Row]:
    """Yield idle GPUs where jobs may wait, on 128 GPUs, in per cent."""
    for split, multi, seed in itertools.product(splits, (False, True), SEEDS):
        made = cluster(16, split, multi, may_wait=True, seed=seed)
        bound = dlsched.solve(made, time_limit=60).bound
        for name in ("greedy", "drf", "tetris", "tune", "tune_public"):
            found = dlsched.solve(made, name)
            row = _named(16, split, multi) | {"seed": seed, "method": name}
            row["idle"] = 100 * found.details["idle_gpus"] / 128
            yield row | {"gap": 100 * float(found.gap_to(bound)[0])}


def stage(split: str) -> Iterator[Row]:
    """Yield the paper's stage one without aggregation, by solver."""
    stage_one(cluster(4, split, False))  # imports cvxpy
    for servers, multi in itertools.product((16, 64), (False, True)):
        made, row = cluster(servers, split, multi), _named(servers, split, multi)
        yield row | _stage(made) | {"3 x servers": 3 * servers}


def _stage(made: Instance) -> Row:
    """Return the processor seconds of stage one by each solver, which must agree."""
    row: Row = {}
    found = {}
    for name, solver in (("HiGHS", "highs"), ("SCIP", "scip"), ("GLPK", "glpk")):
        more = {"tm_lim": 10_000 * GLPK_LIMIT} if solver == "glpk" else {}
        row[name], found[name] = _cpu(partial(stage_one, made, solver, **more))
        first = found["HiGHS"]
        assert abs(found[name].throughput - first.throughput) <= 1e-6 * first.throughput
    row["patterns"], _ = _cpu(partial(dlsched.solve, made, "patterns"))
    row["fragments"] = stage_two(made, first).fragmented
    return row | {"variables": first.variables}


def synergy_opt(splits: Sequence[str]) -> Iterator[Row]:
    """Yield the processor time of TUNE and of Synergy-OPT, at the size of section 5.6."""
    stage_one(cluster(4, splits[0], False))  # imports cvxpy
    for split, multi, seed in itertools.product(splits, (False, True), SEEDS):
        made = cluster(16, split, multi, seed=seed)
        own = min(_cpu(partial(tune, made))[0] for _ in range(3))
        row: Row = {"split": split, "GPUs a job": "1 to 4" if multi else "1", "seed": seed}
        row |= {"tune": own, "ended early": 0}
        for name, work in _works(made).items():
            spent, ended = _cpu(work)
            row |= {name: spent, f"{name}, over": spent / own}
            row["ended early"] += not ended
        yield row


def _works(made: Instance) -> dict[str, Callable[[], Any]]:
    """Return Synergy-OPT in four ways and the exact method; each says whether it ended."""

    def two(solver: str, **options: Any) -> bool:
        first = stage_one(made, solver, **options)
        stage_two(made, first)
        return first.optimal

    return {
        "HiGHS": partial(two, "highs"),
        "SCIP": partial(two, "scip"),
        "GLPK": partial(two, "glpk", tm_lim=1000 * GLPK_LIMIT),
        "as the public code": lambda: not math.isnan(synergy_opt_plain(made, GLPK_LIMIT)),
        "exact": lambda: dlsched.solve(made, time_limit=120).status == "optimal",
    }


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returns."""
    began = time.process_time()
    answer = work()
    return time.process_time() - began, answer
