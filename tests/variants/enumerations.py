"""Every solution of a tiny instance, without model or methods; drawn variants against them."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice, permutations, product
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

import dlsched
from dlsched import Level, Variant, registry
from dlsched.problems.interleaving import iteration_time
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.prove import ProofFailed
from dlsched.testing import strategies

MOST = 1500
"""Instances with more candidates are not enumerated."""
SIZES: dict[str, dict[str, Any]] = {
    "reclaiming": {},
    "elastic": {},
    "workers": {},
    "interleaving": {},
    "utility": {"max_jobs": 2, "max_slots": 2, "max_kinds": 2, "scales": False},
    "sensitivity": {"max_jobs": 3, "max_servers": 2},
    "placement": {},
    "dispatch": {},
}
"""Options of the problems' strategies for which there are few candidates."""
DRAWN = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # to shrink takes minutes
    suppress_health_check=list(HealthCheck),
)


def instances(problem: str) -> st.SearchStrategy[Any]:
    """Return the problem's strategy with sizes that can be enumerated."""
    strategy: st.SearchStrategy[Any] = getattr(strategies, problem)(**SIZES[problem])
    return strategy


def solutions(instance: Any) -> list[Any] | None:
    """Return every solution of an instance, by the checker; None if there are too many to try."""
    owner = registry.problem(instance.problem)
    found = islice(globals()[f"_{instance.problem}"](instance), MOST + 1)
    candidates = [owner.solution(**fields) for fields in found]
    if len(candidates) > MOST:
        return None
    return [solution for solution in candidates if owner.check(instance, solution).feasible]


def best_of(reports: Sequence[Any]) -> Any:
    """Return the best objective of the solutions that fit, by their reports; None if none fits."""
    best = None
    for report in reports:
        if report.feasible and (best is None or report.objective.better_than(best)):
            best = report.objective
    return best


def spreads(room: Mapping[Any, int], total: int) -> Iterator[dict[Any, int]]:
    """Yield every way to take so many of what is in some places."""
    for counts in product(*(range(min(most, total) + 1) for most in room.values())):
        if sum(counts) == total:
            yield {place: n for place, n in zip(room, counts, strict=True) if n}


def chosen(options: Mapping[str, Sequence[Any]], optional: bool = True) -> Iterator[Any]:
    """Yield a way for each name, or none if that is an option."""
    ways = [[None, *some] if optional else some for some in options.values()]
    for choice in product(*ways):
        pairs = zip(options, choice, strict=True)
        yield {name: way for name, way in pairs if way is not None}


def _reclaiming(instance: Any) -> Iterator[Any]:
    for some in combinations([server.id for server in instance.servers], instance.demand):
        yield {"returned": some}


def _elastic(instance: Any) -> Iterator[Any]:
    options: dict[str, Any] = {}
    for job in instance.jobs:
        counts = range(job.max_workers + 1)
        pairs = [{"training": a, "loan": b} for a, b in product(counts, counts)]
        options[job.id] = pairs if instance.pools else counts
    for numbers in chosen(options, optional=False):
        yield {"workers": {job: given for job, given in numbers.items() if given}}


