"""What a study may say: a sentence that an administrator can forward, and what qualifies it."""

from __future__ import annotations

from dataclasses import dataclass

from dlsched.simulation.history.explanation import ENOUGH
from dlsched.studies.figures import Figures
from dlsched.studies.outcome import Outcome, later

BASELINE = "backfill"
"""The policy that most clusters run, by which the model is compared with the record."""
DROPPED_TOO_MUCH = 0.05
_NOTHING = 0.5
"""Seconds of mean waiting below which nobody waited."""
_NOT_REAL = (
    "Policies start jobs where there was no room for them. What they seem to save by that is not "
    "real: the figures below are not supported by this record."
)


@dataclass(frozen=True)
class Verdict:
    """What may be said of a record.

    Attributes
    ----------
    headline
        One sentence.
    supported
        Whether the record supports savings.
    sentences
        What qualifies it.
    remedies
        What to export besides, so that more is explained.
    """

    headline: str
    supported: bool
    sentences: tuple[str, ...]
    remedies: tuple[str, ...]


def span(seconds: float) -> str:
    """Return a duration as people say it: 45 s, 12 min, 2.1 h, 3.4 days."""
    size = abs(seconds)
    if size < 120:
        return f"{seconds:,.0f} s"
    if size < 600:
        return f"{seconds / 60:,.1f} min"
    if size < 3600:
        return f"{seconds / 60:,.0f} min"
    if size < 3 * 86400:
        return f"{seconds / 3600:,.1f} h"
    return f"{seconds / 86400:,.1f} days"


def reach_verdict(study: Figures) -> Verdict:
    """Return what a study may say."""
    mean = study.recorded.row["mean_wait"]
    share = study.explained.share
    replayed = study.history.recorded_waits
    if replayed and not study.check:
        found = study.check.details
        headline = (
            f"This record contradicts itself: replayed, {found['different']:,.0f} of "
            f"{found['jobs']:,.0f} jobs start at another time, by up to "
            f"{found['largest_difference']:,.0f} s, and {found['overfull']:,.0f} nodes hold more "
            "than they have. No saving is claimed."
        )
        return Verdict(headline, False, (), _remedies(study))
    if replayed and mean < _NOTHING:
        return Verdict("Nobody waited in this record: there is no waiting to save.", True, (), ())
    if headline := _others(study):
        return Verdict(headline, False, (_NOT_REAL,), _remedies(study))
    if not replayed:
        headline = (
            "This file does not say when jobs started: the policies are compared with each other "
            "only, and no saving is claimed."
        )
        return Verdict(headline, False, (_policies(study),), ())
    if not study.explained.supported:
        # Rounded down: 79.9 % are not 80 %.
        percent, why, sentence = int(100 * share), "explained by this record", _unexplained(study)
        if share >= ENOUGH:
            percent = int(100 * (share - study.explained.without_cpus))
            why, sentence = "because CPUs of nodes were full, which policies do not see", _NOT_REAL
        said = span(mean) if mean < 120 else f"{mean:,.0f} s ({span(mean)})"
        headline = f"Of {said} mean waiting {percent} % is {why}: no saving is claimed."
        return Verdict(headline, False, (sentence,), _remedies(study))
    headline = f"The record waits {span(mean)} on average. {_policies(study)}"
    sentences = [f"{int(100 * share)} % of the recorded waiting is explained by the record."]
    sentences += _baseline(study)
    remedies = _remedies(study)[: int(study.period.capacity.measured)]
    return Verdict(headline, True, tuple(sentences), remedies)


def _others(study: Figures) -> str:
    """Return a headline if jobs of other partitions are on a partition's nodes; else ""."""
    others = study.period.others
    if others > DROPPED_TOO_MUCH:
        return (
            f"Jobs of other partitions hold {others:.0%} of what is held on the nodes of "
            f"{study.period.partition}, and policies do not see them: no saving is claimed."
        )
    return ""


