"""The heuristics for elastic: the jobs that they start, and which job gets the next worker."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from elastic_instances import LOAN, TRAINING, epoch, job
from hypothesis import given, settings

import dlsched
from dlsched.problems.elastic import Instance, jct
from dlsched.problems.elastic.definition.two_pools_choices import choices
from dlsched.problems.elastic.instances.generate import lossy_times
from dlsched.problems.elastic.instances.strategy import VARIATIONS, instances
from dlsched.problems.elastic.programs.gpu_prices import Relaxation, centre, cut, launch
from dlsched.problems.elastic.programs.lagrangian import relax
from dlsched.problems.elastic.structures.choice_arrays import choices_of
from dlsched.problems.elastic.structures.knapsack import items_of


def workers_of(instance: Instance, method: str = "lyra", **options: Any) -> Any:
    """Return the workers that a rule gives."""
    return dlsched.solve(instance, method, **options).solution.workers


def test_afs_gives_every_base_demand_first() -> None:
    """Lyra, section 7.1: no running job grows before the waiting ones have their base."""
    made = epoch(3, job("r", 1, 4, 10, running=True), job("w", 2, 2, 1000))
    assert workers_of(made, "afs") == {"r": 2, "w": 2}


@pytest.mark.parametrize(
    ("capacity", "workers"), [(1, (2, 1, 1)), (3, (2, 1, 2)), (4, (2, 2, 2)), (5, (3, 2, 2))]
)
def test_afs_adds_single_workers_by_gain_per_gpu(capacity: int, workers: Any) -> None:
    """Work per second, in GPUs at the base demand: b gains 0.5, c 0.75, a 1 and 0.4."""
    made = epoch(
        capacity,
        job("a", 1, 3, [12, 6, 5], running=True),
        job("b", 1, 2, [900, 600], running=True),
        job("c", 1, 2, [7, 4], 2, running=True),
    )
    assert workers_of(made, "afs") == dict(zip("abc", workers, strict=True))


def test_afs_does_not_ask_what_is_left_of_a_job() -> None:
    """Two jobs that scale alike gain alike, whatever is left; the first in the queue grows."""
    jobs = job("long", 1, 4, 1000, running=True), job("short", 1, 4, 10, running=True)
    for rule in ("afs", "fifo", "lyra", "exact"):
        answer = dlsched.solve(epoch(3, *jobs), rule)
        assert answer.solution.workers["long"] == 4
        assert answer.objective.reduction == 3000
    assert dlsched.solve(epoch(3, *jobs[::-1]), "afs").objective.reduction == 30
    assert dlsched.solve(epoch(3, *jobs, loan=1), "afs").objective.reduction == 3000


def test_afs_takes_the_queue_in_its_order() -> None:
    """Jobs start in the file's order; those that do not fit are skipped."""
    jobs = job("x", 3, 3, 5), job("y", 2, 2, 1), job("z", 1, 1, 9)
    assert workers_of(epoch(4, *jobs), "afs") == {"x": 3, "z": 1}
    assert workers_of(epoch(4, *jobs[::-1]), "afs") == {"z": 1, "y": 2}


def test_lyra_starts_the_shortest_and_skips_what_does_not_fit() -> None:
    """Section 5.2: shortest running time first; the knapsack divides the remaining GPUs."""
    made = epoch(6, job("long", 2, 2, 50), job("short", 1, 1, 5), job("wide", 6, 6, 10),
                 job("grows", 1, 3, 40, running=True))  # fmt: skip
    assert workers_of(made) == {"long": 2, "short": 1, "grows": 3}


@pytest.mark.parametrize(("shortest", "workers"), [("base", {"b": 1}), ("minimum", {"a": 1})])
def test_the_shortest_by_either_time(shortest: str, workers: Any) -> None:
    """With base workers b is shorter, 30 s against 40; with the most a is, 10 s against 30."""
    made = epoch(1, job("a", 1, 4, 10), job("b", 1, 1, 30))
    assert workers_of(made, shortest=shortest) == workers


@pytest.mark.parametrize(
    ("power", "speeds"),
    [(False, ("2", "2.8", "3.6", "4.4")), (True, ("2", "2.8", "3.44", "3.952"))],
)
def test_the_loss_of_an_added_worker(power: bool, speeds: tuple[str, ...]) -> None:
    """Section 7.2: each added worker brings 0.8; as a variant, the n-th brings 0.8**n."""
    times = lossy_times(10**6, 2, 5, power=power)
    fastest = Fraction(speeds[-1])
    assert times == [round(10**6 * fastest / Fraction(s)) for s in speeds]


