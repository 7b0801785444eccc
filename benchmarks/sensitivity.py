"""Sensitivity on clusters of up to 4,096 GPUs: proven optima, gaps of heuristics, Synergy-OPT.

    python benchmarks/sensitivity.py [measured readings idle stage_one synergy_opt distinct mixes
                                      own]

Without arguments every section; prints markdown and writes it to benchmarks/figures/sensitivity.md.
Times are processor seconds of one process on one thread, unless a section says otherwise. The
measured profiles are read from ../shared/data/synergy; if there are none, the generator's are used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from figures import ROOT, cell, rule_gap

import dlsched
from dlsched.errors import SolverMissing
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.heuristics.tuning import tune
from dlsched.problems.sensitivity.instances.from_profiles import from_profiles
from dlsched.problems.sensitivity.programs.cvxpy_reference import stage_one, stage_two

PROFILES = ROOT.parent / "shared" / "data" / "synergy" / "profiles.json"
SPLITS = ((20, 70, 10), (30, 60, 10))
SIZES = (4, 16, 64, 128, 512)
HEURISTICS = ("tune", "tune_public", "proportional")
MIXES = ((20, 70, 10), (30, 60, 10), (60, 30, 10), (33, 33, 33), (50, 0, 50))
"""Sections 5.2 to 5.7 of the paper; thirds and halves in Figures 11 and 13."""
SEEDS = (1, 2, 3, 4, 5)
READINGS = {
    "descending demand, best, just enough": "tune",
    "given, first, cpu per gpu": "tune_public",
}


def cluster(
    servers: int,
    split: tuple[int, int, int],
    multi: bool,
    *,
    allow_split: bool = True,
    may_wait: bool = False,
    seed: int = 1,
    generated: bool = False,
) -> Instance:
    """Return an instance with jobs of measured models, or of the generator's if there are none."""
    more = {"multi": multi, "allow_split": allow_split, "may_wait": may_wait}
    if PROFILES.exists() and not generated:
        return from_profiles(PROFILES, servers=servers, split=split, seed=seed, **more)
    mix = "/".join(map(str, split))
    return dlsched.generate("sensitivity", seed, servers=servers, split=mix, **more)


def measured() -> Iterator[str]:
    """Yield the table of optima and gaps."""
    source = "measured" if PROFILES.exists() else "generated"
    head = "| servers | image/language/speech | GPUs a job | jobs may split | jobs | status | s "
    yield head + "| split | " + " | ".join(HEURISTICS) + " | optimum to pooled |"
    yield "|" + "---|" * (9 + len(HEURISTICS))
    worst = 0.0
    for servers in SIZES:
        for split in SPLITS:
            for multi in (False, True):
                for allow_split in (True, False) if multi else (True,):
                    inst = cluster(servers, split, multi, allow_split=allow_split)
                    began = time.process_time()
                    best = dlsched.solve(inst, "patterns", time_limit=120)
                    spent = time.process_time() - began
                    worst = max(worst, spent)
                    gaps = [rule_gap(inst, name, best) for name in HEURISTICS]
                    bound = dlsched.solve(inst, "pooled").bound
                    mix = "/".join(map(str, split))
                    yield (
                        f"| {servers} | {mix} | {'1 to 4' if multi else '1'} "
                        f"| {'yes' if allow_split else 'no'} | {len(inst.jobs)} "
                        f"| {best.status!s} | {spent:.2f} | {best.objective[1]} | "
                        + " | ".join(gaps)
                        + f" | {cell(best.gap_to(bound)[0])} |"
                    )


def readings() -> Iterator[str]:
    """Yield the table of TUNE's gaps by interpretation of section 4.2, on 128 GPUs."""
    names = " | ".join("/".join(map(str, mix)) for mix in MIXES)
    yield f"| profiles | GPUs a job | order, fit, peers | {names} | mean |"
    yield "|" + "---|" * (4 + len(MIXES))
    for generated in (False, True):
        if not generated and not PROFILES.exists():
            continue
        for multi in (False, True):
            cases = {
                (mix, seed): cluster(16, mix, multi, seed=seed, generated=generated)
                for mix in MIXES
                for seed in SEEDS
            }
            best = {key: dlsched.solve(inst, time_limit=60) for key, inst in cases.items()}
            sizes = ("1 to 8" if generated else "1 to 4") if multi else "1"
            label = f"{'generated' if generated else 'measured'} | {sizes}"
            for reading, method in READINGS.items():
                cells, all_gaps = [], []
                for mix in MIXES:
                    found = [dlsched.solve(cases[mix, seed], method) for seed in SEEDS]
                    bounds = [best[mix, seed].bound for seed in SEEDS]
                    gaps = [f.gap_to(b)[0] for f, b in zip(found, bounds, strict=True)]
                    all_gaps += gaps
                    mean = sum(gaps) / len(gaps)
                    cells.append(f"{cell(mean)} ({cell(min(gaps))} to {cell(max(gaps))})")
                cells.append(cell(sum(all_gaps) / len(all_gaps)))
                yield f"| {label} | {reading} | {' | '.join(cells)} |"


