"""Decisions that pay: paper's policy, round's optimum, ours, a clairvoyant search, a bound.

    python benchmarks/decisions.py [SECTION ...]

Sections: lyra, lyra_loss, lyra_two_kinds, synergy, muri, muri_held_out, muri_submitted,
muri_study, muri_exponents, hadar, hadar_held_out, mast, mast_held_out, sensitivity. Without
arguments everything; prints markdown and writes it to benchmarks/figures/decisions.md. Needs
../shared/data. Every simulation is audited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from claims_only.clairvoyant import clairvoyant
from claims_only.list_order import ListOrder
from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import (
    hadar_cluster,
    hadar_workload,
    lyra_cluster,
    lyra_workload,
    mast_cluster,
    mast_workload,
    synergy_workload,
)
from dlsched.simulation.workload.generators.lyra import with_wrong_estimates
from dlsched.simulation.workload.job import Job

SHARED = ROOT.parent / "shared" / "data"
PROFILES = SHARED / "synergy" / "profiles.json"
RATES = SHARED / "gavel" / "isolated_throughputs.json"
METRICS = ("mean_jct", "median_jct", "p99_jct", "makespan", "mean_decision_seconds")
ITERATIONS = 3000
"""Moves of the clairvoyant search: the most with which every section ends within minutes."""
Make = Callable[[Workload, Cluster], Simulation]
Groups = Mapping[str, Callable[[Job], bool]]
Inputs = Sequence[tuple[Workload, Cluster]]


class Policy(NamedTuple):
    """A row of a table: its name, and what simulates it."""

    name: str
    make: Make

    @classmethod
    def of(cls, name: str, policy: str, **options: Any) -> Policy:
        """Return a policy of the library."""
        return cls(name, lambda w, c: simulate(w, c, policy, **options))

    @classmethod
    def listed(cls, name: str, **options: Any) -> Policy:
        """Return list schedules."""
        return cls(name, lambda w, c: simulate(w, c, ListOrder(**options)))


def searched(preemptive: bool) -> Policy:
    """Return the clairvoyant search."""
    name = "clairvoyant, preemptive" if preemptive else "clairvoyant, without preemption"
    return Policy(
        name, lambda w, c: clairvoyant(w, c, iterations=ITERATIONS, preemptive=preemptive)
    )


BOTH = (searched(False), searched(True))


def table(
    title: str,
    text: str,
    inputs: Inputs,
    policies: Sequence[Policy],
    sharing: bool = False,
    groups: Groups | None = None,
) -> Iterator[str]:
    """Yield one row per policy: means over the inputs, and what is saved of the first row's mean.

    Parameters
    ----------
    inputs
        Workloads with their clusters.
    sharing
        Whether the bound allows for jobs that share GPUs.
    groups
        Groups of jobs, to say which of them lose and gain by the last policy.
    """
    yield f"## {title}\n"
    yield f"{text} Of {len(inputs)} inputs; seconds, means over them. Saved: share of the first"
    yield "row's mean completion time, mean and range; worse: inputs with a longer mean than in the"
    yield "first row; later: share of all jobs that complete later than in the first row, and the"
    yield "mean seconds by which these do. To the bound: how far the mean is above it, of itself.\n"
    yield (
        "| policy | mean | saved, % | worse | median | p99 | makespan | jobs later, % | by "
        "| to the bound, % | ms a decision | CPU s |"
    )
    yield "|" + "---|" * 12
    first: list[Simulation] = []
    bounds = None
    for policy in policies:
        began = time.process_time()
        runs = [policy.make(*pair) for pair in inputs]
        seconds = time.process_time() - began
        for run in runs:
            report = run.audit()
            if not report:
                raise SystemExit(f"the audit of {run} failed: {report.violations[:3]}")
        first = first or runs
        if bounds is None:
            bounds = [float(run.bound("mean_jct", sharing=sharing).value) for run in runs]
        yield row(policy.name, runs, first, bounds, seconds)
    assert bounds is not None
    yield f"| certified bound | {np.mean(bounds):,.0f} |" + " |" * 10 + "\n"
    if groups:
        yield from who_loses(policies[-1].name, runs, first, groups)


def who_loses(
    name: str, runs: Sequence[Simulation], first: Sequence[Simulation], groups: Groups
) -> Iterator[str]:
    """Yield one row per group of jobs: how their completion times differ from the first row's."""
    jobs = [job for run in runs for job in run.workload.jobs]
    pairs = zip(runs, first, strict=True)
    later = np.concatenate([(a.jobs["end"] - b.jobs["end"]).to_numpy() for a, b in pairs])
    yield f"By group of jobs, {name} against the first row; seconds are means over the group.\n"
    yield "| jobs | number | earlier, % | later, % | later by |\n|" + "---|" * 5
    for group, member in groups.items():
        own = later[[member(job) for job in jobs]]
        earlier, behind = (100 * np.mean(sign * own > 1) for sign in (-1, 1))
        yield f"| {group} | {len(own)} | {earlier:.0f} | {behind:.0f} | {own.mean():,.0f} |"
    yield ""