@pytest.mark.parametrize("scaling", ["loss", "power_loss"])
def test_the_generator_draws_either_loss(scaling: str) -> None:
    """The parameter selects the loss; the two differ from the second added worker on."""
    made = dlsched.generate("elastic", seed=2, jobs=30, scaling=scaling)
    elastic = [row for row in made.jobs if row.running_times and len(row.running_times) > 2]
    assert elastic
    for row in elastic:
        fastest = int(row.running_times[-1])
        power = scaling == "power_loss"
        times = lossy_times(fastest, row.min_workers, row.max_workers, power=power)
        assert list(row.running_times) == times


def test_elastic_fungible_jobs_prefer_loan() -> None:
    """Section 5.3: an elastic job starts on loan, an inelastic one in training."""
    made = epoch(4, job("e", 1, 2, 9, fungible=True), job("i", 1, 1, 9, fungible=True), loan=4)
    assert workers_of(made) == {"e": {"loan": 2}, "i": {"training": 1}}


def test_fungible_jobs_take_the_other_pool_if_they_must() -> None:
    """What does not fit in the preferred pool starts in the other one; others wait."""
    made = epoch(3, job("e", 3, 4, 9, fungible=True), job("i", 2, 2, 99, fungible=True), loan=2)
    assert workers_of(made) == {"e": {"training": 3}, "i": {"loan": 2}}
    made = epoch(1, job("t", 2, 2, 9), job("u", 1, 1, 99), loan=5)
    assert workers_of(made) == {"u": {"training": 1}}


def test_heterogeneous_jobs_come_last() -> None:
    """Section 6: the shorter heterogeneous job gets what the others leave, in both phases."""
    made = epoch(3, job("h", 2, 2, 1, heterogeneous=True), job("n", 1, 3, 50), loan=0)
    assert workers_of(made) == {"n": {"training": 3}}
    made = epoch(3, job("h", 1, 2, 1, heterogeneous=True), job("n", 2, 2, 50), loan=1)
    assert workers_of(made, shortest="minimum") == {
        "n": {"training": 2},
        "h": {"training": 1, "loan": 1},
    }


def test_heterogeneous_jobs_overflow_and_grow_on_loan() -> None:
    """Base in training, what does not fit on loan; flexible workers on loan if that is faster."""
    flags = {"heterogeneous": True}
    assert workers_of(epoch(1, job("h", 3, 3, 9, **flags), loan=5)) == {
        "h": {"training": 1, "loan": 2}
    }
    # Two workers in training have speed 2. With up to four on loan the speed is at most
    # 0.7 x (2 + 0.5 x 4) = 2.8; with one it is 1.75, slower than alone.
    made = epoch(2, job("h", 2, 6, 90, **flags), loan=5)
    assert workers_of(made) == {"h": {"training": 2, "loan": 4}}
    assert workers_of(epoch(2, job("h", 2, 6, 90, **flags), loan=1)) == {"h": {"training": 2}}


def test_running_jobs_grow_where_they_are() -> None:
    """A fungible job with its base on loan gets no GPUs of training."""
    flags = {"running": True, "fungible": True, "base_pool": "loan"}
    assert workers_of(epoch(9, job("r", 1, 9, 9, **flags), loan=2)) == {"r": {"loan": 3}}


def test_fifo_by_hand() -> None:
    """Base workers in the file's order until one does not fit, then growth where the base is.

    The elastic job e starts on loan and grows there; h, which fits in training alone, does not use
    the loan GPU; w does not fit, so the smaller s waits, too.
    """
    made = epoch(5, job("e", 1, 3, 9, fungible=True), job("h", 2, 9, 9, heterogeneous=True),
                 job("w", 4, 4, 1), job("s", 1, 1, 1), loan=4)  # fmt: skip
    assert workers_of(made, "fifo") == {"e": {"loan": 3}, "h": {"training": 5}}
    # On both kinds of GPU already, h grows on loan first.
    made = epoch(1, job("h", 2, 4, 9, heterogeneous=True), loan=3)
    assert workers_of(made, "fifo") == {"h": {"training": 1, "loan": 3}}


def test_afs_by_hand() -> None:
    """One worker at a time, to the job and pool with the largest gain in throughput per GPU.

    A worker adds 1 to a in training, 0.8 to c there, and 0.5 to b on loan. So a gets the two that
    are left in training, though c comes first, and c only what a cannot use.
    """
    lossy = job("c", 1, 2, [9, 5])
    made = epoch(4, lossy, job("a", 1, 3, 20), job("b", 1, 2, 20, fungible=True), loan=3)
    assert workers_of(made, "afs") == {
        "a": {"training": 3},
        "b": {"loan": 2},
        "c": {"training": 1},
    }
    made = epoch(5, *made.to_data()["jobs"], loan=3)
    assert workers_of(made, "afs")["c"] == {"training": 2}