def idle() -> Iterator[str]:
    """Yield the table of idle GPUs with static demands, on 128 GPUs."""
    heuristics = ("greedy", "drf", "tetris", "tune", "tune_public")
    yield "| image/language/speech | GPUs a job | " + " | ".join(heuristics) + " |"
    yield "|" + "---|" * (2 + len(heuristics))
    for mix in MIXES:
        for multi in (False, True):
            cases = [cluster(16, mix, multi, may_wait=True, seed=seed) for seed in SEEDS]
            bounds = [dlsched.solve(inst, time_limit=60).bound for inst in cases]
            cells = []
            for name in heuristics:
                found = [dlsched.solve(inst, name) for inst in cases]
                shares = [result.details["idle_gpus"] / 128 for result in found]
                gaps = [r.gap_to(b)[0] for r, b in zip(found, bounds, strict=True)]
                mean = cell(sum(gaps) / len(gaps))
                cells.append(f"{cell(min(shares))} to {cell(max(shares))} ({mean})")
            yield (
                f"| {'/'.join(map(str, mix))} | {'1 to 4' if multi else '1'} | "
                + " | ".join(cells)
                + " |"
            )


def stage() -> Iterator[str]:
    """Yield the table of the paper's stage one without aggregation, by solver."""
    yield (
        "| servers | GPUs a job | variables | HiGHS | SCIP | GLPK | patterns "
        "| stage one / patterns | fragments | 3 x servers |"
    )
    yield "|" + "---|" * 10
    stage_one(cluster(4, SPLITS[0], False))  # imports cvxpy
    for servers in (16, 64):
        for multi in (False, True):
            inst = cluster(servers, SPLITS[0], multi)
            cells, first, seconds = [], None, 0.0
            for solver in ("highs", "scip", "glpk"):
                began = time.process_time()
                try:
                    more = {"tm_lim": 10_000 * GLPK_LIMIT} if solver == "glpk" else {}
                    found = stage_one(inst, solver, **more)
                except SolverMissing:
                    cells.append("not installed")
                    continue
                cells.append(f"{time.process_time() - began:.2f}")
                if first is None:
                    first, seconds = found, float(cells[-1])
                elif abs(found.throughput - first.throughput) > 1e-6 * first.throughput:
                    cells[-1] += " (DIFFERS)"
            assert first is not None
            began = time.process_time()
            dlsched.solve(inst, "patterns")
            whole = time.process_time() - began
            fragmented = stage_two(inst, first).fragmented
            yield (
                f"| {servers} | {'1 to 4' if multi else '1'} | {first.variables} | "
                + " | ".join(cells)
                + f" | {whole:.2f} | {seconds / whole:.2f} | {fragmented} | {3 * servers} |"
            )


def synergy_opt() -> Iterator[str]:
    """Yield the processor time of Synergy-OPT over that of TUNE at the size of section 5.6."""
    columns = ("HiGHS", "SCIP", "GLPK", "as the public code", "exact")
    yield f"| split | GPUs a job | tune | {' | '.join(columns)} |"
    yield "|" + "---|" * (3 + len(columns))
    stage_one(cluster(4, SPLITS[0], False))  # imports cvxpy
    ratios = []
    for mix in MIXES[:3]:
        for multi in (False, True):
            found = [_times(cluster(16, mix, multi, seed=seed)) for seed in SEEDS]
            seconds = np.array([times for times, _ in found])
            ended = np.array([ended for _, ended in found])
            name = f"{'/'.join(map(str, mix))} | {'1 to 4' if multi else '1'}"
            middle = len(SEEDS) // 2
            medians = " | ".join(_statistics(seconds[:, c], ended[:, c], ".4f")[middle]
                                 for c in range(seconds.shape[1]))  # fmt: skip
            yield f"| {name} | {medians} |"
            over = [
                _statistics(seconds[:, c] / seconds[:, 0], ended[:, c], ".0f")
                for c in range(1, seconds.shape[1])
            ]
            for how, place in (("median", middle), ("least", 0), ("most", -1)):
                cells = " | ".join(column[place] for column in over)
                ratios.append(f"| {name} | {how} | {cells} |")
    yield f"| split | GPUs a job | of 5 seeds | {' | '.join(columns)} |"
    yield "|" + "---|" * (3 + len(columns))
    yield from ratios


GLPK_LIMIT = 20
"""Seconds of wall time after which GLPK is ended, as its search is exponential."""


def _times(instance: Instance) -> tuple[list[float], list[bool]]:
    """Return the CPU seconds of TUNE, of Synergy-OPT in four ways and of exact; which ended."""
    from synergy_opt_plain import synergy_opt_plain

    def two(solver: str, **options: Any) -> bool:
        first = stage_one(instance, solver, **options)
        stage_two(instance, first)
        return first.optimal

    works: list[Callable[[], Any]] = [
        lambda: two("highs"),
        lambda: two("scip"),
        lambda: two("glpk", tm_lim=1000 * GLPK_LIMIT),
        lambda: not math.isnan(synergy_opt_plain(instance, GLPK_LIMIT)),
        lambda: dlsched.solve(instance, time_limit=120).status == "optimal",
    ]
    seconds, ended = [min(_cpu(lambda: tune(instance))[0] for _ in range(3))], [True]
    for work in works:
        spent, proved = _cpu(work)
        seconds.append(spent)
        ended.append(bool(proved))
    return seconds, ended


def _statistics(values: Any, ended: Any, form: str) -> list[str]:
    """Return the values in ascending order as cells; > where one is of a search cut short."""
    return [f"{'' if ended[i] else '> '}{values[i]:{form}}" for i in np.argsort(values)]


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returns."""
    began = time.process_time()
    answer = work()
    return time.process_time() - began, answer


SECTIONS = {
    "measured": measured,
    "readings": readings,
    "idle": idle,
    "stage_one": stage,
    "synergy_opt": synergy_opt,
}