def _policies(study: Figures) -> str:
    """Return what each policy and any schedule would wait, and how many jobs would wait longer."""
    known = {
        "limit": "Knowing the jobs' limits",
        "truth": "Knowing the jobs' true durations",
        "user_mean": "Knowing the means of users' earlier jobs",
    }
    first, *others = [(_named(o), span(o.row["mean_wait"])) for o in study.outcomes]
    waits = [f"{first[0]} would wait {first[1]}", *(" ".join(other) for other in others)]
    text = f"{known[study.knows]}, {', '.join(waits)}"
    limits = [limit.mean_wait for limit in study.limits if limit.mean_wait is not None]
    if limits:
        shared = any(outcome.shares_gpus for outcome in study.outcomes)
        whose = "no schedule without sharing" if shared else "no schedule"
        text += f"; {whose} can wait less than {span(limits[0])}"
    if not study.history.recorded_waits:
        return f"{text}."
    best = best_of(study)
    worse = int(later(best, study.recorded).sum())
    stopped = int(best.jobs["preemptions"].sum())
    return (
        f"{text}. Under {best.name} {worse:,} of {len(best.jobs):,} jobs would have waited longer"
        + (f", and jobs be preempted {stopped:,} times." if stopped else ".")
    )


def _named(outcome: Outcome) -> str:
    """Return a policy's name, and that its jobs' stages were drawn: no record has any."""
    jobs = () if outcome.run is None else outcome.run.meta["workload"]["jobs"]
    drawn = any("stages" in job for job in jobs)
    return f"{outcome.name} (with drawn stages of iterations)" if drawn else outcome.name


def best_of(study: Figures) -> Outcome:
    """Return the outcome with the least mean waiting."""
    return min(study.outcomes, key=lambda outcome: float(outcome.jobs["wait"].mean()))


def _baseline(study: Figures) -> list[str]:
    """Return how far simulated backfill is from the record: the size of the model's error."""
    found = [outcome for outcome in study.outcomes if outcome.name == BASELINE]
    if not found:
        return []
    recorded, simulated = (o.row["mean_wait"] for o in (study.recorded, found[0]))
    difference = simulated / recorded - 1
    way = "less" if difference < 0 else "more"
    return [
        f"Simulated backfill waits {abs(100 * difference):.0f} % {way} than the record: if the "
        "cluster runs backfill, so large is what the model leaves out, and smaller differences "
        "between a policy and the record say nothing. Compare policies with simulated backfill, "
        "too."
    ]


def _unexplained(study: Figures) -> str:
    """Return what is not known of the waiting, and what follows."""
    table = study.explained.table.set_index("cause")
    held = table.loc["held back"].to_dict()
    unit = {"gpu": "GPU", "cpu": "CPU", "node": "node"}[study.history.resource]
    return (
        f"In {100 * held['share']:.0f} % of the waiting hours ({amount(held['hours'])} h, "
        f"{amount(held['gpu_hours'])} {unit}-hours) the job that waited would have fitted on the "
        "nodes as recorded, and no job before it was waiting for room. Why it did not start is "
        "not in the record: holds, limits of users and accounts, reservations, nodes that were "
        "down, licences, memory, or jobs that the export lacks. A policy simulated without these "
        "does not wait there, and what it seems to save is not real: the figures below are not "
        "supported by this record."
    )


def amount(hours: float) -> str:
    """Return hours with as many digits as say something."""
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _remedies(study: Figures) -> tuple[str, ...]:
    """Return what to export besides."""
    found = []
    if study.period.capacity.measured:
        found.append(
            'the nodes, as sinfo -N -o "%N|%G|%P" prints them (--nodes): the capacity taken here '
            "is the peak of what was held"
        )
    if study.period.partition is not None:
        found.append("all partitions that share these nodes (leave --partition out)")
    found += [
        "all users' jobs and all partitions, from well before the window until well after it "
        "(sacct -a), so that no job is missing at its borders",
        "what else decides: limits of users and accounts (sacctmgr show qos, show assoc), "
        "reservations and nodes that were down (sacctmgr show event): dlsched does not read them, "
        "they tell you whether policies without them are a fair comparison",
    ]
    return tuple(found)
