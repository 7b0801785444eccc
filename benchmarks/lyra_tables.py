"""Tables of Lyra's simulation: means over the seeds, and ratios with their spread by seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lyra_cases import Case, Size
from lyra_measures import RECLAIMING, lower_bound, mean, on_loan, run_case, same_states

Rows = list[dict[str, Any]]
COLUMNS = (
    ("mean queueing s", "mean_queueing", ",.0f"),
    ("median queueing s", "median_queueing", ",.0f"),
    ("p95 queueing s", "p95_queueing", ",.0f"),
    ("mean completion s", "mean_jct", ",.0f"),
    ("median completion s", "median_jct", ",.0f"),
    ("p95 completion s", "p95_jct", ",.0f"),
    ("p99 completion s", "p99_jct", ",.0f"),
    ("training in use, %", "usage", ".1f"),
    ("both in use, %", "overall", ".1f"),
    ("loan in use, %", "loan_usage", ".1f"),
    ("borrowed in use, %", "borrowed_usage", ".1f"),
    ("preempted, %", "preempted", ".2f"),
    ("scaled", "scaled", ",.0f"),
    ("CPU s", "cpu", ",.1f"),
)
METRICS = {
    "mean queueing": "mean_queueing",
    "p95 queueing": "p95_queueing",
    "mean completion": "mean_jct",
    "median completion": "median_jct",
    "p95 completion": "p95_jct",
}
SPREAD = {
    "preempted, %": ("preempted", ".2f"),
    "both in use, %": ("overall", ".1f"),
    "borrowed in use, %": ("borrowed_usage", ".1f"),
    "borrowed in use on the least day, %": ("least_day", ".1f"),
    "of the demand left after empty servers by flexible ones, %": ("flexible", ".1f"),
    "of each demand by flexible ones, %": ("flexible_each", ".1f"),
    "of each demand by flexible or empty ones, %": ("flexible_or_empty_each", ".1f"),
    "scaled": ("scaled", ",.0f"),
}


def table(
    cases: Sequence[Case], size: Size, seeds: Sequence[int], bounded: bool = False
) -> Iterator[str]:
    """Yield a table of cases: our figures, means over the seeds, beside the paper's."""
    paper = ("paper: queueing", "paper: completion", "paper: preempted, %")
    names = [name for name, _, _ in COLUMNS] + ["lower bound on completion s"] * bounded
    yield "Means over the seeds:\n"
    yield f"| scheme | {' | '.join(names)} | {' | '.join(paper)} |"
    yield "|" + "---|" * (1 + len(names) + len(paper))
    for case in cases:
        rows = runs(case, size, seeds)
        ours = [format(average(rows, name), form) for _, name, form in COLUMNS]
        if bounded:
            ours.append(f"{average(bounds(case, size, seeds), 'value'):,.0f}")
        said = ["-" if value is None else f"{value:,g}" for value in case.paper]
        yield f"| {case.label} | {' | '.join([*ours, *said])} |"
    yield ""


def ratios(
    pairs: Sequence[tuple[Case, Case]],
    size: Size,
    seeds: Sequence[int],
    metrics: Mapping[str, str] = METRICS,
) -> Iterator[str]:
    """Yield the ratios of one scheme's times to another's, by seed; the paper's of its means."""
    yield "Ratios: the first's time over the second's; of the means, and by seed:\n"
    yield "| first | second | time | ratio | least | most | seeds above 1 | paper |"
    yield "|" + "---|" * 8
    for first, second in pairs:
        above, below = runs(first, size, seeds), runs(second, size, seeds)
        for label, name in metrics.items():
            each = [a[name] / b[name] for a, b in zip(above, below, strict=True) if b[name]]
            whole = average(above, name) / average(below, name) if each else float("nan")
            place = {"mean_queueing": 0, "mean_jct": 1}.get(name, 2)
            said = [case.paper[place] for case in (first, second)] if place < 2 else [None]
            paper = f"{said[0] / said[1]:.2f}" if all(said) else "-"  # type: ignore[operator]
            yield (
                f"| {first.label} | {second.label} | {label} | {whole:.3f} "
                f"| {min(each, default=0):.3f} | {max(each, default=0):.3f} "
                f"| {sum(value > 1 for value in each)} | {paper} |"
            )
    yield ""


def spreads(
    cases: Sequence[Case], size: Size, seeds: Sequence[int], names: Sequence[str]
) -> Iterator[str]:
    """Yield figures of cases with their least and largest by seed."""
    yield "Spread by seed:\n"
    yield "| scheme | what | mean | least | most |\n" + "|" + "---|" * 5
    for case in cases:
        rows = runs(case, size, seeds)
        for name in names:
            key, form = SPREAD[name]
            values = [row[key] for row in rows]
            three = (statistics.mean(values), min(values), max(values))
            shown = " | ".join(format(value, form) for value in three)
            yield f"| {case.label} | {name} | {shown} |"
    yield ""


def runs(case: Case, size: Size, seeds: Sequence[int]) -> Rows:
    """Return the figures of a case by seed."""
    return [run_case(case, size, seed) for seed in seeds]


_bounds: dict[tuple[str, Size, int], dict[str, Any]] = {}


def bounds(case: Case, size: Size, seeds: Sequence[int]) -> Rows:
    """Return the lower bounds on the mean completion time of a case's workload, by seed."""
    inputs = f"{sorted(case.workload.items())} {case.loaning} {sorted(case.cluster.items())}"
    for seed in seeds:
        if (inputs, size, seed) not in _bounds:
            _bounds[inputs, size, seed] = lower_bound(case, size, seed)
    return [_bounds[inputs, size, seed] for seed in seeds]