def test_afs_does_not_look_two_workers_ahead() -> None:
    """Three on loan would help a job of two in training, but the first one slows it down."""
    flags = {"heterogeneous": True}
    assert workers_of(epoch(2, job("h", 2, 6, 90, **flags), loan=4), "afs") == {
        "h": {"training": 2}
    }
    # With a share of 1 every worker helps, those of training more.
    made = epoch(3, job("h", 2, 6, 90, **flags), loan=4).model_copy(update={"mixed_efficiency": 1})
    assert workers_of(made, "afs") == {"h": {"training": 3, "loan": 3}}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_loan_the_rules_are_those_of_one_capacity(seed: int) -> None:
    """With nothing on loan `afs`, `fifo` and completion times are those of training alone."""
    one = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30)
    two = dlsched.generate("elastic", seed=seed, jobs=12, capacity=30, loan=0,
                           fungible=0.0, heterogeneous=0.0)  # fmt: skip
    for name in ("afs", "fifo"):
        plain = {j: {"training": n} for j, n in workers_of(one, name).items()}
        assert workers_of(two, name) == plain
    for rule in ("shortest", "longest", "equal"):
        assert jct(two, rule) == jct(one, rule)


def test_completion_times_on_two_pools_by_hand() -> None:
    """b is on loan from the start, at half speed; c waits for a, then both GPUs are its own.

    a: 60 s of work on 2 GPUs of training. b: 30 s on one of loan take 60. c: 40 s of work with two
    workers follow at 30 s.
    """
    made = epoch(2, job("a", 2, 2, 30), job("b", 1, 1, 30, fungible=True, running=True,
                 base_pool="loan"), job("c", 1, 2, 20), loan=1)  # fmt: skip
    made = made.model_copy(update={"pools": epoch(2, loan=0).pools})
    assert jct(made, ["a", "b", "c"]).times == {"a": 30, "b": 60, "c": 50}


def test_started_jobs_stay_where_their_base_is() -> None:
    """The elastic e starts on loan; when training is free again, it stays there."""
    made = epoch(2, job("i", 2, 2, 10), job("e", 1, 2, 10, fungible=True), loan=2)
    assert jct(made, ["i", "e"]).times == {"i": 10, "e": 20}


def test_a_job_that_never_fits_is_named() -> None:
    """The error has the GPUs of both pools."""
    with pytest.raises(dlsched.OptionError, match="'a' needs more GPUs than there are: 1 and 5"):
        jct(epoch(1, job("a", 2, 2, 1), loan=5))


def test_the_generator_adds_pools_to_the_same_jobs() -> None:
    """With GPUs on loan the jobs are the same but for the flags, whose shares are as asked for."""
    plain = dlsched.generate("elastic", seed=4, jobs=400, capacity=90)
    made = dlsched.generate("elastic", seed=4, jobs=400, capacity=90, loan=30)
    assert [(p.id, p.capacity) for p in made.by_pool] == [("training", 90), ("loan", 30)]
    flags = {"fungible": False, "heterogeneous": False, "base_pool": None}
    assert tuple(each.model_copy(update=flags) for each in made.jobs) == plain.jobs
    assert 0.15 < sum(each.fungible for each in made.jobs) / 400 < 0.27
    assert 0.06 < sum(each.heterogeneous for each in made.jobs) / 400 < 0.14
    assert all((each.base_pool is not None) == each.running for each in made.jobs)
    assert not any(each.base_pool == "loan" and not each.fungible for each in made.jobs)


EPOCH: dict[str, Any] = {"items": 354, "capacity": 245}


