"""`study`: a history is checked, explained, and replayed under policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from dlsched.errors import OptionError
from dlsched.records import read_trace
from dlsched.registry.cluster_state import uniform
from dlsched.schema import exact
from dlsched.schema.files import make_folder
from dlsched.simulation import Job, Policy, Workload
from dlsched.simulation.engine.policy import policy_name
from dlsched.simulation.history import History, Knows, Moment, Period
from dlsched.simulation.policies import make_policy
from dlsched.simulation.policies.keeping import without_preemption
from dlsched.simulation.workload.profiles import PROFILES
from dlsched.studies.figures import Figures
from dlsched.studies.files import save_study
from dlsched.studies.limits import lower_limit
from dlsched.studies.outcome import Outcome, recorded_outcome, simulated_outcome
from dlsched.studies.page import study_html
from dlsched.studies.verdict import Verdict, reach_verdict
from dlsched.text.figures import shorten

Entry = str | Policy | tuple[str, Any] | tuple[str, Any, Mapping[str, Any]]
Listener = Callable[[str, int, int], None]
"""Called with what is done, how many jobs of it are done, and of how many."""
POLICIES: Final = ("fifo", "backfill", "srsf")
_NEED_STAGES = ("muri_l", "muri_s")
"""The policies that need stages."""
_SOURCE = "synthetic-1"
"""The trace that they are drawn from."""


class Study(Figures):
    """A history, its check, its explained share, and what became of its jobs under policies."""

    @cached_property
    def verdict(self) -> Verdict:
        """What may be said: one sentence, and those that qualify it."""
        return reach_verdict(self)

    @property
    def supported(self) -> bool:
        """Whether the record supports savings at all."""
        return self.verdict.supported

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``study.html``, ``study.json``, ``jobs.csv``, ``dropped.csv``, tables and pictures.

        Returns
        -------
        list
            The files written.

        Raises
        ------
        ExtraMissing
            If jinja2 or matplotlib is not installed.
        """
        return save_study(self, Path(folder))

    def __repr__(self) -> str:
        """Return the file, the jobs, the policies and the verdict."""
        names = ", ".join(outcome.name for outcome in self.outcomes)
        head = f"study of {shorten(self.history.where, 60)!r}: {len(self.recorded.jobs):,} jobs"
        return shorten(f"<{head}, {names}: {self.verdict.headline}>", 500)

    def _repr_html_(self) -> str:
        """Return the verdict and the first columns of the table for a notebook."""
        return study_html(self)


def study(
    history: History,
    policies: Iterable[Entry] = POLICIES,
    *,
    window: tuple[Moment | None, Moment | None] | None = None,
    partition: str | None = None,
    knows: Knows = "limit",
    delay: float = 0.0,
    restart: float | None = None,
    preemption: bool | None = None,
    bounds: bool = True,
    seed: int = 0,
    folder: str | Path | None = None,
    on_progress: Listener | None = None,
) -> Study:
    """Compare what a cluster recorded with what policies, and any schedule, would have done.

    Parameters
    ----------
    history
        What `read_history` returned.
    policies
        Names, policies, pairs of a name and a method, or triples of both and options.
    window
        First and last moment, dates in the history's time zone or seconds since 1970; None for the
        whole record.
    partition
        The partition whose jobs are studied, on its nodes; None for all.
    knows
        What policies take for a job's duration: its ``"limit"``, the ``"truth"``, or
        ``"user_mean"``.
    delay
        Seconds for which every job holds its nodes before it runs, under all policies; see
        `dlsched.simulation.history.period.Period.workload`. The bounds are without it.
    restart
        Seconds without progress at each start after a preemption, besides `delay`; a job goes on
        then with the work that it has done. None if that is not known of the jobs.
    preemption
        Whether policies may stop running jobs, or move them. By default they may if `restart` is
        given: no record says whether its jobs write checkpoints.
    bounds
        Whether certified lower bounds are computed, which may take minutes.
    seed
        For policies that draw, and for assumed stages.
    folder
        Where the logs of the simulations and the bounds are kept: a study that was ended, however,
        goes on from there. None keeps them in memory.
    on_progress
        Called with what is done, the number of jobs done, and their total.

    Raises
    ------
    OptionError, UnknownName
        If a policy, the window or another option cannot be used.
    LogError
        If the folder has logs of another study.
    """
    chosen = [_parts(entry) for entry in policies]
    names = [name for name, *_ in chosen]
    if not names:
        raise OptionError("a study needs a policy; give one, as backfill")
    if len(set(names)) < len(names):
        raise OptionError(f"the policies {', '.join(names)} have a name twice; give each once")
    since, until = window or (None, None)
    period = history.within(since, until, partition=partition)
    place = None if folder is None else Path(folder)
    if place is not None:
        make_folder(place)
    tell = on_progress or _silent
    total = len(period.simulated)
    tell("the recorded starts are replayed", 0, total)
    check = period.check()
    tell("the recorded waiting is divided by its causes", 0, total)
    if preemption is None:
        preemption = restart is not None
    workload = _with_restart(period.workload(knows, delay=delay), restart, delay)
    staged: Workload | None = None
    outcomes = []
    for name, policy, method, options in chosen:
        jobs = workload
        if isinstance(policy, str) and policy in _NEED_STAGES:
            if staged is None:
                staged = _with_restart(_with_stages(workload, seed), restart, delay)
            jobs = staged
        made = make_policy(policy, method, **options)

        def report(_now: float, done: int, total: int, name: str = name) -> None:
            tell(f"{name} is simulated", done, total)

        log = None if place is None else place / f"{_file_name(name)}.log"
        run = period.simulate(
            made if preemption else without_preemption(made),
            knows=knows,
            workload=jobs,
            seed=seed,
            log=log,
            resume=log is not None,
            on_progress=report,
        )
        tell(f"{name} is audited", total, total)
        outcomes.append(simulated_outcome(name, period, jobs, run))
    limits = []
    bounded = period.workload(knows) if bounds and delay else workload
    for sharing in (False, True) if bounds else ():
        if sharing and not any(outcome.shares_gpus for outcome in outcomes):
            continue
        tell("the bound over all schedules is computed", 0, total)
        jobs = staged if sharing and staged is not None else bounded
        limits.append(lower_limit(period, jobs, sharing, place))
    return Study(
        history,
        period,
        knows,
        check,
        recorded_outcome(period),
        tuple(outcomes),
        tuple(limits),
        _assumptions(period, knows, delay, staged is not None)
        + _preemption(outcomes, restart if preemption else None, preemption),
    )