def row(
    name: str,
    runs: Sequence[Simulation],
    first: Sequence[Simulation],
    bounds: Sequence[float],
    seconds: float,
) -> str:
    """Return a line of the table."""
    value = {m: np.array([run.summary[m] for run in runs]) for m in METRICS}
    before = np.array([run.summary["mean_jct"] for run in first])
    saved = 100 * (1 - value["mean_jct"] / before)
    gap = 100 * np.mean(1 - np.array(bounds) / value["mean_jct"])
    pairs = zip(runs, first, strict=True)
    later = np.concatenate([(a.jobs["end"] - b.jobs["end"]).to_numpy() for a, b in pairs])
    lost = later[later > 1]
    cells = ["", "", "", ""]
    if runs is not first:
        cells = [
            f"{saved.mean():+.1f} ({saved.min():+.1f} to {saved.max():+.1f})",
            str(int((saved < 0).sum())),
            f"{100 * len(lost) / len(later):.0f}",
            f"{lost.mean():,.0f}" if len(lost) else "",
        ]
    means = {m: f"{v.mean():,.0f}" for m, v in value.items()}
    decision = 1000 * value["mean_decision_seconds"].mean()
    return (
        f"| {name} | {means['mean_jct']} | {cells[0]} | {cells[1]} | {means['median_jct']} "
        f"| {means['p99_jct']} | {means['makespan']} | {cells[2]} | {cells[3]} | {gap:.1f} "
        f"| {decision:.2f} | {seconds:.0f} |"
    )