def average(rows: Rows, name: str) -> float:
    """Return the mean over the seeds."""
    return float(statistics.mean(row[name] for row in rows))


def optimum(groups: Sequence[Sequence[Case]], size: Size, seeds: Sequence[int]) -> Iterator[str]:
    """Yield a table: the paper's heuristics, other methods in the round, and the lower bound."""
    yield (
        "| scheme | mean queueing s | queueing saved, % | mean completion s "
        "| completion saved, % | least | most | preempted, % | proved, % | CPU s |"
    )
    yield "|" + "---|" * 10
    for first, *others in groups:
        base = runs(first, size, seeds)
        for case in (first, *others):
            rows = runs(case, size, seeds)
            each = [100 * (1 - r["mean_jct"] / b["mean_jct"])
                    for r, b in zip(rows, base, strict=True)]  # fmt: skip
            saved = ["", "", "", ""]
            if case is not first:
                saved = [_saved(rows, base, "mean_queueing"), _saved(rows, base, "mean_jct"),
                         f"{min(each):.2f}", f"{max(each):.2f}"]  # fmt: skip
            proved = sum(r["proved"] for r in rows) / max(1, sum(r["solved"] for r in rows))
            yield (
                f"| {case.label} | {average(rows, 'mean_queueing'):,.0f} | {saved[0]} "
                f"| {average(rows, 'mean_jct'):,.0f} | {' | '.join(saved[1:])} "
                f"| {average(rows, 'preempted'):.2f} | {100 * proved:.0f} "
                f"| {average(rows, 'cpu'):.1f} |"
            )
        found = bounds(first, size, seeds)
        value = average(found, "value")
        most = 100 * (1 - value / average(base, "mean_jct"))
        source = ", ".join(sorted({row["source"] for row in found}))
        yield (
            f"| bound of all policies, {first.label}: {source} | | | {value:,.0f} | {most:.1f} "
            f"| | | | | |"
        )
    yield ""


def _saved(rows: Rows, base: Rows, name: str) -> str:
    return f"{100 * (1 - average(rows, name) / average(base, name)):.2f}"


def table_7(size: Size, seeds: Sequence[int]) -> Iterator[str]:
    """Yield queueing and completion of the jobs that ran on loan."""
    found = [on_loan(size, seed) for seed in seeds]
    jobs = [row["jobs"] for row in found]
    yield f"{min(jobs)} to {max(jobs)} jobs a run.\n"
    yield "| time | baseline s | lyra s | ratio | least | most | paper |\n" + "|" + "---|" * 7
    paper = {"mean queueing": (4573, 1119), "median queueing": (1283, 274),
             "p95 queueing": (23351, 7256), "mean jct": (11547, 6887),
             "median jct": (2122, 1373), "p95 jct": (60170, 35776)}  # fmt: skip
    for name, (theirs, lyra) in paper.items():
        above, below = average(found, f"baseline {name}"), average(found, f"lyra {name}")
        each = [row[f"baseline {name}"] / row[f"lyra {name}"] for row in found]
        yield (
            f"| {name.replace('jct', 'completion')} | {above:,.0f} | {below:,.0f} "
            f"| {above / below:.2f} | {min(each):.2f} | {max(each):.2f} | {theirs / lyra:.2f} |"
        )
    yield ""


def figure_10(size: Size, seeds: Sequence[int]) -> Iterator[str]:
    """Yield preempted jobs and collateral damage by method, in the same states."""
    by_seed = [same_states(size, seed)["found"] for seed in seeds]
    found = [row for rows in by_seed for row in rows]
    several = sum(row["demand"] > 1 for row in found)
    most = max((row["demand"] for row in found), default=0)
    yield (
        f"{size.training} training and {size.inference} inference servers, {size.days:g} days, a "
        f"load of {size.load:g}, no elastic jobs, a loan that changes every hour. "
        f"{len(found)} reclaims in which jobs had to be preempted, of up to {most} servers after "
        f"empty ones; {several} of more than one server. Preempted jobs of those that run on "
        "these servers, and GPUs vacated on servers that stay by GPUs returned: means over the "
        "reclaims; least and most of a seed.\n"
    )
    yield (
        "| method | preempted, % | by lyra's | least | most | collateral, % | collateral by lyra's "
        "| optimum found | paper: preempted by lyra's | paper: collateral |"
    )
    yield "|" + "---|" * 10
    paper = {"random": ("1.68", "1.59"), "scf": ("1.51", "1.36"), "lyra": ("1", "1")}
    base = [_shares(found, "lyra", level) for level in (0, 1)]
    for name in RECLAIMING:
        share = [_shares(found, name, level) for level in (0, 1)]
        ratio = [s / b if b else 0.0 for s, b in zip(share, base, strict=True)]
        each = [_shares(rows, name, 0) / _shares(rows, "lyra", 0) for rows in by_seed if rows]
        best = sum(row[name][0] == row["exact"][0] for row in found)
        yield (
            f"| {name} | {share[0]:.2f} | {ratio[0]:.2f} | {min(each):.2f} | {max(each):.2f} "
            f"| {share[1]:.1f} | {ratio[1]:.2f} | {best} of {len(found)} "
            f"| {' | '.join(paper.get(name, ('-', '-')))} |"
        )
    yield ""


def _shares(found: Sequence[dict[str, Any]], name: str, level: int) -> float:
    whole = "gpus" if level else "jobs"
    return 100 * mean(row[name][level] / row[whole] for row in found)
