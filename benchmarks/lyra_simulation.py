"""Lyra's evaluation as a simulation: its tables, Figure 10, and what an optimum saves.

    python benchmarks/lyra_simulation.py [--parts table5 table6 ...]
    python benchmarks/lyra_simulation.py --keep results.json

Prints markdown and writes it to benchmarks/figures/lyra_simulation.md. With ``--keep FILE`` the
results are stored there as they come, and those that are there already are not run again. The
cases are in lyra_cases.py, what is measured in lyra_measures.py. Every simulation is audited.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lyra_text
from lyra_cases import (
    BUSY,
    FLEET,
    FLEET_CASES,
    GROUPS,
    OTHERS,
    OVERLOADED,
    READINGS,
    SMALL,
    TABLE_5,
    TABLE_6,
    Case,
    Size,
)
from lyra_measures import (
    RECLAIMING,
    Keep,
    lower_bound,
    mean,
    on_loan,
    run_case,
    same_states,
)
from machine import machine

FIGURES = Path(__file__).resolve().parent / "figures" / "lyra_simulation.md"
Rows = list[dict[str, Any]]
COLUMNS = (
    ("queueing, s: mean", "mean_queueing", ",.0f"),
    ("median", "median_queueing", ",.0f"),
    ("p95", "p95_queueing", ",.0f"),
    ("of it the longest 1 %, %", "longest", ".0%"),
    ("completion, s: mean", "mean_jct", ",.0f"),
    ("median", "median_jct", ",.0f"),
    ("p95", "p95_jct", ",.0f"),
    ("training in use", "usage", ".2f"),
    ("loan in use", "loan_usage", ".2f"),
    ("preempted, %", "preempted", ".2f"),
    ("servers of flexible workers, %", "flexible", ".0f"),
    ("scaled", "scaled", ",.0f"),
    ("CPU s", "cpu", ",.0f"),
    ("ms a decision", "milliseconds", ".1f"),
)


def table(
    cases: Sequence[Case], size: Size, seeds: Sequence[int], keep: Keep, bounded: bool = False
) -> Iterator[str]:
    """Yield a table of cases: our figures, means over the seeds, beside the paper's."""
    paper = ("paper: queueing", "completion", "preempted, %")
    names = [name for name, _, _ in COLUMNS] + ["lower bound on completion, s"] * bounded
    yield f"| scheme | {' | '.join(names)} | {' | '.join(paper)} |"
    yield "|" + "---|" * (1 + len(names) + len(paper))
    for case in cases:
        rows = [
            row | {"milliseconds": 1000 * row["mean_decision_seconds"]}
            for row in runs(case, size, seeds, keep).values()
        ]
        if rows:
            ours = [format(average(rows, name), form) for _, name, form in COLUMNS]
            if bounded:
                found = bounds(case, size, seeds, keep)
                ours.append(f"{average(found, 'value'):,.0f}" if found else "-")
            said = ["-" if value is None else f"{value:,g}" for value in case.paper]
            yield f"| {case.label} | {' | '.join([*ours, *said])} |"


def runs(case: Case, size: Size, seeds: Sequence[int], keep: Keep) -> dict[int, dict[str, Any]]:
    """Return the figures of a case by seed; without those that are to be left out."""
    wanted = [s for s in seeds if case.only_seeds is None or s in case.only_seeds]
    keys = {seed: f"{case.label}/{_name(size)}/{seed}" for seed in wanted}
    return {
        seed: keep(key, lambda s=seed: run_case(case, size, s))  # type: ignore[misc]
        for seed, key in keys.items()
        if not keep.missing(key)
    }


def bounds(case: Case, size: Size, seeds: Sequence[int], keep: Keep) -> Rows:
    """Return the lower bounds on the mean completion time of a case's workload, by seed."""
    keys = {seed: f"bound/{inputs(case)}/{_name(size)}/{seed}" for seed in seeds}
    return [
        keep(key, lambda s=seed: lower_bound(case, size, s))  # type: ignore[misc]
        for seed, key in keys.items()
        if not keep.missing(key)
    ]


def inputs(case: Case) -> str:
    """Return what workload and cluster of a case depend on."""
    return f"{sorted(case.workload.items())} {case.loaning} {sorted(case.cluster.items())}"


def _name(size: Size) -> str:
    return "-".join(map(str, size))


def average(rows: Rows, name: str) -> float:
    """Return the mean over the seeds."""
    return float(statistics.mean(row[name] for row in rows))


