"""Hadar and HadarE on five nodes with one GPU each: the batches of section VI, Theorem 3."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from claims_only.forked import Forked
from hadar_simulation import SLOT, rounds_of, run
from runs import Row

from dlsched.simulation import Cluster, Policy, Workload, make_policy
from dlsched.simulation.run import Simulation

Speeds = Mapping[str, tuple[float, ...]]
CLUSTERS: dict[str, tuple[tuple[tuple[str, int], ...], Speeds]] = {
    "AWS": (
        (("V100", 1), ("K80", 2), ("T4", 2)),
        {
            "IC": (8.0, 2.0, 4.0), "LM": (6.0, 2.0, 3.5), "LT": (5.0, 1.5, 3.0),
            "RS": (4.0, 2.0, 2.5), "MM": (5.0, 1.0, 2.5),
        },
    ),
    "testbed": (
        (("Titan RTX", 1), ("T4", 1), ("T400", 1), ("RTX 3090", 1), ("A2000", 1)),
        {
            "IC": (7.0, 4.0, 1.0, 8.0, 3.5), "LM": (5.5, 3.5, 1.0, 6.0, 3.0),
            "LT": (4.5, 3.0, 0.7, 5.0, 2.5), "RS": (3.5, 2.5, 1.0, 4.0, 2.0),
            "MM": (4.0, 2.5, 0.5, 5.0, 2.0),
        },
    ),
}  # fmt: skip
"""Nodes of both clusters of section VI-A, with one GPU each; made up: iterations a second on each
of their types, by model."""
SECONDS = {"IC": 900, "LM": 2400, "LT": 2400, "RS": 4800, "MM": 1200}
"""Made up: seconds of each model on the fastest type."""
MIXES = {
    "M-1": "MM", "M-3": "LT MM MM", "M-4": "IC LM LT MM", "M-5": "IC LM LT RS MM",
    "M-8": "IC LM LT RS" + 4 * " MM", "M-10": "IC LM LT RS" + 6 * " MM",
    "M-12": "IC LM LT RS" + 8 * " MM",
}  # fmt: skip
"""Models of the batches of section VI-B."""
SEEDS = range(5)
"""Of made-up rates and times: 0 has those above, others have each times 0.7 to 1.3."""
INVERSE: Row = {"utility": "inverse_time"}
POLICIES: tuple[tuple[str, str, Row, str], ...] = (
    ("gavel", "gavel", {}, "hadar"),
    ("hadar", "hadar", {}, "hadar"),
    ("hadar i", "hadar", INVERSE, "hadar i"),
    ("forked", "forked", {}, "hadar"),
    ("copies, whole", "hadare", {}, "hadar"),
    ("copies, whole i", "hadare", INVERSE, "hadar i"),
    ("copies, divided", "hadare", {"divided": True}, "hadar"),
    ("copies, divided i", "hadare", INVERSE | {"divided": True}, "hadar i"),
)
"""Name in the tables, policy, options, and the Hadar that HadarE is compared with."""


def _made(name: str, **options: Any) -> Policy:
    return Forked(**options) if name == "forked" else make_policy(name, **options)


def batch(name: str, mix: str, seed: int = 0) -> tuple[Workload, Cluster]:
    """Return a mix of models as jobs with forks on all nodes, and a cluster."""
    nodes, made_up = CLUSTERS[name]
    rng = np.random.default_rng(seed)
    # Drawn for all models, so that a model has the same rates in every mix.
    speeds = {m: [round(r * _factor(rng, seed), 3) for r in row] for m, row in made_up.items()}
    seconds = {m: round(s * _factor(rng, seed)) for m, s in SECONDS.items()}
    kinds = [kind for kind, _ in nodes]
    fastest = kinds[int(np.argmax(speeds["MM"]))]
    rows = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "min_gpus": 1, "max_gpus": 5, "restart": 10,
         "work": seconds[m], "model": m, "gpu_type": fastest,
         "rates": dict(zip(kinds, speeds[m], strict=True))}
        for i, m in enumerate(MIXES[mix].split())
    ]  # fmt: skip
    cluster = Cluster.of([{"gpus": 1, "gpu_type": k, "count": count} for k, count in nodes])
    return Workload.parse({"name": mix, "jobs": rows}, "the benchmark"), cluster


def _factor(rng: np.random.Generator, seed: int) -> float:
    return float(rng.uniform(0.7, 1.3)) if seed else 1.0


def measures(made: Simulation, slot: int = SLOT) -> Row:
    """Return use of the nodes in per cent, duration and mean completion time in minutes."""
    span = slot * rounds_of(made, slot)
    held = float(made.jobs["service"].sum()) / (made.cluster.gpus * span)
    row = {"CRU": 100 * held, "duration": made.summary["makespan"] / 60}
    return row | {"mean": made.summary["mean_jct"] / 60}


def busy(made: Simulation) -> np.ndarray:
    """Return the share of the nodes' time that copies hold, by round."""
    found = np.zeros(rounds_of(made))
    for segment in made.log.rows("segments"):
        begin, end = segment[1] / 10**6, segment[2] / 10**6
        for r in range(int(begin // SLOT), int(-(-end // SLOT))):
            inside = min(end, (r + 1) * SLOT) - max(begin, r * SLOT)
            found[r] += segment[3] * inside / (made.cluster.gpus * SLOT)
    return found


def section6() -> Iterator[Row]:
    """Yield the batches of Figures 8 to 10, each beside Gavel and the Hadar that it belongs to."""
    for cluster in CLUSTERS:
        for seed in SEEDS:
            for mix in MIXES:
                found: dict[str, Row] = {}
                for label, policy, options, reference in POLICIES:
                    row = measures(run(*batch(cluster, mix, seed), _made(policy, **options)))
                    found[label] = row
                    gavel, hadar = found["gavel"], found.get(reference, row)
                    more: Row = {"cluster": cluster, "seed": seed, "mix": mix, "policy": label}
                    more["CRU over Gavel's"] = row["CRU"] / gavel["CRU"]
                    more["CRU over Hadar's"] = row["CRU"] / hadar["CRU"]
                    for name, other in (("Gavel's", gavel), ("Hadar's", hadar)):
                        for what in ("duration", "mean"):
                            more[f"{name} {what} over it"] = other[what] / row[what]
                            # Equal but for rounding is neither longer nor shorter.
                            longer = row[what] > other[what] * (1 + 1e-9)
                            more[f"{what} longer than {name}"] = longer
                            shorter = row[what] < other[what] * (1 - 1e-9)
                            more[f"{what} shorter than {name}"] = shorter
                    yield more | row


def corollary() -> Iterator[Row]:
    """Yield the use of the nodes in each round before the last (Theorem 3, its corollary)."""
    for cluster in CLUSTERS:
        for label, policy, options, _ in POLICIES:
            for mix in MIXES if policy in ("forked", "hadare") else ():
                made = run(*batch(cluster, mix), _made(policy, **options))
                for share, nodes in zip(busy(made)[:-1], _nodes(made)[:-1], strict=True):
                    row: Row = {"cluster": cluster, "policy": label, "busy": 100 * float(share)}
                    row |= {"full": bool(share > 0.999), "below": bool(share <= 0.999)}
                    row["all nodes have a copy"] = bool(nodes == made.cluster.gpus)
                    for mixes in ("all", mix) if mix == "M-12" else ("all",):
                        yield row | {"mixes": mixes}


def _nodes(made: Simulation) -> np.ndarray:
    """Return the number of GPUs that hold a copy at the beginning of each round."""
    found = np.zeros(rounds_of(made), dtype=int)
    for segment in made.log.rows("segments"):
        first, last = -(-segment[1] // (10**6 * SLOT)), -(-segment[2] // (10**6 * SLOT))
        found[first:last] += segment[3]
    return found


LENGTHS = (90, 180, 360, 720)


def slots() -> Iterator[Row]:
    """Yield the use of the nodes by the length of a round (Figures 12 and 13)."""
    for cluster in CLUSTERS:
        for mix in MIXES:
            for name in ("hadar", "forked", "hadare"):
                made = [run(*batch(cluster, mix), _made(name, interval=n)) for n in LENGTHS]
                used = [measures(m, n)["CRU"] for m, n in zip(made, LENGTHS, strict=True)]
                # Equal but for rounding: the shorter round counts.
                top = next(i for i, u in enumerate(used) if u >= max(used) - 1e-7)
                for i, length in enumerate(LENGTHS):
                    yield {"cluster": cluster, "mix": mix, "policy": name, "CRU": used[i],
                           "round": f"{length} s", "best": i == top}  # fmt: skip
