"""Lyra's evaluation as a simulation: Tables 5 and 6, Figure 10, and what an optimum saves.

    python benchmarks/lyra_simulation.py [--training 28 --inference 33 --days 7 --seeds 0 1]
    python benchmarks/lyra_simulation.py --parts table5 table6:0 others:0 optimum:1 figure10:0

Prints markdown and writes it to benchmarks/figures/lyra_simulation.md. With ``--keep FILE`` the
results are stored there as they come, and those that are there already are not run again. The
defaults are a sixteenth of the paper's cluster and half of its days. A part may name its seeds.
Every simulation is audited.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import machine

import dlsched
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.generators import lyra_cluster, lyra_workload

FIGURES = Path(__file__).resolve().parent / "figures" / "lyra_simulation.md"
RECLAIMING = ("random", "scf", "lyra", "densest", "exact")
DAY = 86_400
RECLAIM_STEP = 3600
"""Seconds between changes of the loan in Figure 10, so that several servers are reclaimed at once,
as in the paper's larger cluster."""
OVERLOADED = (56, 65, 2, 3.0)
"""Cluster, days and load of Figure 10, so that the servers on loan are in use, as in Figure 9."""


class Case(NamedTuple):
    """One row: what is simulated, and the paper's mean queueing, mean completion, preempted %."""

    label: str
    paper: tuple[float | None, float | None, float | None]
    policy: str = "lyra"
    loaning: bool = True
    workload: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    options: dict[str, Any] = {}  # noqa: RUF012


INELASTIC = {"elastic": False}
NAIVE = {"workers": "naive_bfd"}
TABLE_5 = (
    Case("Baseline (fifo)", (3072, 16610, 0), "fifo", False),
    Case("Basic", (2010, 11236, 12.24)),
    Case("Advanced", (1835, 10434, 7.35), workload={"scenario": "advanced"}),
    Case("Heterogeneous", (1944, 12113, 11.23), workload={"scenario": "heterogeneous"}),
    Case("Ideal", (1157, 8891, 5.72), workload={"scenario": "ideal"}),
    Case("Loan only: opportunistic", (2788, 14828, 19.35), "opportunistic", True, INELASTIC),
    Case("Loan only: random", (2901, 14678, 20.89), "lyra", True, INELASTIC, {"method": "random"}),
    Case("Loan only: scf", (2783, 14923, 17.48), "lyra", True, INELASTIC, {"method": "scf"}),
    Case("Loan only: lyra", (2212, 12947, 14.94), "lyra", True, INELASTIC),
    Case("Elastic only: gandiva", (3035, 15912, None), "gandiva", False),
    Case("Elastic only: afs", (2284, 15045, None), "afs", False),
    Case("Elastic only: pollux", (2791, 14534, None), "pollux", False),
    Case("Elastic only: lyra", (2275, 12048, None), "lyra", False),
)
TABLE_6 = (
    Case("Basic, naive placement", (2231, 13872, 13.22), options=NAIVE),
    Case("Advanced, naive", (1944, 12474, 10.04), "lyra", True, {"scenario": "advanced"}, NAIVE),
    Case("Ideal, naive", (1273, 9982, 10.93), "lyra", True, {"scenario": "ideal"}, NAIVE),
)
OTHERS = (
    Case("Basic, loss of 20 %", (2071, 11890, None), workload={"scaling_loss": 0.2}),
    Case("Ideal, loss of 20 %", (None, 9828, None),
         workload={"scenario": "ideal", "scaling_loss": 0.2}),
    Case("Elastic only, 60 % wrong estimates", (None, None, None), "lyra", False, {"wrong": 0.6}),
    Case("Loan only, 80 % with checkpoints", (None, None, 0.26),
         workload={**INELASTIC, "checkpoints": 0.8}),
)  # fmt: skip
OPTIMUM = (
    Case("Loan only: exact reclaiming", (None, None, None), "lyra", True, INELASTIC,
         {"method": "exact"}),
    Case("Loan only: densest", (None, None, None), "lyra", True, INELASTIC, {"method": "densest"}),
    Case("Elastic only: exact elastic", (None, None, None), "lyra", False, {},
         {"elastic": "exact"}),
    Case("Basic: exact elastic", (None, None, None), options={"elastic": "exact"}),
    Case("Basic: exact reclaiming and elastic", (None, None, None),
         options={"method": "exact", "elastic": "exact"}),
)  # fmt: skip
TABLES = {"table5": TABLE_5, "table6": TABLE_6, "others": OTHERS, "optimum": OPTIMUM}


class Size(NamedTuple):
    """The cluster, the days, and the load of the workload."""

    training: int
    inference: int
    days: float
    load: float