def _workers(instance: Any) -> Iterator[Any]:
    options = {}
    for job in instance.jobs:
        room = {server.id: server.free // job.gpus_per_worker for server in instance.servers}
        more = [way for count in range(job.flexible + 1) for way in spreads(room, count)]
        pairs = product(spreads(room, job.base), more)
        options[job.id] = [{"base": base, "flexible": flexible} for base, flexible in pairs]
    for placement in chosen(options):
        yield {"placement": placement}


def _interleaving(instance: Any) -> Iterator[Any]:
    kinds = len(instance.resources)
    largest = min(instance.max_group_size or len(instance.jobs), kinds)

    def partitions(jobs: Sequence[Any]) -> Iterator[list[Sequence[Any]]]:
        if not jobs:
            yield []
            return
        for size in range(min(len(jobs), largest)):
            for others in combinations(jobs[1:], size):
                rest = [job for job in jobs[1:] if job not in others]
                for groups in partitions(rest):
                    yield [[jobs[0], *others], *groups]

    def best(group: Sequence[Any]) -> Any:
        stages = [job.stages for job in group]
        time = lambda offsets: iteration_time(stages, offsets)  # noqa: E731
        offsets = min(permutations(range(kinds), len(group)), key=time)
        return {"jobs": [job.id for job in group], "offsets": offsets}

    for groups in partitions(instance.jobs):
        if all(len({job.gpus for job in group}) == 1 for group in groups):
            yield {"groups": [best(group) for group in groups]}


def _utility(instance: Any) -> Iterator[Any]:
    options: dict[Any, Any] = {}
    room = {(m.id, kind): n for m in instance.machines for kind, n in m.gpus.items() if n}
    for job in instance.jobs:
        usable = {at: n for at, n in room.items() if instance.rate(job, at[1])}
        counts = range(1, sum(usable.values()) + 1) if instance.forking else [job.workers]
        ways = [way for count in counts for way in spreads(usable, count)]
        for slot in range(job.arrival, instance.slots + 1):
            options[job.id, slot] = ways
    for choice in chosen(options):
        schedule: dict[str, list[Any]] = {}
        for (job, slot), way in choice.items():
            gpus: dict[str, dict[str, int]] = {}
            for (machine, kind), n in way.items():
                gpus.setdefault(machine, {})[kind] = n
            schedule.setdefault(job, []).append({"slot": slot, "gpus": gpus})
        yield {"schedule": schedule}


def _sensitivity(instance: Any) -> Iterator[Any]:
    room = {str(server): instance.servers.gpus for server in range(instance.servers.count)}
    options = {
        job.id: [
            {"cpus": choice.cpus, "memory": choice.memory, "gpus": gpus}
            for choice in instance.choices[job.profile]
            for gpus in spreads(room, instance.profile(job).gpus)
        ]
        for job in instance.jobs
    }
    for allocation in chosen(options, optional=instance.may_wait):
        yield {"allocation": allocation}


def _placement(instance: Any) -> Iterator[Any]:
    regions = [region.id for region in instance.regions]
    for home in chosen({table.id: regions for table in instance.tables}, optional=False):
        yield {"home": home}


def _dispatch(instance: Any) -> Iterator[Any]:
    options: dict[str, list[Any]] = {workload.id: [] for workload in instance.pending}
    for workload, region in product(instance.pending, instance.regions):
        if not set(workload.tables) <= set(region.tables):
            continue
        ways = {}
        for job in workload.jobs:
            ways[job.id] = [
                {"cluster": cluster.id, "on": on}
                for cluster in region.clusters
                for on in spreads(_machines(instance, cluster, job), job.tasks)
            ]
        options[workload.id] += [
            {"region": region.id, "jobs": jobs} for jobs in chosen(ways, optional=False)
        ]
    running = [workload.id for workload in instance.running]
    for start in chosen(options):
        for k in range(len(running) + 1):
            for preempt in combinations(running, k):
                yield {"start": start, "preempt": preempt}


def _machines(instance: Any, cluster: Any, job: Any) -> dict[str, int]:
    groups = [group.machines for group in instance.groups if group.cluster == cluster.id]
    of_type = [group for group in groups if job.gpu_type in (None, group.gpu_type)]
    return {f"{group.id}#{k}": job.tasks for group in of_type for k in range(group.count)}


COEFFICIENTS = ["-3", "-1", "1", "2", "0.1", "0.3", "2.5"]


def nameable(instance: Any) -> dict[str, tuple[str, Any]]:
    """Return the component and the index of each variable that a variant may name, by its name."""
    plain = dlsched.model(instance, variant=Variant(instance.problem, "none"))
    found = {}
    for name in registry.problem(instance.problem).module("model").NAMEABLE:
        component = plain.component(name)
        for key in () if component is None else component.index_set():
            with contextlib.suppress(KeyError, ValueError):
                found[component[key].name] = name, key
    return found


@st.composite
def changes(draw: st.DrawFn, instance: Any, levels: bool) -> Variant:
    """Draw a variant."""
    known = nameable(instance)
    assume(known)
    names = list(known)
    term = st.tuples(st.sampled_from(COEFFICIENTS), st.sampled_from(names))
    terms = st.lists(term, min_size=1, max_size=4, unique_by=lambda pair: pair[1])
    row = st.tuples(
        terms, st.sampled_from(["<=", ">=", "=="]), st.sampled_from(["0", "0.3", "1", "2", "-0.1"])
    )
    rows = draw(st.lists(row, max_size=2))
    power = draw(st.sampled_from([0, -9, 9]))
    fix = draw(st.dictionaries(st.sampled_from(names), st.integers(0, 1), max_size=1))
    own = draw(terms)
    sense = draw(st.sampled_from(["minimize", "maximize"]))

    def total(m: Any, pairs: Any) -> Any:
        cells = ((c, known[name]) for c, name in pairs)
        return sum(float(f"{c}e{power}") * m.component(name)[key] for c, (name, key) in cells)

    def constrain(m: Any, _: Any) -> None:
        m.drawn = pyo.ConstraintList()
        for pairs, relation, least in rows:
            body, limit = total(m, pairs), float(f"{least}e{power}")
            m.drawn.add({"<=": body <= limit, ">=": body >= limit}.get(relation, body == limit))
        m.none = pyo.Set(initialize=[1])

    objective = None
    if levels and draw(st.booleans()):
        base = [level.name for level in registry.problem(instance.problem).levels]
        objective = [Level("own", sense, lambda m, _: total(m, own)), *draw(st.permutations(base))]
        objective = objective[: draw(st.integers(1, len(objective)))]
    return Variant(instance.problem, "drawn", constrain, objective, fix)


def assert_not_beaten(bounds: Any, best: Any) -> None:
    """Assert that an objective is no better than bounds, by level while they are attained."""
    for (level, bound), value in zip(bounds.pairs(), best, strict=True):
        assert bound is None or not level.better(value, Fraction(bound.value)), (level, value)
        if bound is None or value != bound.value:
            break


def assert_right(
    instance: Any, variant: Variant, known: Any, folder: Path | None, *methods: str
) -> None:
    """Compare what methods say of a variant with all solutions of its problem; in a folder, prove.

    Objective, infeasibility and bounds are theirs; what is worse or forbidden has no proof.
    """
    reports = [(s, dlsched.verify(instance, s, variant=variant)) for s in known]
    best = best_of([report for _, report in reports])
    for method in methods:
        result = dlsched.solve(instance, method, variant=variant)
        if best is None:
            assert result.status == "infeasible", result.reason
            continue
        assert result.status == "optimal", result.reason
        near = pytest.approx(list(map(float, best)), rel=1e-6, abs=1e-12)
        assert list(result.objective) == near
        assert_not_beaten(result.certified, best)
        assert_not_beaten(dlsched.bound(instance, variant=variant), best)
        assert dlsched.verify(instance, result.solution, variant=variant).feasible
    if folder is None:
        return
    if best is None:
        proof = dlsched.prove(instance, variant=variant)
        assert dlsched.check_proof(instance, proof, variant=variant).levels[0].value is None
        return
    proof = dlsched.prove(instance, result.solution, variant=variant)
    levels = dlsched.check_proof(instance, proof, variant=variant).levels
    assert [float(level.value) for level in levels] == list(map(float, result.objective))
    for solution, report in reports:
        if not report.feasible or worse(result.objective, report.objective):
            with pytest.raises(ProofFailed):
                dlsched.prove(instance, solution, variant=variant)
            labels = {"instance": instance.name, "instance_sha256": instance.sha256}
            forged = proof.to_data() | {"solution": solution.to_data() | labels}
            for level, value in zip(forged["levels"], report.objective or (), strict=False):
                level["target"] = str(value)
            (folder / "forged.json").write_text(json.dumps(forged))
            with pytest.raises(InvalidProof):
                dlsched.check_proof(instance, folder / "forged.json", variant=variant)
            break


def worse(best: Any, other: Any) -> bool:
    """Return whether an objective is worse by more than what nine digits leave open."""
    pairs = [(float(a), float(b)) for a, b in zip(best, other, strict=True)]
    first = next(((a, b) for a, b in pairs if a != b), (0.0, 0.0))
    return abs(first[0] - first[1]) > 1e-6 * max(map(abs, first))