def lyra_inputs(
    seeds: Sequence[int],
    loaning: bool = False,
    servers: int = 6,
    days: int = 1,
    loan_gpus: int = 4,
    **options: Any,
) -> Inputs:
    """Return drawn workloads of Lyra's kind, with options of the generator of jobs."""
    fleet: dict[str, Any] = {"days": days, "loaning": loaning, "loan_gpus": loan_gpus}
    return [
        (
            lyra_workload(servers, days=days, load=0.95, seed=seed, **options),
            lyra_cluster(servers, servers * 7 // 6, seed=seed, **fleet),
        )
        for seed in seeds
    ]


RATED = {"elastic": "completion_rates", "retries": 30}
LYRA = (
    Policy.of("lyra (paper)", "lyra"),
    Policy.of("its two phases optimal (`dp`)", "lyra", elastic="dp"),
    Policy.of("`completion_rates`, `retries=30`", "lyra", **RATED),
)


def lyra() -> Iterator[str]:
    """Yield Lyra: `completion_rates` was found on seeds 0 to 4."""
    text = (
        "6 training servers, 1 day, load 0.95. The option was found on seeds 0 to 4 of 28 "
        "servers and 7 days."
    )
    yield from table("Lyra, no loan, held-out seeds 6 to 10", text, lyra_inputs(range(6, 11)),
                     (*LYRA, *BOTH))  # fmt: skip
    text += " Up to 7 servers on loan, which list schedules do not use: no search."
    inputs = lyra_inputs(range(6, 11), loaning=True)
    yield from table("Lyra, with loan, held-out seeds 6 to 10", text, inputs, LYRA)


HOUR = 3600
GROUPS: Groups = {
    "under 1 GPU-hour": lambda job: job.gpus * job.work < HOUR,
    "1 to 10 GPU-hours": lambda job: HOUR <= job.gpus * job.work < 10 * HOUR,
    "10 to 100": lambda job: 10 * HOUR <= job.gpus * job.work < 100 * HOUR,
    "from 100": lambda job: job.gpus * job.work >= 100 * HOUR,
    "elastic": lambda job: job.max_gpus > job.min_gpus,
    "may be on loan": lambda job: job.fungible or job.heterogeneous,
}
LARGER: Mapping[str, Any] = {"servers": 14, "days": 3}
ALL_RATED = (LYRA[0], Policy.of("lyra, `retries=30`", "lyra", retries=30), LYRA[-1])


def lyra_larger(title: str, text: str, loaning: bool, **options: Any) -> Iterator[str]:
    """Yield a table of a larger cluster, on which the jobs' sizes and seeds matter less."""
    inputs = lyra_inputs(range(6, 11), loaning, **LARGER, **options)
    text = f"14 training servers, 3 days, load 0.95. {text}"
    yield from table(f"Lyra, {title}, held-out seeds 6 to 10", text, inputs, ALL_RATED,
                     groups=GROUPS)  # fmt: skip


def lyra_loss() -> Iterator[str]:
    """Yield Lyra where each GPU above the base demand adds 0.8 of one."""
    yield from lyra_larger("linear scaling, no loan", "For comparison.", False)
    text = "Each added GPU brings 0.8 of one (section 7.2)."
    yield from lyra_larger("loss of 20 %, no loan", text, False, scaling_loss=0.2)
    yield from lyra_larger("loss of 20 %, with loan", text, True, scaling_loss=0.2)


def lyra_two_kinds() -> Iterator[str]:
    """Yield Lyra with jobs on two kinds of GPUs, as normalised and with speeds of their own."""
    text = "Scenario Advanced: 10 % of the jobs may be in both pools, with 70 % of the speed."
    yield from lyra_larger("Advanced, with loan", text, True, scenario="advanced")
    more = (
        f"{text} A GPU on loan, two T4 with the memory of a V100, has 2/3 of its speed: three "
        "servers are one of training (section 7.5)."
    )
    yield from lyra_larger("Advanced, loan of 4 GPUs of speed 2/3", more, True,
                           scenario="advanced", loan_speed=0.6667)  # fmt: skip
    more = f"{text} Each added GPU brings 0.8 of one. The loan's servers have 8 GPUs of speed 1/3."
    yield from lyra_larger("Advanced, loss of 20 %, loan of 8 GPUs of speed 1/3", more, True,
                           scenario="advanced", loan_speed=0.3333, loan_gpus=8,
                           scaling_loss=0.2)  # fmt: skip


def synergy_inputs(seeds: Sequence[int], load: float | None) -> Inputs:
    """Return drawn workloads of Synergy's kind, on two servers of 8 GPUs."""
    cluster = Cluster.uniform(2, 8, cpus=24, memory=500)
    options: Mapping[str, Any] = {"split": "60/30/10", "scale": 0.1, "measured": PROFILES}
    return [(synergy_workload(40, load=load, seed=seed, **options), cluster) for seed in seeds]


SYNERGY = (
    Policy.of("TUNE, SRTF (paper)", "synergy", order="srtf"),
    Policy.of("`exact`, SRTF", "synergy", method="exact", order="srtf"),
    Policy.of("`exact`, `tetris`", "synergy", method="exact", order="tetris"),
    Policy.of("`exact`, `prices`", "synergy", method="exact", order="prices"),
)


def synergy() -> Iterator[str]:
    """Yield Synergy: `prices` was found on seeds 44 to 46."""
    for name, load in (("all at 0", None),):
        yield from table(
            f"Synergy, {name}, held-out seeds 47 to 51",
            "40 jobs, 16 GPUs, 60/30/10, measured profiles. `prices` was found on seeds 44 to 46.",
            synergy_inputs(range(47, 52), load),
            (*SYNERGY, *BOTH),
        )


def muri_inputs(
    names: Sequence[str],
    first: int,
    count: int = 60,
    *,
    together: bool = True,
) -> Inputs:
    """Return jobs of the authors' traces from one on, at 0 or not, those that fit 32 GPUs."""
    cluster = Cluster.uniform(4, 8)
    inputs = []
    for name in names:
        whole = Workload.from_trace(SHARED / "muri" / f"{name}.csv", "muri", limit=first + count,
                                    resources=4, together=together)  # fmt: skip
        window = whole.model_copy(update={"jobs": whole.jobs[first:]})
        inputs.append((window.up_to(32)[0], cluster))
    return inputs


SEARCHED_GROUPS = Policy(
    "clairvoyant, GPUs shared, 300 moves", lambda w, c: clairvoyant(w, c, sharing=True)
)
SEEDED = Policy.of('`objective="seeded_speeds"`', "muri_s", objective="seeded_speeds",
                   interval=None)  # fmt: skip


def muri() -> Iterator[str]:
    """Yield Muri on the first jobs of three traces."""
    held_out = ("trace1", "trace2", "trace4")
    inputs = [*muri_inputs(held_out, 0), *muri_inputs(held_out, 60)]
    events: dict[str, Any] = {"interval": None}
    policies = (
        Policy.of("`muri_needed`", "muri_s", method="muri_needed", **events),
        Policy.of('`muri_needed`, `ties="shortest"`', "muri_s", method="muri_needed",
                  ties="shortest", **events),
        Policy.of("`exact`", "muri_s", method="exact", **events),
        Policy.of('`exact`, `ties="shortest"`', "muri_s", method="exact", ties="shortest",
                  **events),
        SEEDED,
        SEARCHED_GROUPS,
    )  # fmt: skip
    text = (
        "32 GPUs, four resources, groups of four. First: pairs merged as needed, as in the "
        "authors' code. `seeded_speeds` was found on the first 200 and 300 jobs of traces 1 to 4, "
        "so not held out here; `ties` has no parameter."
    )
    yield from table("Muri-S, jobs 1 to 60 and 61 to 120 of traces 1, 2 and 4, all at 0", text,
                     inputs, policies, sharing=True)  # fmt: skip


def muri_held_out() -> Iterator[str]:
    """Yield Muri on jobs that no option was chosen on."""
    names = ("trace1", "trace2", "trace3", "trace4")
    inputs = [*muri_inputs(names, 400), *muri_inputs(names, 460)]
    policies = (
        Policy.of("`muri_needed`", "muri_s", method="muri_needed", interval=None),
        Policy.of('`exact`, `ties="shortest"`', "muri_s", method="exact", ties="shortest",
                  interval=None),
        SEEDED,
        SEARCHED_GROUPS,
    )  # fmt: skip
    text = "32 GPUs, four resources, groups of four. Nothing was chosen on these jobs."
    yield from table("Muri-S, jobs 401 to 460 and 461 to 520 of traces 1 to 4, all at 0", text,
                     inputs, policies, sharing=True)  # fmt: skip


def muri_submitted() -> Iterator[str]:
    """Yield Muri-S and Muri-L on jobs that no option was chosen on, as submitted."""
    inputs = muri_inputs(("trace1", "trace2", "trace3", "trace4"), 400, 300, together=False)
    text = "32 GPUs, four resources, groups of four. Nothing was chosen on these jobs."
    for policy, ties in (("muri_s", "shortest"), ("muri_l", "listed")):
        policies = (
            Policy.of("`muri_needed`", policy, method="muri_needed", interval=None),
            Policy.of(f'`exact`, `ties="{ties}"`', policy, method="exact", ties=ties,
                      interval=None),
            Policy.of('`objective="seeded_speeds"`', policy, objective="seeded_speeds",
                      interval=None),
        )  # fmt: skip
        title = f"`{policy}`, jobs 401 to 700 of traces 1 to 4, as submitted"
        yield from table(title, text, inputs, policies, sharing=True)


def muri_study() -> Iterator[str]:
    """Yield the simulation study's workloads of Muri, with the rounds that the study has."""
    whole = Workload.from_trace("synthetic-1", "muri", limit=400)
    cluster = Cluster.uniform(8, 8)
    inputs = [(with_wrong_estimates(whole, share=0.2, seed=seed), cluster) for seed in range(10)]
    policies = (
        Policy.of("`muri` (paper)", "muri_s"),
        Policy.of('`objective="seeded_speeds"`', "muri_s", objective="seeded_speeds"),
    )
    text = "64 GPUs, four resources, a round in six minutes, a fifth of the estimates wrong."
    title = "Muri-S, the first 400 jobs of trace 1, seeds 0 to 9"
    yield from table(title, text, inputs, policies, sharing=True)


def muri_exponents() -> Iterator[str]:
    """Yield the inputs that the exponent of `seeded_speeds` was chosen on."""
    names = ("trace1", "trace2", "trace3", "trace4")
    inputs = [
        *muri_inputs(names, 0, 200),
        *muri_inputs(names, 0, 300, together=False),
    ]
    exact = Policy.of('`exact`, `ties="shortest"`', "muri_s", method="exact", ties="shortest",
                      interval=None)  # fmt: skip
    exponents = [
        Policy.of(f"`seeded_speeds`, `exponent={x}`", "muri_s", objective="seeded_speeds",
                  exponent=x, interval=None)
        for x in (0.0, 0.15, 0.25, 0.35, 0.5, 1.0)
    ]  # fmt: skip
    exponents += [
        Policy.of(f"`seeded_speeds`, `fill={x}`", "muri_s", objective="seeded_speeds", fill=x,
                  interval=None)
        for x in (1, 2, 4)
    ]  # fmt: skip
    text = "32 GPUs, four resources, groups of four. Exponent and fill were chosen on these inputs."
    title = "Muri-S, the first 200 jobs of traces 1 to 4 at 0, and the first 300 as submitted"
    yield from table(title, text, inputs, (exact, *exponents), sharing=True)


def hadar_table(title: str, seeds: Sequence[int], policies: Sequence[Policy]) -> Iterator[str]:
    """Yield a table of Hadar's policies, which all know the jobs present only but the search."""
    inputs = [
        (hadar_workload(20, measured=RATES, scale=0.03, seed=seed), hadar_cluster(6))
        for seed in seeds
    ]
    text = "20 jobs of section IV at 0, hours times 0.03, 24 GPUs of three types."
    yield from table(title, text, inputs, policies)


HADAR = Policy.of("hadar, effective throughput (paper)", "hadar")
INVERSE = Policy.of("hadar, inverse of the completion time", "hadar", utility="inverse_time")


def hadar() -> Iterator[str]:
    """Yield Hadar: utilities, and list schedules."""
    policies = (
        HADAR,
        Policy.of("`exact`, effective throughput", "hadar", method="exact", time_limit=20),
        INVERSE,
        Policy.listed("least GPU time first, keeps running jobs"),
        Policy.listed("least GPU time first, preemptive", preemptive=True),
        *BOTH,
    )
    yield from hadar_table("Hadar, seeds 0 to 4", range(5), policies)


def hadar_held_out() -> Iterator[str]:
    """Yield Hadar on workloads that the utility was not chosen on."""
    title = "Hadar, held-out seeds 20 to 24"
    yield from hadar_table(title, range(20, 25), (HADAR, INVERSE, searched(True)))


def mast_table(title: str, seeds: Sequence[int], policies: Sequence[Policy]) -> Iterator[str]:
    """Yield a table of MAST's policies."""
    clusters = [(seed, mast_cluster(2, 2, 8, types=1, seed=seed)) for seed in seeds]
    inputs = [(mast_workload(c, 8, load=1.3, scale=0.5, seed=seed), c) for seed, c in clusters]
    text = (
        "Two regions of two clusters of 8 machines, load 1.3. Quotas and priorities bind mast "
        "only; list schedules keep regions and clusters."
    )
    yield from table(title, text, inputs, policies)


MAST = (
    Policy.of("mast (paper)", "mast"),
    Policy.of("optimum of every pass (`exact`)", "mast", method="exact", time_limit=5),
)
RANKED = Policy.listed(
    "priority, then least GPU time, preemptive", order="priority", preemptive=True
)


def mast() -> Iterator[str]:
    """Yield MAST: its passes, and list schedules by priority and GPU time."""
    policies = (
        *MAST,
        Policy.listed("the next, without preemption", order="priority"),
        RANKED,
        Policy.listed("least GPU time, no priorities", preemptive=True),
        *BOTH,
    )
    yield from mast_table("MAST, seeds 0 to 4", range(5), policies)


def mast_held_out() -> Iterator[str]:
    """Yield MAST on workloads that the order was not chosen on."""
    title = "MAST, held-out seeds 20 to 24"
    yield from mast_table(title, range(20, 25), (*MAST, RANKED, searched(True)))


def sensitivity() -> Iterator[str]:
    """Yield how much Lyra's option depends on the number of retries."""
    policies = [
        LYRA[0],
        *(
            Policy.of(f"`{elastic}`, `retries={n}`", "lyra", elastic=elastic, retries=n)
            for elastic in ("lyra", "completion_rates")
            for n in (0, 1, 3, 10, 30, 100)
            if n or elastic != "lyra"
        ),
    ]
    text = "6 training servers, 1 day, load 0.95, no loan."
    yield from table("Lyra, retries, seeds 6 to 10", text, lyra_inputs(range(6, 11)), policies)


SECTIONS = {
    "lyra": lyra,
    "lyra_loss": lyra_loss,
    "lyra_two_kinds": lyra_two_kinds,
    "synergy": synergy,
    "muri": muri,
    "muri_held_out": muri_held_out,
    "muri_submitted": muri_submitted,
    "muri_study": muri_study,
    "muri_exponents": muri_exponents,
    "hadar": hadar,
    "hadar_held_out": hadar_held_out,
    "mast": mast,
    "mast_held_out": mast_held_out,
    "sensitivity": sensitivity,
}

if __name__ == "__main__":
    write("decisions", SECTIONS, arguments())
