"""What a study may say: for each part of the cluster a sentence that a referee could sign.

A part is supported if at least `ENOUGH` of its recorded waiting is explained, by what policies see,
and the policy that the cluster is said to run waits, simulated, within `NEAR` of the record.
"""

from typing import Final, NamedTuple

from dlsched.records.readers.values import counted
from dlsched.simulation.history.explanation import ENOUGH, explained_share
from dlsched.studies.figures import Figures
from dlsched.studies.outcome import AS_RAN
from dlsched.text.figures import span

NEAR: Final = 0.2
"""Share of the recorded mean wait by which the simulated one of what ran may differ."""
OTHERS: Final = 0.05
"""Share of a partition's held GPUs that jobs of others may hold."""
NOTHING: Final = 0.5
"""Seconds of mean waiting below which nobody waited."""
MOST_PARTS: Final = 3
"""Parts that the headline has; the table has all."""
KNOWN: Final = {
    "limit": "knowing the jobs' limits",
    "truth": "knowing the jobs' true durations",
    "user_mean": "knowing the means of users' earlier jobs",
}


class Claim(NamedTuple):
    """What may be said of a part of the cluster.

    `wait` and `ran` are mean seconds in the record, and under what the cluster is said to run.
    `explained` is the share of the waiting that is, by what policies see. `reasons` say why it is
    not supported, the largest first. `evidence` is what the headline's `sentence` rests on.
    """

    name: str
    jobs: int
    wait: float
    ran: float
    explained: float
    reasons: tuple[str, ...]
    sentence: str
    evidence: str


class Verdict(NamedTuple):
    """What may be said of a record, and what it rests on.

    `claims` are empty if the record as a whole allows none. It is `supported` if all of them are.
    """

    headline: str
    supported: bool
    sentences: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


def against(seconds: float, recorded: float) -> str:
    """Return by how much a wait differs from the recorded one, which is above 0."""
    percent = round(100 * (seconds / recorded - 1))
    return f"{abs(percent)} % {'more' if percent > 0 else 'less'} than" if percent else "as long as"


def near(seconds: float, recorded: float) -> bool:
    """Return whether a mean wait is within `NEAR` of the recorded one."""
    return abs(seconds - recorded) <= NEAR * recorded


def reach_verdict(study: Figures) -> Verdict:
    """Return what a study may say."""
    if headline := _forbidden(study):
        return Verdict(f"{headline} No saving is claimed.", False)
    claims = tuple(_claim(study, k) for k in range(len(study.parts)))
    waited = [claim for claim in claims if claim.wait >= NOTHING]
    good = [claim for claim in waited if not claim.reasons]
    supported = len(good) == len(waited)
    if not waited:
        return Verdict("Nobody waited: there is no waiting to save.", supported, (), claims)
    shown = sorted(claims, key=lambda claim: -claim.jobs * claim.wait)[:MOST_PARTS]
    texts = [claim.sentence for claim in shown]
    if len(claims) > MOST_PARTS:
        texts.insert(0, f"{len(good)} of {len(waited)} parts in which jobs waited are supported.")
    sentences = [claim.evidence for claim in shown if claim.evidence]
    if supported:
        best = min(study.outcomes, key=lambda outcome: outcome.mean())
        counts = f"{best.differs(study.recorded)[1].sum():,} of {len(best.jobs):,} jobs"
        sentences += [
            "Smaller differences between a policy and the record say nothing.",
            f"Under {best.label} {counts} would have waited longer than recorded.",
        ]
    return Verdict(" ".join(texts), supported, tuple(sentences), claims)


def _forbidden(study: Figures) -> str:
    """Return a headline if the record as a whole allows no claim; else ""."""
    found, others = study.check.details, study.period.others
    if not study.history.recorded_waits:
        return f"This file does not say when jobs started; {_policies(study, 0)}."
    if not study.check:
        return (
            f"This record contradicts itself: replayed, {found['different']:,.0f} of "
            f"{found['jobs']:,.0f} jobs start at another time, by up to "
            f"{found['largest_difference']:,.0f} s, and {found['overfull']:,.0f} nodes hold more "
            "than they have."
        )
    if others > OTHERS:
        return (
            f"Not supported: jobs of other partitions hold {others:.0%} of what is held on the "
            f"nodes of {study.period.partition}, and policies do not see them."
        )
    return ""


def _claim(study: Figures, k: int) -> Claim:
    part, jobs = study.parts[k], study.explained.jobs
    policy = study.ran.label.removeprefix(AS_RAN)
    begin = f"{part.name} ({counted(len(part.jobs), 'job')}): " if part.name else ""
    wait, ran = (outcome.mean(part) for outcome in (study.recorded, study.ran))
    facts = (part.name, len(part.jobs), wait, ran)
    if wait < NOTHING:
        return Claim(*facts, 1.0, (), f"{begin}nobody waited.", "")
    own = jobs[jobs["id"].isin(study.recorded.jobs["id"].iloc[part.jobs])]
    share, seen = (explained_share(own, f"held_back{end}") for end in ("", "_without_cpus"))
    reasons = []
    if share < ENOUGH:  # rounded down: 79.9 % are not 80 %
        reasons.append((1 - share, f"only {int(100 * share)} % of that is explained by it"))
    elif seen < ENOUGH:
        text = "of that is because CPUs of nodes were full, which policies do not see"
        reasons.append((1 - seen, f"{100 * (share - seen):.0f} % {text}"))
    if not near(ran, wait):
        text = f"{policy}, which the cluster is said to run, waits {against(ran, wait)} that"
        reasons.append((abs(ran / wait - 1), f"{text} in the simulator ({span(ran)})"))
    ordered = tuple(text for _, text in sorted(reasons, key=lambda reason: -reason[0]))
    said = f"the record waits {span(wait)} on average"
    sentence = f"{begin}Supported: {said}; {_policies(study, k)}."
    if ordered:
        sentence = f"{begin}Not supported: {said}, and {ordered[0]}. No saving is claimed."
    evidence = (
        f"{begin}{int(100 * min(share, seen))} % of the waiting is explained by what policies see; "
        f"{100 * ENOUGH:.0f} % are asked for. In the simulator {policy} waits {span(ran)}, "
        f"{against(ran, wait)} the record; {100 * NEAR:.0f} % are allowed."
    )
    return Claim(*facts, min(share, seen), ordered, sentence, evidence)


def _policies(study: Figures, k: int) -> str:
    """Return what each policy and any schedule would wait in a part."""
    waits = [f"{o.label} {span(o.mean(study.parts[k]))}" for o in study.outcomes]
    text = f"{KNOWN[study.runs.knows]}, policies would wait: {', '.join(waits)}"
    shared = any(outcome.run.shares_gpus for outcome in study.outcomes)
    for limit in study.limits[:1]:
        whose = "no schedule without sharing" if shared else "no schedule"
        text += f"; {whose} can wait less than {span(limit.by_part[k] or 0)}"
    return text