def optimum(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield a table: the paper's heuristics, other methods in the round, and the lower bound."""
    yield (
        "| scheme | seeds | queueing, s | saved | completion, s | saved | least and most by seed "
        "| preempted, % | proved, % of what was solved | ms a decision | most |"
    )
    yield "|" + "---|" * 11
    for first, *others in GROUPS:
        base = runs(first, size, seeds, keep)
        for case in (first, *others):
            known = runs(case, size, seeds, keep)
            common = sorted(base.keys() & known.keys())
            if not common:
                continue
            rows, against = [known[s] for s in common], [base[s] for s in common]
            saved = [100 * (1 - r["mean_jct"] / b["mean_jct"])
                     for r, b in zip(rows, against, strict=True)]  # fmt: skip
            proved = sum(r["proved"] for r in rows) / max(1, sum(r["solved"] for r in rows))
            compared = [
                f"{average(rows, 'mean_queueing'):,.0f}", _saved(rows, against, "mean_queueing"),
                f"{average(rows, 'mean_jct'):,.0f}", _saved(rows, against, "mean_jct"),
                f"{min(saved):.2f} to {max(saved):.2f} %",
            ]  # fmt: skip
            if case is first:
                compared[1::2] = ["", ""]
                compared[-1] = ""
            yield (
                f"| {case.label} | {', '.join(map(str, common))} | {' | '.join(compared)} "
                f"| {average(rows, 'preempted'):.2f} | {100 * proved:.0f} "
                f"| {1000 * average(rows, 'mean_decision_seconds'):.1f} "
                f"| {1000 * max(row['max_decision_seconds'] for row in rows):.0f} |"
            )
        found = bounds(first, size, sorted(base), keep)
        if found:
            value = average(found, "value")
            most = 100 * (1 - value / average(list(base.values()), "mean_jct"))
            source = ", ".join(sorted({row["source"] for row in found}))
            yield (
                f"| lower bound over all policies: {source} | {', '.join(map(str, sorted(base)))} "
                f"| | | {value:,.0f} | at most {most:.1f} % | | | | | |"
            )


def _saved(rows: Rows, base: Rows, name: str) -> str:
    return f"{100 * (1 - average(rows, name) / average(base, name)):.2f} %"


def table_7(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield queueing and completion of the jobs that ran on loan."""
    found = [keep(f"table7/{_name(size)}/{seed}", lambda s=seed: on_loan(size, s))  # type: ignore[misc]
             for seed in seeds]  # fmt: skip
    yield f"{statistics.mean(row['jobs'] for row in found):,.0f} jobs a run."
    yield ""
    yield "| scheme | queueing, s: mean | median | p95 | completion, s: mean | median | p95 |"
    yield "|" + "---|" * 7
    paper = {"baseline": (4573, 1283, 23351, 11547, 2122, 60170),
             "lyra": (1119, 274, 7256, 6887, 1373, 35776)}  # fmt: skip
    for name, theirs in paper.items():
        ours = [statistics.mean(row[name][i] for row in found) for i in range(6)]
        yield f"| {name} | " + " | ".join(f"{value:,.0f}" for value in ours) + " |"
        yield f"| {name}, paper | " + " | ".join(f"{value:,.0f}" for value in theirs) + " |"


def figure_10(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield preempted jobs and collateral damage by method, in the same states."""
    found = [
        row
        for seed in seeds
        for row in keep(f"states/{size}/{seed}", lambda s=seed: same_states(size, s))["found"]  # type: ignore[misc]
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
    return 100 * mean(row[name][level] / row[whole] for row in found)


def part(name: str, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield the lines of a part."""
    if name == "table7":
        yield from table_7(SMALL, seeds, keep)
    elif name == "optimum":
        yield from optimum(BUSY, seeds, keep)
    elif name == "figure10":
        yield from figure_10(OVERLOADED, seeds, keep)
    elif name == "fleet":
        yield from table(FLEET_CASES, FLEET, seeds, keep)
    elif name == "readings":
        yield from table(READINGS, BUSY, seeds, keep)
    else:
        cases = {"table5": TABLE_5, "table6": TABLE_6, "others": OTHERS}[name]
        yield from table(cases, SMALL, seeds, keep, bounded=name == "table5")


def main() -> None:
    """Run the parts named, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", help="instead of those of each part")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only-kept", action="store_true", help="run nothing; leave rows out")
    parser.add_argument("--parts", nargs="+", default=list(lyra_text.PARTS))
    parser.add_argument("--quiet", action="store_true", help="run, and write nothing")
    options = parser.parse_args()
    keep = Keep(options.keep, options.only_kept)
    lines = [
        "# Lyra's simulation",
        "",
        f"`python benchmarks/lyra_simulation.py` on {machine()}",
        "",
        *lyra_text.HEAD,
    ]
    for name in options.parts:
        title, text, after, usual = lyra_text.PARTS[name]
        seeds = options.seeds or usual
        said = ", ".join(map(str, seeds))
        lines += [f"## {title} ({'seeds' if len(seeds) > 1 else 'seed'} {said})", ""]
        lines += [*text, *([""] if text else []), *part(name, seeds, keep), ""]
        lines += [*after, *([""] if after else [])]
    page = "\n".join(lines).rstrip("\n") + "\n"
    print(page)
    if not options.quiet:
        FIGURES.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
