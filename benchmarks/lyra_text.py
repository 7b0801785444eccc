"""What benchmarks/figures/lyra_simulation.md says beside its tables."""

from __future__ import annotations

SMALL = """28 training and 33 inference servers, 4 days of arrivals, about 850 jobs with a load
of 0.82, drawn by `lyra_workload` and `lyra_cluster`: a sixteenth of the paper's cluster, a quarter
of its days; this size was chosen while measuring, so that all sections with five seeds are run
in an hour. At it the loan is hardly used. The paper's trace is not public. Every simulation was
audited. A simulation that several sections need, measured together, is run once; CPU s is
processor time of a whole simulation."""
TABLE_5 = f"""{SMALL} `pollux` is an approximation (its docstring says which). The bound is
certified and holds for every policy on these jobs and servers.

In use, in the days of arrivals: of training, of both clusters together (inference requests use
what the load says), of what is lent, and of servers on loan while they hold a job ("borrowed").
Of the longest 1 %: their share of all queueing. Scaled: running jobs whose workers a decision
changes. Opportunistic: strict first in, first out, and in Lyra's order, the shortest first with
skipping. `afs` adds workers by work per second (Lyra, section 7.1); its own pairs are the rule
of AFS's paper, relative gains of pairs of jobs, after base demands."""
TABLE_7 = f"""{SMALL}

Jobs that have been on a server on loan under `lyra` without elastic jobs; times of these jobs
under `lyra` and under the baseline. Means over the seeds of each seed's mean, median and
percentile."""
CHECKPOINTS = f"""{SMALL}

The text compares with row 9 of Table 5 (loan only); the caption of the figure says Ideal. A job
with a checkpoint is preempted like any other and keeps its work."""
SHARES = f"""{SMALL} No loan; the large jobs of Basic are elastic first, then others at random."""
BOOTSTRAP = """28 training and 33 inference servers; 4 days drawn with replacement from the 15
days of one trace (`lyra_workload`, seed 0, load 0.82), and the same loan for all. Time of the
baseline over Lyra's. Every simulation was audited."""
TESTBED = """4 training and 4 inference servers; 180 jobs, 10 of them elastic, submitted within 8
hours, running times log-uniform from 2 minutes to 2 hours, no job above 16 GPUs, with
checkpoints, 63 s for a preemption; sizes are made up. A day of inference takes the 8 hours; 0 to
2 servers are lent, in the paper three at most. Every simulation was audited."""
OPTIMUM = """The paper's heuristics in the round, and other methods in their place. `exact
elastic` launches as many jobs as possible and then saves most running time, as the problem says
(Lyra, sections 1 and 5.2); phase one of the paper's heuristic takes the shortest jobs. Saved: of
the means, relative to the first row of a block; least and most of a seed. The bound is certified
and holds for every policy; GPUs on loan count while they are lent."""
WHY = """28 training and 33 inference servers, 7 days. Table 5 above shows less queueing and
fewer preemptions than the paper's, and a larger gain over the baseline. The rules were read again,
and these simulated:"""
FLEET = """443 training and 520 inference servers, one day of arrivals, 3,359 jobs. The cluster
is empty at the start, so the load of the day is 2.4, by which jobs queue within it. One seed."""
CALIBRATED = """28 training and 33 inference servers, 7 days, the workload `lyra` of version 2
(docs/calibration.md). On so few servers one load has not all of the baseline's printed figures:
at 0.695 it has the mean of queueing (3,072 s) and nearly that of completion (16,610 s), at 0.775
the use of training (72 %) and the 95th percentile of completion (82,933 s)."""
EXPLAINED = """- **The order of jobs, not the loan, is most of the gain here.** `fifo` is strict:
  a job that does not fit stops all behind it. Shortest job first with skipping, without loan and
  elastic jobs, has a small part of its queueing (ratios above). In the paper all together have
  two thirds. Any workload with running times as spread as the paper's (completion: median 791 s,
  mean 16,610 s) rewards this order.
- **In the paper few jobs make the mean.** By the percentiles of Table 8, under Lyra (row 13) 99
  % of the jobs contribute at most 0.5 x 47 + 0.25 x 697 + 0.2 x 3,475 + 0.04 x 8,731 = 1,242 s
  to the mean of 2,275 s; so the longest 1 % have at least 45 % of all queueing and wait at least
  28 hours on average, though the shortest job goes first. The paper does not say what these jobs
  are; those whose demand seldom fits would wait so. The largest here ask for 32 of 224 GPUs.
- **The paper's baseline is hardly strict.** By the same sum its longest 1 % wait 32,700 s or
  more on average, and all others at most 14,323 s. Where jobs start in the order of their
  submission, all that are submitted in the 18,377 s after a job that waits 32,700 s wait longer
  than 14,323 s; at the mean rate these are 715, and 1 % of the jobs are 504. With skipping,
  `fifo` has much less queueing here. The paper says no more than FIFO; ours stays strict.
- **Who runs on loan.** By section 5.3 inelastic fungible jobs prefer training servers. While
  these have room, the loan stays empty, and is returned empty. Figure 9's 92 % in use are
  reached here on average by the servers that hold a job, though not every day (the spread above),
  and not by all that are lent. A preemption ratio of 14.94 %, with a training cluster of which
  24 % is idle (row 9), needs fungible jobs that wait for servers on loan, or are sent there first:
  the row `fungible jobs on loan only` comes near. It is not the paper's rule, so `lyra` keeps that
  of section 5.3.
- **What a server on loan is worth.** It counts for 4 GPUs here, as a T4 has half the memory of a
  V100; in section 7.5 three are worth one training server, which is 2.7. With 2 GPUs the loan
  saves little at this load.
- Not at fault: 21 % of the load is fungible, jobs have 1 to 32 GPUs, the loan's mean is a third
  of the inference servers, and only fungible jobs run there in Basic (checked).
"""