def _with_stages(workload: Workload, seed: int) -> Workload:
    """Return a workload whose jobs have stages, models and the restart overheads of these.

    No scheduler records stages: those of a job are a shipped trace's, drawn by its id and a seed.
    What a policy gains by them is what it would gain if the cluster's jobs were like that trace's.
    """
    known = [job for job in read_trace(_SOURCE).jobs if job.stages]
    rows: list[dict[str, Any]] = []
    for job in workload.jobs:
        drawn = known[int(uniform(job.id, seed) * len(known))]
        rows.append({"gpus": job.gpus, "model": drawn.model, "stages": drawn.stages})
    rows, _ = PROFILES["muri"](rows)
    jobs = tuple(_with(job, row) for job, row in zip(workload.jobs, rows, strict=True))
    return workload.model_copy(update={"jobs": jobs})


def _with(job: Job, row: dict[str, Any]) -> Job:
    return job.model_copy(update={name: row[name] for name in ("model", "stages", "restart")})


def _with_restart(workload: Workload, restart: float | None, delay: float) -> Workload:
    """Return a workload whose jobs need some seconds at each start after a preemption."""
    if restart is None:
        return workload
    update = {"startup": exact(delay), "restart": exact(delay + restart)}
    jobs = tuple(job.model_copy(update=update) for job in workload.jobs)
    return workload.model_copy(update={"jobs": jobs})


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


def _parts(entry: Entry) -> tuple[str, str | Policy, Any, Mapping[str, Any]]:
    """Return a policy's name in the table, the policy, its method and its options."""
    method, options = None, {}
    policy: Any = entry
    if isinstance(entry, tuple):
        policy, method, *rest = entry
        options = dict(rest[0]) if rest else {}
    name = policy if isinstance(policy, str) else policy_name(policy)
    if method is not None:
        name += f" ({method if isinstance(method, str) else policy_name(method)})"
    if options:
        name += f" {', '.join(f'{key}={value}' for key, value in options.items())}"
    return name, policy, method, options


def _file_name(name: str) -> str:
    """Return a policy's name as that of a file."""
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)[:100]


def _assumptions(period: Period, knows: Knows, delay: float, staged: bool) -> tuple[str, ...]:
    """Return what a comparison with policies takes for granted."""
    taken = {
        "limit": "their time limits",
        "truth": "their true running times, which no scheduler has",
        "user_mean": "the means of their users' earlier jobs",
    }
    sentences = [
        "A job runs as long as recorded, wherever it is placed and whatever runs beside it.",
        "Users do not react: they submit the same jobs at the same times.",
        "Jobs that failed, were cancelled or timed out end as recorded.",
        f"Policies know of the durations of jobs {taken[knows]}"
        + (
            f"; of {period.without_limit:,} jobs without a limit they know the truth."
            if knows != "truth" and period.without_limit
            else "."
        ),
        "A job may start on any nodes with room that its partition, type of GPUs, features, CPUs "
        "and memory allow, whoever holds CPUs there and whatever nodes or reservations it asked "
        "for; there are no priorities, quotas or limits of users other than the policy's.",
        f"The capacity is {period.capacity.total:,}: {period.capacity.source}",
    ]
    if away := len(period.cluster.away):
        sentences.append(
            f"Jobs ended {away:,} times because their node failed: nobody runs there until the "
            "next recorded start on it."
        )
    if delay:
        sentences.append(
            f"Under every policy a job holds its nodes for {delay:g} s before it runs, as a "
            "scheduler takes time to end one job and to start the next; the bounds are without it."
        )
    if staged:
        sentences.append(
            "Policies that interleave jobs need the stages of their iterations, which no scheduler "
            f"records: they are drawn, with models and restart overheads, from the trace {_SOURCE}."
        )
    return tuple(sentences)


def _preemption(
    outcomes: Sequence[Outcome], restart: float | None, allowed: bool
) -> tuple[str, ...]:
    """Return what is assumed of preemption."""
    if not allowed:
        return (
            "No policy stops a running job, or moves it: the record does not say which jobs write "
            "checkpoints. If they do, state what a restart takes (--restart).",
        )
    names = [o.name for o in outcomes if o.run is not None and o.run.summary["preemptive"]]
    if not names:
        return ()
    return (
        f"Under {', '.join(names)} running jobs are preempted. A preempted job goes on with all "
        f"the work that it has done, after {restart or 0:g} s.",
    )
