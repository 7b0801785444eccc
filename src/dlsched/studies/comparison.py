"""`study`: a history is checked, explained, and replayed under policies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from dlsched.errors import OptionError
from dlsched.schema.files import make_folder
from dlsched.simulation.history import History, Knows, Moment
from dlsched.studies.figures import Figures
from dlsched.studies.outcome import AS_RAN, RECORDED, outcome_of
from dlsched.studies.page import save_study, study_html
from dlsched.studies.parts import lower_limit, parts_of
from dlsched.studies.runs import Entry, Runs, changes, chosen
from dlsched.studies.verdict import Verdict, near, reach_verdict
from dlsched.text.figures import shorten

POLICIES: Final = ("fifo", "backfill", "srsf")
RAN: Final = ("backfill", None, {"order": "priority"})
"""What a cluster runs if it is not said."""


class Study(Figures):
    """A history, its check, its explained share, and what became of its jobs under policies."""

    @cached_property
    def verdict(self) -> Verdict:
        """What may be said: a sentence for each part of the cluster, and what qualifies it."""
        return reach_verdict(self)

    @property
    def supported(self) -> bool:
        """Whether the record supports savings at all."""
        return self.verdict.supported

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``study.html``, ``study.json``, tables as CSV and pictures; return the files.

        It needs jinja2 and matplotlib.
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
    ran: Entry = RAN,
    window: tuple[Moment | None, Moment | None] | None = None,
    partition: str | None = None,
    knows: Knows = "limit",
    delay: float = 0.0,
    restart: float | None = None,
    preemption: bool | None = None,
    add_nodes: Sequence[str] = (),
    remove_nodes: Sequence[str] = (),
    partition_of: Sequence[str] = (),
    bounds: bool = True,
    seed: int = 0,
    folder: str | Path | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Study:
    """Compare what a cluster recorded with what policies, and any schedule, would have done.

    Parameters
    ----------
    history
        What `read_history` returned.
    policies
        Names, policies, pairs of a name and a method, or triples of both and options.
    ran
        The policy that the cluster runs. Simulated with the jobs' limits, it is the test of whether
        the simulator is this cluster; by default EASY backfilling by priority in each partition.
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
    add_nodes, remove_nodes
        Changes of the nodes, each a row of `Study.nodes`: ``"4"`` as most nodes are, ``"4:n1"`` as
        n1; of those that go also names, ``"n[1-4]"``.
    partition_of
        The same for nodes in another partition: ``"n[1-4]=p2"``.
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
    import pandas as pd

    entries = [chosen(entry) for entry in policies]
    names = [entry.name for entry in entries]
    if not names or len(set(names)) < len(names):
        told = f"the policies {', '.join(names)} have a name twice; give each once"
        raise OptionError(told if names else "a study needs a policy; give one, as backfill")
    period = history.within(*(window or (None, None)), partition=partition)
    asked = ([v] if isinstance(v, str) else v for v in (add_nodes, remove_nodes, partition_of))
    changed = list(changes(period, *asked))
    place = None if folder is None else Path(folder)
    if place is not None:
        make_folder(place)
    tell = on_progress or (lambda _what, _done, _total: None)
    total = len(period.simulated)
    tell("the recorded starts are replayed", 0, total)
    replay = period.simulate("recorded", knows="truth")
    check = period.check(replay)
    tell("the recorded waiting is divided by its causes", 0, total)
    held_back = period.explained.delay
    preempts = restart is not None if preemption is None else preemption
    runs = Runs(period, knows, delay, restart, preempts, seed, place, tell)
    parts, delayed, said = parts_of(period), None, chosen(ran)
    recorded = outcome_of(RECORDED, (), period, replay)
    limited = runs if knows == "limit" else replace(runs, knows="limit")
    as_ran = limited.outcome(said, AS_RAN)
    if held_back and not delay and not near(as_ran.mean(), recorded.mean()):
        delayed = replace(limited, delay=held_back, folder=None).outcome(said).mean()
    outcomes = tuple(runs.outcome(entry) for entry in entries)
    limits = []
    for sharing in (False, True) if bounds else ():
        if not sharing or any(outcome.run.shares_gpus for outcome in outcomes):
            tell("the bound over all schedules is computed", 0, total)
            limits.append(lower_limit(period, parts, runs.bounded(sharing), sharing, place))
    rows = []
    for change, cluster in changed:
        rows.append(limited.against(change, cluster, said, AS_RAN))
        rows += [runs.against(change, cluster, entry, "") for entry in entries]
    nodes, found = pd.DataFrame(rows), tuple(limits)
    return Study(history, runs, check, parts, recorded, as_ran, delayed, outcomes, found, nodes)
