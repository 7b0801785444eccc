"""Lyra's evaluation as a simulation: its tables, Figure 10, and what an optimum saves.

    python benchmarks/lyra_simulation.py [--parts table5 table6 ...] [--seeds 0 1 2]
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
)


def table(cases: Sequence[Case], size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield a table of cases: our figures, means over the seeds, beside the paper's."""
    paper = ("paper: queueing", "completion", "preempted, %")
    yield f"| scheme | {' | '.join(name for name, _, _ in COLUMNS)} | {' | '.join(paper)} |"
    yield "|" + "---|" * (1 + len(COLUMNS) + len(paper))
    for case in cases:
        rows = runs(case, size, seeds, keep)
        if rows:
            ours = [format(average(rows, name), form) for _, name, form in COLUMNS]
            said = ["-" if value is None else f"{value:,g}" for value in case.paper]
            yield f"| {case.label} | {' | '.join([*ours, *said])} |"


def runs(case: Case, size: Size, seeds: Sequence[int], keep: Keep) -> Rows:
    """Return the figures of a case, one of each seed; none if some are to be left out."""
    keys = [f"{case.label}/{'-'.join(map(str, size))}/{seed}" for seed in seeds]
    if any(map(keep.missing, keys)):
        return []
    return [
        keep(key, lambda s=seed: run_case(case, size, s))  # type: ignore[misc]
        for key, seed in zip(keys, seeds, strict=True)
    ]


def average(rows: Rows, name: str) -> float:
    """Return the mean over the seeds."""
    return float(statistics.mean(row[name] for row in rows))


def optimum(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield a table: the paper's heuristics, other methods in the round, and the lower bound."""
    yield (
        "| scheme | queueing, s | saved | completion, s | saved | least and most saved by seed "
        "| preempted, % | proved, % of rounds | ms a decision | most |"
    )
    yield "|" + "---|" * 10
    for first, *others in GROUPS:
        base = runs(first, size, seeds, keep)
        for case in (first, *others):
            rows = runs(case, size, seeds, keep)
            if not rows or not base:
                continue
            saved = [100 * (1 - r["mean_jct"] / b["mean_jct"])
                     for r, b in zip(rows, base, strict=True)]  # fmt: skip
            known = sum(row["solved"] for row in rows)
            yield (
                f"| {case.label} | {average(rows, 'mean_queueing'):,.0f} "
                f"| {_saved(rows, base, 'mean_queueing')} | {average(rows, 'mean_jct'):,.0f} "
                f"| {_saved(rows, base, 'mean_jct')} | {min(saved):.2f} to {max(saved):.2f} % "
                f"| {average(rows, 'preempted'):.2f} "
                f"| {100 * sum(row['proved'] for row in rows) / max(1, known):.0f} "
                f"| {1000 * average(rows, 'mean_decision_seconds'):.1f} "
                f"| {1000 * max(row['max_decision_seconds'] for row in rows):.0f} |"
            )
        keys = [f"bound/{first.label}/{'-'.join(map(str, size))}/{seed}" for seed in seeds]
        if base and not any(map(keep.missing, keys)):
            bounds = [keep(key, lambda c=first, s=seed: lower_bound(c, size, s))  # type: ignore[misc]
                      for key, seed in zip(keys, seeds, strict=True)]  # fmt: skip
            value = statistics.mean(row["value"] for row in bounds)
            most = 100 * (1 - value / average(base, "mean_jct"))
            source = ", ".join(sorted({row["source"] for row in bounds}))
            yield (
                f"| lower bound over all policies: {source} | | | {value:,.0f} | at most "
                f"{most:.1f} % | | | | | |"
            )


def _saved(rows: Rows, base: Rows, name: str) -> str:
    return f"{100 * (1 - average(rows, name) / average(base, name)):.2f} %"


def table_7(size: Size, seeds: Sequence[int], keep: Keep) -> Iterator[str]:
    """Yield queueing and completion of the jobs that ran on loan."""
    found = [keep(f"table7/{'-'.join(map(str, size))}/{seed}", lambda s=seed: on_loan(size, s))  # type: ignore[misc]
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
    elif name in ("optimum", "busy"):
        yield from optimum(SMALL if name == "optimum" else BUSY, seeds, keep)
    elif name == "figure10":
        yield from figure_10(OVERLOADED, seeds, keep)
    elif name == "fleet":
        yield from table(FLEET_CASES, FLEET, seeds, keep)
    elif name == "readings":
        yield from table(READINGS, BUSY, seeds, keep)
    else:
        cases = {"table5": TABLE_5, "table6": TABLE_6, "others": OTHERS}[name]
        yield from table(cases, SMALL, seeds, keep)


def main() -> None:
    """Run the parts named, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--fleet-seeds", type=int, nargs="+", default=[0])
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
        title, text, after = lyra_text.PARTS[name]
        seeds = options.fleet_seeds if name == "fleet" else options.seeds
        lines += [f"## {title} (seeds {', '.join(map(str, seeds))})", ""]
        lines += [*text, *([""] if text else []), *part(name, seeds, keep), ""]
        lines += [*after, *([""] if after else [])]
    page = "\n".join(lines).rstrip("\n") + "\n"
    print(page)
    if not options.quiet:
        FIGURES.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