@given(instances(**VARIATIONS[1]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_arrays_have_the_choices_that_fit(instance: Instance) -> None:
    """Those of every job as the definition has them, and for a pending one to wait."""
    found = choices_of(instance)
    training, loan = (pool.capacity for pool in instance.by_pool)
    at = 0
    for j, (row, own) in enumerate(zip(instance.jobs, choices(instance), strict=True)):
        fitting = [c for c in own if c.gpus[0] <= training and c.gpus[1] <= loan]
        assert found.starts[j] == at
        if not row.running:
            assert found.workers[at].tolist() == [0, 0]
            at += 1
        mine = slice(at, at + len(fitting))
        pairs = [tuple(pair) for pair in found.workers[mine].tolist()]
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        expected = sorted(fitting, key=lambda c: c.workers)
        assert [pairs[k] for k in order] == [c.workers for c in expected]
        assert [tuple(found.gpus[mine][k]) for k in order] == [c.gpus for c in expected]
        at += len(fitting)
    assert at == len(found.row)


def test_savings_are_those_of_the_definition_in_one_unit() -> None:
    """The unit is the largest work of a job, and cancels."""
    instance = dlsched.generate("elastic", 3, items=60, capacity=40, loan=20, heterogeneous=0.5)
    found = choices_of(instance)
    exact = {(c.job, c.workers): float(c.reduction) for own in choices(instance) for c in own}
    wanted, got = [], []
    for j, pair, value in zip(found.row, found.workers.tolist(), found.value, strict=True):
        if any(pair):
            wanted.append(exact[instance.jobs[j].id, tuple(pair)])
            got.append(value)
    scale = max(wanted) / max(got)
    assert np.allclose(np.array(got) * scale, wanted, rtol=1e-9, atol=1e-9 * max(wanted))


def test_half_of_a_square_is_cut_through_its_centre() -> None:
    """The centre of gravity of a square, and of the triangle that a diagonal cut leaves."""
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    assert centre(square) == (1.0, 1.0)
    left = cut(square, np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    assert {(round(x, 9), round(y, 9)) for x, y in left} == {(0, 0), (2, 0), (0, 2)}
    assert centre(left) == pytest.approx((2 / 3, 2 / 3))
    assert centre([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]) == (1.0, 1.0)  # no area is left


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
def test_the_relaxation_is_that_of_dp(running: float) -> None:
    """With one capacity the bound is that of the exact relaxation, to six digits."""
    instance = dlsched.generate("elastic", 1, running=running, **EPOCH)
    items = items_of(instance)
    exact = relax(items)
    found = choices_of(instance)
    _, most = launch(found)
    assert most == items.most_launched
    top = max(row.min_running_time * row.max_workers for row in instance.jobs)
    bound = float(items.seconds(exact.bound >> exact.shift))
    assert Relaxation(found, most).bound * float(top) == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("loan", [None, 80])
def test_prices_is_within_a_thousandth_on_the_papers_epochs(loan: int | None) -> None:
    """As many jobs as can start, and 0.1 % less time saved at most."""
    for seed, running in itertools.product((1, 2), (0.0, 0.5, 1.0)):
        options = {} if loan is None else {"loan": loan, "heterogeneous": 0.1}
        instance = dlsched.generate("elastic", seed, running=running, **EPOCH, **options)
        best = dlsched.solve(instance).objective
        found = dlsched.solve(instance, "prices").objective
        assert found.launched == best.launched
        assert best.reduction - found.reduction <= abs(best.reduction) / 1000


def test_without_tables_what_is_left_is_still_used() -> None:
    """With no additions allowed the rule keeps the best choices seen and fills the rest."""
    instance = dlsched.generate("elastic", 2, running=1.0, **EPOCH)
    best = dlsched.solve(instance).objective
    found = dlsched.solve(instance, "prices", steps=0).objective
    assert 0.98 * best.reduction < found.reduction <= best.reduction


def test_as_many_gpus_as_a_document_may_have() -> None:
    """Numbers of GPUs and seconds up to 1e15 are taken, and there may be no GPU."""
    large = job("a", 1, 3, 10**15, 10**15 // 2)
    best = dlsched.solve(epoch(10**15, large))
    assert dlsched.solve(epoch(10**15, large), "prices").objective == best.objective
    assert dlsched.solve(epoch(0, large), "prices").objective == (0, 0)


@pytest.mark.parametrize("training", [1e-100, 1e-12, 1])
@pytest.mark.parametrize("loan", [1e-100, 1e-12, 1e14])
@pytest.mark.parametrize("efficiency", [1, 1e-100])
def test_speeds_as_far_apart_as_a_document_may_have(
    training: float, loan: float, efficiency: float
) -> None:
    """No product of times overflows, and as many jobs start as can."""
    far = Instance(
        name="speeds",
        pools=[
            TRAINING | {"capacity": 8, "speed": training}, LOAN | {"capacity": 5, "speed": loan}
        ],
        mixed_efficiency=efficiency,
        jobs=[
            job("a", 2, 3, 10**15, 2, heterogeneous=True),
            job("b", 2, 3, 1e-100, 2, heterogeneous=True),
            job("c", 2, 3, 10**15, 2, fungible=True),
            job("d", 2, 3, 10**15, 2, running=True, base_pool="loan", fungible=True),
        ],
    )  # fmt: skip
    best = dlsched.solve(far)
    found = dlsched.solve(far, "prices")
    assert found.objective.launched == best.objective.launched == 3
    assert not found.objective.better_than(best.objective)
