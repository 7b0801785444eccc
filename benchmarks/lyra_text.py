"""What benchmarks/figures/lyra_simulation.md says beside its tables."""

from __future__ import annotations

HEAD = (
    "28 training and 33 inference servers, 7 days of arrivals, about 1,490 jobs with a load of",
    "0.82, drawn by `lyra_workload` and `lyra_cluster`: a sixteenth of the paper's cluster, half",
    "of its days. The paper's trace is not public, so directions count, not numbers. Means over",
    "the seeds named. Every simulation was audited. CPU seconds are processor time of a whole",
    "simulation; they and milliseconds a decision were taken while other programs ran.",
    "",
    "Training and loan in use: shares of the GPU time that there is in the days of arrivals that",
    "jobs hold. Longest 1 %: their share of all queueing. Servers of flexible workers: of the",
    "servers that went back and were not empty, those that held flexible workers only.",
    "",
)
OPTIMUM = (
    "The paper's heuristics in the round, and other methods in their place. `exact elastic`",
    "launches as many jobs as possible and then saves most running time, as the problem says",
    "(Lyra, sections 1 and 5.2); phase one of the paper's heuristic takes the shortest jobs.",
    "Saved: of the means, relative to the first row of a block. The bound is certified and holds",
    "for every policy; GPUs on loan count while they are lent.",
)
READINGS = (
    "Table 5 above shows less queueing and fewer preemptions than the paper's, and a larger gain",
    "over the baseline. The rules were read again, and these simulated:",
)
EXPLAINED = (
    "- **The order of jobs, not the loan, is most of the gain here.** `fifo` is strict: a job that",
    "  does not fit stops all behind it. Shortest job first with skipping, without loan and",
    "  elastic jobs, has a tenth of its queueing. In the paper all together have two thirds. Any",
    "  workload with running times as spread as the paper's (completion: median 791 s, mean",
    "  16,610 s) rewards this order.",
    "- **In the paper few jobs make the mean.** By the percentiles of Table 8, under Lyra (row 13)",
    "  99 % of the jobs contribute at most 0.5 x 47 + 0.25 x 697 + 0.2 x 3,475 + 0.04 x 8,731 =",
    "  1,242 s to the mean of 2,275 s; so the longest 1 % have at least 45 % of all queueing and",
    "  wait 29 hours on average. Shortest-first cannot shorten this, nor a loan for fungible jobs.",
    "  The paper does not say what these jobs are; those whose demand seldom fits would wait so.",
    "  The largest here ask for 32 of 224 GPUs.",
    "- **The paper's baseline is hardly strict.** By the same sum its longest 1 % wait 32,700 s or",
    "  more on average, and all others at most 14,323 s. Where jobs start in the order of their",
    "  submission, all that are submitted in the 18,377 s after a job that waits 32,700 s wait",
    "  longer than 14,323 s; at the mean rate these are 715, and 1 % of the jobs are 504. With",
    "  skipping, `fifo` has much less queueing here. The paper says no more than FIFO; ours stays",
    "  strict.",
    "- **Who runs on loan.** By section 5.3 inelastic fungible jobs prefer training servers. While",
    "  these have room, the loan stays empty, and is returned empty. Figure 9 (92 % of the loan in",
    "  use, every day) and a preemption ratio of 14.94 %, with a training cluster of which 24 % is",
    "  idle (row 9), need fungible jobs that wait for servers on loan, or are sent there first:",
    "  the row `on loan only` comes near. It is not the paper's rule, so `lyra` keeps that of",
    "  section 5.3.",
    "- **What a server on loan is worth.** It counts for 4 GPUs here, as a T4 has half the memory",
    "  of a V100; in section 7.5 three are worth one training server, which is 2.7. With 2 GPUs",
    "  the loan saves little at this load.",
    "- Not at fault: 21 % of the load is fungible, jobs have 1 to 32 GPUs, the loan's mean is a",
    "  third of the inference servers, and only fungible jobs run there in Basic (checked).",
)
FLEET = (
    "443 training and 520 inference servers, one day of arrivals, 3,359 jobs. The cluster is empty",
    "at the start, so the load of the day is 2.4, by which jobs queue within it.",
)
PARTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]] = {
    "table5": (
        "Table 5",
        (
            "`pollux` is an approximation (its docstring says which). Lyra+TunedJobs (row 14) was",
            "not simulated: it needs the goodput of each job by batch size, which is not public.",
            "The bound is certified and holds for every policy on these jobs and servers.",
        ),
        (),
        (0, 1),
    ),
    "optimum": ("What an optimum in the round saves, at a load of 0.95", OPTIMUM, (), (0, 1, 2)),
    "readings": (
        "Why the figures differ from the paper's, at a load of 0.95",
        READINGS,
        EXPLAINED,
        (0,),
    ),
    "table6": ("Table 6: placement without groups", (), (), (0,)),
    "table7": ("Table 7: the jobs that ran on loan", (), (), (0,)),
    "others": ("Loss, wrong estimates, checkpoints", (), (), (0,)),
    "figure10": ("Figure 10: reclaiming in the same states", (), (), (0,)),
    "fleet": ("The paper's servers", FLEET, (), (0,)),
}
"""Title, text before the table, text after it, and seeds, by part."""
