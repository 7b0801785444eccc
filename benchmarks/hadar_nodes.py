"""Hadar and HadarE on five nodes with one GPU each: the batches of section VI, Theorem 3.

Sections of `hadar_simulation.py`, which runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from hadar_example import SLOT, rounds_of, run, table

from dlsched.simulation import Cluster, Workload
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
Options = dict[str, Any]
INVERSE: Options = {"utility": "inverse_time"}
POLICIES: tuple[tuple[str, str, Options, str], ...] = (
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
MEASURES = ("CRU", "duration", "mean")


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


def measures(made: Simulation, slot: int = SLOT) -> list[float]:
    """Return use of the nodes, duration and mean completion time in minutes."""
    span = slot * rounds_of(made, slot)
    held = float(made.jobs["service"].sum()) / (made.cluster.gpus * span)
    return [held, made.summary["makespan"] / 60, made.summary["mean_jct"] / 60]


def busy(made: Simulation) -> np.ndarray:
    """Return the share of the nodes' time that copies hold, by round."""
    found = np.zeros(rounds_of(made))
    for segment in made.log.rows("segments"):
        begin, end = segment[1] / 10**6, segment[2] / 10**6
        for r in range(int(begin // SLOT), int(-(-end // SLOT))):
            inside = min(end, (r + 1) * SLOT) - max(begin, r * SLOT)
            found[r] += segment[3] * inside / (made.cluster.gpus * SLOT)
    return found


def section6() -> Iterator[str]:
    """Yield the comparison of Figures 8 to 10."""
    found = {
        (cluster, seed, label): np.array(
            [measures(run(*batch(cluster, mix, seed), policy, **options)) for mix in MIXES]
        )
        for cluster in CLUSTERS
        for seed in SEEDS
        for label, policy, options, _ in POLICIES
    }
    for what, name in enumerate(MEASURES):
        for cluster in CLUSTERS:
            yield f"\n{name}, {cluster}{', in percent' if not what else ''}:\n"
            yield table(["mix", *(label for label, *_ in POLICIES)])
            for m, mix in enumerate(MIXES):
                values = [found[cluster, 0, label][m, what] for label, *_ in POLICIES]
                yield f"| {mix} | {' | '.join(f'{v if what else 100 * v:.0f}' for v in values)} |"
    yield from _ratios(found)


def _ratios(found: Mapping[tuple[str, int, str], np.ndarray]) -> Iterator[str]:
    yield table(
        ["cluster", "policy", "CRU over Gavel's", "Gavel's duration over it",
         "longer than Gavel's", "Hadar's duration over it", "longer than Hadar's",
         "Gavel's mean over it", "mean longer than Gavel's"]
    )  # fmt: skip

    def spread(rows: list[np.ndarray]) -> str:
        means = [float(row.mean()) for row in rows]
        return f"{np.mean(means):.2f} ({min(means):.2f} to {max(means):.2f})"

    def longer(own: list[np.ndarray], other: list[np.ndarray]) -> str:
        # Equal but for rounding is not longer.
        pairs = zip(own, other, strict=True)
        count = sum(int((a > b * (1 + 1e-9)).sum()) for a, b in pairs)
        return f"{count} of {sum(map(len, own))}"

    for cluster in CLUSTERS:
        for label, _, _, reference in POLICIES[1:]:
            own, gavel, hadar = (
                [found[cluster, seed, name] for seed in SEEDS]
                for name in (label, "gavel", reference)
            )
            cells = [spread([a[:, 0] / b[:, 0] for a, b in zip(own, gavel, strict=True)])]
            for what, others in ((1, gavel), (1, hadar), (2, gavel)):
                mine, theirs = [a[:, what] for a in own], [b[:, what] for b in others]
                cells.append(spread([b / a for a, b in zip(mine, theirs, strict=True)]))
                cells.append(longer(mine, theirs))
            yield f"| {cluster} | {label} | {' | '.join(cells)} |"


def over_hadar() -> Iterator[str]:
    """Yield HadarE over Hadar by use and mean time, and Hadar over Gavel without mix M-1."""
    yield table(["cluster", "policy", "CRU over Hadar's", "Hadar's mean over it",
                 "Gavel's duration over it, without M-1", "shorter than Gavel's"])  # fmt: skip
    for cluster in CLUSTERS:
        found = {
            label: np.array(
                [[measures(run(*batch(cluster, mix, seed), policy, **options)) for mix in MIXES]
                 for seed in SEEDS]
            )
            for label, policy, options, _ in POLICIES
            if not label.endswith(" i")
        }  # fmt: skip
        for label, own in list(found.items())[1:]:
            hadar, gavel = found["hadar"], found["gavel"]
            means = [
                ratio.mean(axis=1)
                for ratio in (own[..., 0] / hadar[..., 0], hadar[..., 2] / own[..., 2],
                              gavel[:, 1:, 1] / own[:, 1:, 1])
            ]  # fmt: skip
            cells = [f"{m.mean():.2f} ({m.min():.2f} to {m.max():.2f})" for m in means]
            shorter = own[:, 1:, 1] < gavel[:, 1:, 1] * (1 - 1e-9)
            cells.append(f"{shorter.sum()} of {shorter.size}")
            yield f"| {cluster} | {label} | {' | '.join(cells)} |"


def corollary() -> Iterator[str]:
    """Yield the use of the nodes by round (Theorem 3 and its corollary)."""
    yield table(
        ["cluster", "policy", "mixes", "rounds before the last", "all nodes have a copy",
         "busy to the end", "below", "least busy"]
    )  # fmt: skip
    rules = [row for row in POLICIES if row[1] in ("forked", "hadare")]
    for cluster in CLUSTERS:
        for label, policy, options, _ in rules:
            for mixes in (tuple(MIXES), ("M-12",)):
                runs = [run(*batch(cluster, mix), policy, **options) for mix in mixes]
                shares = np.concatenate([busy(made)[:-1] for made in runs])
                full = int((shares > 0.999).sum())
                nodes = sum(int((_nodes(made)[:-1] == made.cluster.gpus).sum()) for made in runs)
                yield (
                    f"| {cluster} | {label} | {mixes[0] if len(mixes) == 1 else 'all'} "
                    f"| {len(shares)} | {nodes} | {full} | {len(shares) - full} "
                    f"| {100 * shares.min():.0f} % |"
                )


def _nodes(made: Simulation) -> np.ndarray:
    """Return the number of GPUs that hold a copy at the beginning of each round."""
    found = np.zeros(rounds_of(made), dtype=int)
    for segment in made.log.rows("segments"):
        first, last = -(-segment[1] // (10**6 * SLOT)), -(-segment[2] // (10**6 * SLOT))
        found[first:last] += segment[3]
    return found


LENGTHS = (90, 180, 360, 720)


def slots() -> Iterator[str]:
    """Yield the use of the nodes by the length of a round (Figures 12 and 13)."""
    names = ("hadar", "forked", "hadare")
    yield table(["cluster", "mix", *(f"{name}, {n} s" for name in names for n in LENGTHS)])
    best: dict[tuple[str, str], list[int]] = {}
    for cluster in CLUSTERS:
        for mix in MIXES:
            cells: list[str] = []
            for name in names:
                used = [measures(run(*batch(cluster, mix), name, interval=n), n)[0]
                        for n in LENGTHS]  # fmt: skip
                cells += [f"{100 * u:.0f}" for u in used]
                # Equal but for rounding: the shorter round counts.
                top = next(i for i, u in enumerate(used) if u >= max(used) - 1e-9)
                best.setdefault((cluster, name), []).append(top)
            yield f"| {cluster} | {mix} | {' | '.join(cells)} |"
    yield table(["cluster", "policy", *(f"{n} s" for n in LENGTHS)])
    for (cluster, name), tops in best.items():
        counts = [str(tops.count(i)) for i in range(len(LENGTHS))]
        yield f"| {cluster} | {name} | {' | '.join(counts)} |"