def made(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return workload and cluster of a case."""
    workload = lyra_workload(
        size.training, days=size.days, load=size.load, seed=seed, **case.workload
    )
    if case.policy == "fifo":
        # The policy has no overheads of its own, and a job that is never preempted has none.
        plain = tuple(job.model_copy(update={"restart": 0}) for job in workload.jobs)
        workload = workload.model_copy(update={"jobs": plain})
    cluster = lyra_cluster(
        size.training, size.inference, days=size.days, loaning=case.loaning, seed=seed
    )
    return workload, cluster


def run_case(case: Case, size: Size, seed: int) -> dict[str, Any]:
    """Simulate a case; return its figures."""
    workload, cluster = made(case, size, seed)
    began = time.process_time()
    run = simulate(workload, cluster, case.policy, seed=seed, **case.options)
    seconds = time.process_time() - began
    if not run.audit():
        raise SystemExit(f"{case.label}: {run.audit().violations[0].message}")
    summary = run.summary
    names = ("mean_queueing", "median_queueing", "p95_queueing", "mean_jct", "median_jct",
             "p95_jct", "mean_decision_seconds")  # fmt: skip
    figures = {name: summary[name] for name in names}
    figures["preempted"] = 100 * summary["preemptions"] / summary["jobs"]
    figures["usage"] = usage(run, size)
    return figures | reclaims(run) | {"cpu": seconds, "jobs": summary["jobs"]}


def usage(run: Simulation, size: Size) -> float:
    """Return the share of the training servers' GPU time in the days of the trace that is held."""
    end, held = size.days * DAY * 1e6, 0.0
    for row in run.log.rows("segments"):
        start, stop, shares = row[1], min(row[2], end), json.loads(row[4])
        held += max(0, stop - start) * sum(s[1] for s in shares if s[0].startswith("t"))
    return held / (8 * size.training * end)


def reclaims(run: Simulation) -> dict[str, float]:
    """Return the figures of the decisions in which servers were reclaimed, and of scaling."""
    solved = [json.loads(row[-1]) for row in run.log.rows("decisions")]
    found = [row["reclaiming"] for row in solved if row.get("reclaiming")]
    found = [row for row in found if row["on_loan"]]
    busy = sum(row["demand"] - row.get("empty", 0) for row in found)
    return {
        "reclaims": len(found),
        "per_reclaim": 100 * _mean(row["preempted"] / row["on_loan"] for row in found),
        "collateral": 100 * _mean(row["collateral"] / row["gpus"] for row in found),
        "flexible": 100 * sum(row.get("flexible", 0) for row in found) / busy if busy else 0.0,
        "scaled": sum(row.get("scaled", 0) for row in solved),
    }


def _mean(values: Any) -> float:
    known = list(values)
    return statistics.mean(known) if known else 0.0


def table(cases: Sequence[Case], size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield a table of cases: our figures, means over the seeds, beside the paper's."""
    yield (
        "| scheme | queueing, s: mean | median | p95 | completion, s: mean | median | p95 | usage "
        "| preempted, % | servers of flexible workers, % | scaled | CPU s "
        "| paper: queueing | completion | preempted, % |"
    )
    yield "|" + "---|" * 15
    for case in cases:
        if any(keep.missing(f"{case.label}/{seed}") for seed in seeds):
            continue
        rows = [keep(f"{case.label}/{seed}", lambda c=case, s=seed: run_case(c, size, s))
                for seed in seeds]  # fmt: skip

        def mean(name: str, rows: list[dict[str, Any]] = rows) -> float:
            return statistics.mean(row[name] for row in rows)

        paper = ["-" if value is None else f"{value:,g}" for value in case.paper]
        yield (
            f"| {case.label} | {mean('mean_queueing'):,.0f} | {mean('median_queueing'):,.0f} "
            f"| {mean('p95_queueing'):,.0f} | {mean('mean_jct'):,.0f} | {mean('median_jct'):,.0f} "
            f"| {mean('p95_jct'):,.0f} | {mean('usage'):.2f} | {mean('preempted'):.2f} "
            f"| {mean('flexible'):.0f} | {mean('scaled'):,.0f} | {mean('cpu'):.0f} "
            f"| {' | '.join(paper)} |"
        )


def same_states(size: Size, seed: int) -> dict[str, Any]:
    """Return what each method of reclaiming does in the states that `lyra` leads to.

    Loan only, without elastic jobs, as Figure 10's first half.
    """
    found: list[dict[str, Any]] = []

    def compare(instance: Any, rng: np.random.Generator) -> Any:
        results = {m: dlsched.solve(instance, m, seed=seed) for m in RECLAIMING}
        gpus = sum(s.gpus for s in instance.servers[: instance.demand])
        found.append(
            {"demand": instance.demand, "jobs": len(instance.jobs), "gpus": gpus}
            | {m: [float(v) for v in r.objective] for m, r in results.items()}
        )
        return results["lyra"].solution

    workload = lyra_workload(
        size.training, days=size.days, load=size.load, elastic=False, most_days=0.5, seed=seed
    )
    cluster = lyra_cluster(
        size.training, size.inference, days=size.days, step=RECLAIM_STEP, seed=seed
    )
    simulate(workload, cluster, "lyra", method=compare, seed=seed)
    return {"found": found}


def figure_10(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield preempted jobs and collateral damage by method, in the same states."""
    found = [
        row
        for seed in seeds
        for row in keep(f"states/{size}/{seed}", lambda s=seed: same_states(size, s))["found"]
    ]
    several = [row for row in found if row["demand"] > 1]
    most = max((row["demand"] for row in found), default=0)
    yield (
        f"{size.training} training and {size.inference} inference servers, {size.days:g} days, a "
        f"load of {size.load:g}, no elastic jobs, a loan that changes every hour. "
        f"{len(found)} reclaims in which jobs had to be preempted, of up to {most} servers after "
        f"empty ones; {len(several)} of more than one server. Preempted jobs of those that run on "
        "these servers, and GPUs vacated on servers that stay by GPUs returned: means over the "
        "reclaims."
    )
    yield ""
    yield (
        "| method | preempted, % | by lyra's | collateral, % | by lyra's | of more than one: "
        "preempted, % | collateral, % | optimum found | paper: preempted by lyra's | collateral |"
    )
    yield "|" + "---|" * 10
    paper = {"random": ("1.68", "1.59"), "scf": ("1.51", "1.36"), "lyra": ("1", "1")}
    base = [_shares(found, "lyra", level) for level in (0, 1)]
    for name in RECLAIMING:
        share = [_shares(found, name, level) for level in (0, 1)]
        more = [_shares(several, name, level) for level in (0, 1)]
        ratio = [s / b if b else 0.0 for s, b in zip(share, base, strict=True)]
        best = sum(row[name][0] == row["exact"][0] for row in found)
        yield (
            f"| {name} | {share[0]:.2f} | {ratio[0]:.2f} | {share[1]:.1f} | {ratio[1]:.2f} "
            f"| {more[0]:.2f} | {more[1]:.1f} | {best} of {len(found)} "
            f"| {' | '.join(paper.get(name, ('-', '-')))} |"
        )


def _shares(found: Sequence[dict[str, Any]], name: str, level: int) -> float:
    whole = "gpus" if level else "jobs"
    return 100 * _mean(row[name][level] / row[whole] for row in found)


class Keep:
    """Runs what is not yet in a file, and stores it there.

    Parameters
    ----------
    path
        The file; None for none.
    only
        Whether nothing is run: rows of tables that are not in the file are left out.
    """

    def __init__(self, path: Path | None, only: bool = False) -> None:
        self.path, self.only = path, only
        self.known: dict[str, Any] = {}
        if path is not None and path.exists():
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def missing(self, key: str) -> bool:
        """Return whether a result is to be left out."""
        return self.only and key not in self.known

    def __call__(self, key: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a result, from the file or of a run."""
        if key not in self.known:
            self.known[key] = run()
            if self.path is not None:
                self.path.write_text(json.dumps(self.known), encoding="utf-8")
        found: dict[str, Any] = self.known[key]
        return found


def main() -> None:
    """Run the parts named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--training", type=int, default=28)
    parser.add_argument("--inference", type=int, default=33)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--load", type=float, default=0.82)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only-kept", action="store_true", help="run nothing; leave rows out")
    parser.add_argument("--parts", nargs="+", default=[*TABLES, "figure10"])
    parser.add_argument("--quiet", action="store_true", help="run, and write nothing")
    options = parser.parse_args()
    size = Size(options.training, options.inference, options.days, options.load)
    keep = Keep(options.keep, options.only_kept)
    lines = []
    for entry in options.parts:
        part, _, named = entry.partition(":")
        seeds = [int(seed) for seed in named.split(",")] if named else options.seeds
        title = {"table5": "Table 5", "table6": "Table 6: placement without groups",
                 "others": "Loss, wrong estimates, checkpoints",
                 "optimum": "What an optimum saves",
                 "figure10": "Figure 10: reclaiming in the same states"}[part]  # fmt: skip
        said = ", ".join(map(str, seeds))
        lines += [f"## {title} (seeds {said})", ""]
        if part == "figure10":
            lines += figure_10(Size(*OVERLOADED), seeds, keep)
        else:
            lines += table(TABLES[part], size, seeds, keep)
        lines.append("")
    head = [
        "# Lyra's simulation",
        "",
        f"`python benchmarks/lyra_simulation.py --parts {' '.join(options.parts)}` on {machine()}",
        "",
        f"{size.training} training and {size.inference} inference servers, {size.days:g} days, a "
        f"load of {size.load:g}, drawn by `lyra_workload`; the paper's trace, 15 days on 443 and "
        "520 servers, is not public. So directions count, not numbers. Means over the seeds. CPU "
        "seconds were taken on a machine with other work."
        + (" Rows that were not run are left out." if options.only_kept else ""),
        "",
    ]
    text = "\n".join([*head, *lines])
    print(text)
    if not options.quiet:
        FIGURES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
