"""Lyra's evaluation as a simulation: its tables and figures, and what an optimum saves.

    python benchmarks/lyra_simulation.py [scaling loaning table7 scenarios wrong ...]

Prints markdown and writes it to benchmarks/figures/lyra_simulation.md. The cases are in
lyra_cases.py, the inputs in lyra_inputs.py, what is measured in lyra_measures.py. Every simulation
is audited.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import lyra_text
from lyra_cases import (
    BASELINE,
    BASIC,
    BUSY,
    ELASTIC,
    GROUPS,
    IDEAL_CASE,
    LOAN,
    LOANING,
    LOSSY,
    ON_LOAN_ONLY,
    OVERLOADED,
    PAIRS,
    PAIRS_6,
    PAIRS_10,
    PAIRS_READINGS,
    READINGS,
    RESAMPLED,
    SCALING,
    SCENARIOS,
    SHARES,
    SMALL,
    TABLE_10,
    TESTBED,
    WRONG,
    of_share,
)
from lyra_inputs import WHOLE, days_of
from lyra_tables import METRICS, SPREAD, figure_10, optimum, ratios, runs, spreads, table, table_7

SEEDS = range(5)
TRACES = range(10)
LOADS = (0.695, 0.775)
"""At the first the baseline queues as printed, at the second it uses what is printed."""
MEANS = {"mean queueing": "mean_queueing", "mean completion": "mean_jct"}


def titled(title: str, text: str, seeds: range = SEEDS) -> Iterator[str]:
    """Yield the title of a section and what it says first."""
    yield f"## {title} (seeds {seeds[0]} to {seeds[-1]})\n"
    yield f"{text}\n"


def scaling() -> Iterator[str]:
    """Yield rows 1 and 10 to 13 of Table 5, as Table 8 and section 7.4 have them."""
    yield from titled("Table 5, elastic scaling alone", lyra_text.TABLE_5)
    yield from table([BASELINE, *SCALING, ELASTIC], SMALL, SEEDS, bounded=True)
    yield from ratios(PAIRS["scaling"], SMALL, SEEDS)


def loaning() -> Iterator[str]:
    """Yield rows 1 and 6 to 9 of Table 5, and Figure 9."""
    cases = [*LOANING, LOAN, ON_LOAN_ONLY]
    yield from titled("Table 5, capacity loaning alone; Figure 9", lyra_text.TABLE_5)
    yield from table([BASELINE, *cases], SMALL, SEEDS, bounded=True)
    yield from ratios(PAIRS["loaning"], SMALL, SEEDS)
    names = ("preempted, %", "both in use, %", "borrowed in use, %",
             "borrowed in use on the least day, %")  # fmt: skip
    yield from spreads(cases, SMALL, SEEDS, names)


def scenarios() -> Iterator[str]:
    """Yield rows 1 to 5 of Table 5."""
    yield from titled("Table 5, both", lyra_text.TABLE_5)
    yield from table([BASELINE, *SCENARIOS], SMALL, SEEDS, bounded=True)
    yield from ratios(PAIRS["scenarios"], SMALL, SEEDS)
    names = ("preempted, %", "both in use, %", *(n for n in SPREAD if "by flexible" in n))
    yield from spreads([BASELINE, *SCENARIOS], SMALL, SEEDS, names)


def table6() -> Iterator[str]:
    """Yield Table 6: no groups of servers."""
    yield from titled("Table 6: placement without groups", lyra_text.SMALL)
    yield from table([case for pair in PAIRS_6 for case in pair], SMALL, SEEDS)
    yield from ratios(PAIRS_6, SMALL, SEEDS, MEANS)
    both = [case for pair in PAIRS_6 for case in pair]
    yield from spreads(both, SMALL, SEEDS, ("preempted, %",))


def table7() -> Iterator[str]:
    """Yield Table 7."""
    yield from titled("Table 7: the jobs that ran on loan", lyra_text.TABLE_7)
    yield from table_7(SMALL, SEEDS)


def loss() -> Iterator[str]:
    """Yield what a loss of added workers changes (Figure 8)."""
    pairs = tuple(zip(LOSSY, (BASIC, IDEAL_CASE), strict=True))
    yield from titled("Loss of added workers (Figure 8)", lyra_text.SMALL)
    yield from table([*LOSSY, BASIC, IDEAL_CASE], SMALL, SEEDS)
    yield from ratios([*pairs, *((BASELINE, case) for case in LOSSY)], SMALL, SEEDS, MEANS)


def wrong() -> Iterator[str]:
    """Yield what wrong estimates change (Table 9)."""
    yield from titled("Wrong estimates (Table 9)", lyra_text.SMALL)
    yield from table([BASELINE, ELASTIC, *WRONG], SMALL, SEEDS)
    pairs = [(BASELINE, case) for case in (ELASTIC, *WRONG)]
    yield from ratios([*pairs, *((case, ELASTIC) for case in WRONG)], SMALL, SEEDS, MEANS)


def shares() -> Iterator[str]:
    """Yield the schemes by the share of elastic jobs (Figures 14 to 16)."""
    yield from titled("The share of elastic jobs (Figures 14 to 16)", lyra_text.SHARES)
    three = (*SCALING[1:], ELASTIC)
    chosen = {share: [of_share(case, share) for case in three] for share in SHARES}
    lossy = of_share(ELASTIC, 1.0, scaling_loss=0.2)
    cases = [*(case for share in SHARES for case in chosen[share]), lossy]
    yield from table([BASELINE, *cases], SMALL, SEEDS)
    pairs = [(BASELINE, case) for case in cases]
    for share in SHARES:
        lyra = chosen[share][-1]
        pairs += [(case, lyra) for case in chosen[share][:-1]]
    pairs.append((lossy, chosen[1.0][-1]))
    yield from ratios(pairs, SMALL, SEEDS, MEANS)
    everywhere = chosen[1.0][1:]
    yield from spreads(everywhere, SMALL, SEEDS, ("scaled",))
    rows = [runs(case, SMALL, SEEDS) for case in everywhere]
    each = [a["scaled"] / b["scaled"] for a, b in zip(*rows, strict=True)]
    mean = sum(row["scaled"] for row in rows[0]) / sum(row["scaled"] for row in rows[1])
    yield "Operations of scaling, Pollux over Lyra, where all jobs are elastic:\n"
    yield "| of | ratio | least | most | paper |\n" + "|" + "---|" * 5
    yield f"| all seeds | {mean:.2f} | {min(each):.2f} | {max(each):.2f} | 1.76 |\n"


def bootstrap() -> Iterator[str]:
    """Yield ten traces of days drawn from one of 15 days (Figure 12, whose traces have ten)."""
    yield from titled("Ten resampled traces (Figure 12)", lyra_text.BOOTSTRAP, TRACES)
    cases = [BASELINE, BASIC, IDEAL_CASE]
    yield from table(cases, RESAMPLED, TRACES)
    yield from ratios([(BASELINE, case) for case in cases[1:]], RESAMPLED, TRACES, MEANS)
    yield "By trace, the baseline's time over Lyra's:\n"
    head = [f"{case.label}, {time}" for case in cases[1:] for time in MEANS]
    yield f"| trace | days at weekends | {' | '.join(head)} |\n|" + "---|" * (2 + len(head))
    by_case = [runs(case, RESAMPLED, TRACES) for case in cases]
    for trace in TRACES:
        free = sum(day % 7 >= 5 for day in days_of(RESAMPLED, trace))
        cells = [
            f"{by_case[0][trace][name] / rows[trace][name]:.2f}"
            for rows in by_case[1:]
            for name in MEANS.values()
        ]
        yield f"| {trace} | {free} | {' | '.join(cells)} |"
    yield f"\nThe trace has {WHOLE} days; the sixth and seventh of a week are its weekends.\n"


def testbed() -> Iterator[str]:
    """Yield Table 10 and Figure 17: the size of the testbed."""
    yield from titled("Table 10 and Figure 17: the testbed's size", lyra_text.TESTBED, TRACES)
    yield from table(TABLE_10, TESTBED, TRACES)
    yield from ratios(PAIRS_10, TESTBED, TRACES)
    loaning = [TABLE_10[k] for k in (1, 2, 3, 4)]
    yield from spreads(loaning, TESTBED, TRACES, ("preempted, %",))


def readings() -> Iterator[str]:
    """Yield other readings of the rules, at a load of 0.95."""
    yield from titled("Why the figures differ from the paper's, at a load of 0.95", lyra_text.WHY)
    yield from table(READINGS, BUSY, SEEDS)
    yield from ratios(PAIRS_READINGS, BUSY, SEEDS, MEANS)
    names = ("preempted, %", "borrowed in use, %", "borrowed in use on the least day, %")
    yield from spreads((LOAN, ON_LOAN_ONLY), BUSY, SEEDS, names)
    yield lyra_text.EXPLAINED


def optima() -> Iterator[str]:
    """Yield what an optimum in the round saves."""
    yield from titled("What an optimum in the round saves, at a load of 0.95", lyra_text.OPTIMUM)
    yield from optimum(GROUPS, BUSY, SEEDS)


def figure10() -> Iterator[str]:
    """Yield Figure 10."""
    yield from titled("Figure 10: reclaiming in the same states", "")
    yield from figure_10(OVERLOADED, SEEDS)


EVERYWHERE = [of_share(case, 1.0) for case in (*SCALING[1:], ELASTIC)]
"""AFS, Pollux and Lyra where all jobs are elastic."""


def calibrated(load: float) -> Iterator[str]:
    """Yield rows 1 to 5 and 9 of Table 5 at a load, at the lower one 1, 2 and 9."""
    size = BUSY._replace(load=load)
    cases = [BASELINE, *(SCENARIOS if load == LOADS[-1] else SCENARIOS[:1]), LOAN]
    yield from titled(f"Table 5 on the calibrated workload, load {load:g}", lyra_text.CALIBRATED)
    yield from table(cases, size, SEEDS, bounded=True)
    metrics = METRICS | {"both in use": "overall"}
    yield from ratios([(BASELINE, case) for case in cases[1:]], size, SEEDS, metrics)
    yield from spreads(cases, size, SEEDS, ("both in use, %", "preempted, %"))


def calibrated_elastic(load: float) -> Iterator[str]:
    """Yield elastic scaling alone (Tables 5 and 9, Figures 14 and 15) at a load."""
    size = BUSY._replace(load=load)
    title = f"Elastic scaling alone on the calibrated workload, load {load:g}"
    yield from titled(title, lyra_text.CALIBRATED)
    others = [SCALING[0], *SCALING[1:], WRONG[-1]]
    everywhere = EVERYWHERE if load == LOADS[-1] else []
    yield from table([BASELINE, *others, ELASTIC, *everywhere], size, SEEDS)
    pairs = [(BASELINE, case) for case in (ELASTIC, *others, *everywhere)]
    pairs += [(case, ELASTIC) for case in others]
    pairs += [(case, everywhere[-1]) for case in everywhere[:-1]]
    yield from ratios(pairs, size, SEEDS, MEANS | {"training in use": "usage"})


SECTIONS = {
    "scaling": scaling,
    "loaning": loaning,
    "table7": table7,
    "scenarios": scenarios,
    "wrong": wrong,
    "testbed": testbed,
    "bootstrap": bootstrap,
    "shares": shares,
    "table6": table6,
    "loss": loss,
    "figure10": figure10,
    "readings": readings,
    "optimum": optima,
    **{f"calibrated-{load:g}": partial(calibrated, load) for load in LOADS},
    **{f"elastic-{load:g}": partial(calibrated_elastic, load) for load in LOADS},
}
