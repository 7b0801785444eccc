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
Scaled: running jobs whose workers a decision
changes. Opportunistic: strict first in, first out, and in Lyra's order, the shortest first with
skipping. `afs` adds workers by work per second (Lyra, section 7.1)."""
TABLE_7 = f"""{SMALL}

Jobs that have been on a server on loan under `lyra` without elastic jobs; times of these jobs
under `lyra` and under the baseline. Means over the seeds of each seed's mean, median and
percentile."""
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
CALIBRATED = """28 training and 33 inference servers, 7 days, the workload `lyra` of version 2
(docs/calibration.md). On so few servers one load has not all of the baseline's printed figures:
at 0.695 it queues for 3,072 s in the mean and completes in nearly 16,610 s; at 0.775 it uses 72 %
of training, and the 95th percentile of completion is 82,933 s."""
EXPLAINED = """
- **The order of jobs, not the loan, is most of the gain here.** `fifo` is strict: a job
  that does not fit stops all behind it. Shortest job first with skipping, without loan and
  elastic jobs, has a small part of its queueing; in the paper all together have two thirds.
- **Who runs on loan.** By section 5.3 inelastic fungible jobs prefer training servers. While
  these have room, the loan stays empty. A preemption ratio of 14.94 % with 24 % of training
  idle needs fungible jobs that run on loan only, or first; the row that does so comes near.
"""
