"""TUNE, GREEDY and the baselines: their steps by hand, and their properties."""

from fractions import Fraction

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.testing import strategies
from drawing import drawn
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of

TUNED = ("tune", "tune_public", "proportional")
STATIC = ("greedy", "drf", "tetris")


@drawn(60, strategies.sensitivity(max_jobs=7))
def test_every_job_is_placed(instance: Instance) -> None:
    """On up to 8 servers, jobs split or not: a job is not placed only for lack of free GPUs."""
    # The checker accepts every solution, in which no job is below its proportional throughput.
    gpus = [instance.profile(job).gpus for job in instance.jobs]
    fits = sum(gpus) <= instance.servers.count * instance.servers.gpus
    for name in TUNED:
        result = dlsched.solve(instance, name)
        if result.solution is None:
            assert not instance.may_wait
            assert not fits or not instance.allow_split
        elif instance.allow_split and fits:
            assert result.details["waiting"] == 0


@drawn(50, strategies.sensitivity(max_jobs=7))
def test_jobs_wait_only_where_they_may(instance: Instance) -> None:
    """In greedy, drf and tetris jobs that do not fit wait, or there is no solution."""
    waits = instance.model_copy(update={"may_wait": True})
    for heuristic in STATIC:
        free = dlsched.solve(waits, heuristic)
        strict = dlsched.solve(instance.model_copy(update={"may_wait": False}), heuristic)
        assert free.solution is not None
        assert (strict.solution is None) == (free.details["waiting"] > 0)
        for name, given_ in free.solution.allocation.items():
            job = next(job for job in instance.jobs if job.id == name)
            assert (given_.cpus, given_.memory) == instance.best_cases[job.profile][:2]


def test_best_case_is_capped_at_one_server() -> None:
    """Section 6: of 6 CPUs two GPUs get 3 each, and all three 2; more, on two servers, get 4."""
    profiles = {f"p{g}": profile(g, [2, 3, 4], [1], [[1], [2], [3]]) for g in (2, 3, 4)}
    profiles["equal"] = profile(1, [2, 4], [1, 2], [[1, 1], [1, 1]])  # the least of equals
    made = made_of((2, 3, 6, 3), profiles, list(profiles))
    best = [made.best_cases[name][:2] for name in profiles]
    assert best == [(3, 1), (2, 1), (4, 1), (2, 1)]


def test_a_demand_below_the_share_stays() -> None:
    """Section 4.2, step 2: one server of 3 GPUs, 6 CPUs, 3 GB; the modest job keeps one CPU."""
    # Two jobs run at 0.5, 1, 1.5 with 1, 2, 3 CPUs and have 3 each; the third needs one, and one of
    # them reverts to 2: 1.5 + 1 + 1. With the modest job raised to its share both would: 3.
    profiles = {"sensitive": by_cpus(0.5, 1, 1.5), "modest": by_cpus(1, 1)}
    made = made_of((1, 3, 6, 3), profiles, ["sensitive", "sensitive", "modest"])
    assert tuple(dlsched.solve(made, "tune").objective) == (Fraction(7, 2), 0)
    assert tuple(dlsched.solve(made).objective) == (Fraction(7, 2), 0)


def test_a_reverted_job_that_takes_more_memory_overloads_no_server() -> None:
    """A job reverted for its CPUs takes more memory on all its servers; the optimum is 5.2."""
    profiles = {
        "a": profile(8, [3, 12], [1, 4], [[0.5, 1], [1.2, 1.2]]),
        "b": profile(12, [2, 3], [4, 9], [[0.5, 1.2], [1, 1.2]]),
    }
    made = made_of((8, 8, 24, 32), profiles, "baaba")
    best = dlsched.solve(made)
    assert (best.status, best.objective[0]) == ("optimal", Fraction(26, 5))
    for name in ("tune", "tune_public"):
        found = dlsched.solve(made, name)
        assert 5 <= found.objective[0] <= best.objective[0]
    assert dlsched.solve(made, "greedy").status == "no solution"
    waits = made.model_copy(update={"may_wait": True})
    assert dlsched.solve(waits, "greedy").objective[0] < best.objective[0]


def test_peers_are_reverted_just_enough() -> None:
    """10 CPUs, 5 + 3 + 1 of them allocated, 2 needed: the job with 3 releases the missing one."""
    # By CPUs per GPU, as in the public code, the one with 5 reverts.
    profiles = {
        "large": profile(1, [2, 5], [1], [[1], [4]]),
        "small": profile(1, [2, 3], [1], [[1], [1.5]]),
        "modest": by_cpus(1, 1),
        "plain": profile(1, [2], [1], [[1]]),
    }
    made = made_of((1, 5, 10, 5), profiles, ["large", "small", "modest", "plain"])
    kept = {}
    for name in ("tune", "tune_public"):
        given_ = dlsched.solve(made, name).solution.allocation
        kept[name] = [given_[f"j{i}"].cpus for i in range(4)]
    assert kept == {"tune": [5, 2, 1, 2], "tune_public": [2, 3, 1, 2]}


def test_orders_differ() -> None:
    """6 CPUs: in the file's order a job keeps 3 and the larger one reverts; descending keeps 4."""
    profiles = {
        "three": profile(1, [2, 3], [1], [[1], [1.5]]),
        "four": profile(1, [2, 4], [1], [[1], [3]]),
        "modest": by_cpus(1, 1),
    }
    made = made_of((1, 3, 6, 3), profiles, ["three", "four", "modest"])
    worth = {name: dlsched.solve(made, name).objective[0] for name in ("tune", "tune_public")}
    # In the file's order: 3, then the share of 2, then 1; descending: 4, then the share of 2, and
    # then one CPU is missing, so that the job with 4 reverts.
    assert worth == {"tune": 3, "tune_public": Fraction(7, 2)}


def test_greedy_leaves_gpus_idle() -> None:
    """Section 3.3: two sensitive jobs get all CPUs of a server with four GPUs; others wait."""
    profiles = {"sensitive": profile(1, [1, 2, 4], [1], [[0.5], [1], [2]]), "modest": by_cpus(1, 1)}
    jobs = ["sensitive", "sensitive", "modest", "modest"]
    made = made_of((1, 4, 8, 4), profiles, jobs, may_wait=True)
    result = dlsched.solve(made, "greedy")
    assert list(result.solution.allocation) == ["j0", "j1"]
    assert (result.details["idle_gpus"], result.details["waiting"]) == (2, 2)
    assert result.objective[0] == 4
    tuned = dlsched.solve(made, "tune")
    assert (tuned.details["idle_gpus"], tuned.objective[0]) == (0, 5)  # 4 + 2 + 1 + 1 CPUs
    strict = dlsched.solve(made.model_copy(update={"may_wait": False}), "greedy")
    assert (strict.status, strict.termination) == ("no solution", "finished")
    assert "job j2 and 1 more" in strict.reason


def test_tune_takes_the_first_jobs_that_fit_the_gpus() -> None:
    """Section 4.2: of jobs with 2, 3 and 1 GPUs on 3, the second is skipped."""
    profiles = {f"p{g}": profile(g, [1], [1], [[1]]) for g in (1, 2, 3)}
    made = made_of((1, 3, 3, 3), profiles, ["p2", "p3", "p1"], may_wait=True)
    assert list(dlsched.solve(made, "tune").solution.allocation) == ["j0", "j2"]


def test_drf_and_tetris_are_orderings() -> None:
    """Section 5.7: the dominant share is of memory for one job and of CPUs for the other."""
    # One server of 4 GPUs, 8 CPUs, 8 GB. A's demand is 4 CPUs and 2 GB: shares 1/4, 1/2, 1/4; B's 2
    # CPUs and 5 GB: 1/4, 1/4, 5/8. DRF takes A first, 1/2 < 5/8. A's resource share is 1, B's 9/8;
    # A is twice as fast as at its share and B five times: 1/2 > 9/40, so that Tetris takes B first.
    # Only one of A and C, which needs 5 CPUs, fits.
    profiles = {
        "a": profile(1, [2, 4], [2], [[1], [2]]),
        "b": profile(1, [2], [2, 5], [[1, 5]]),
        "c": profile(1, [2, 5], [2, 4], [[1, 1], [1, 3]]),
    }
    made = made_of((1, 4, 8, 8), profiles, ["c", "b", "a"], may_wait=True)
    # c: shares 1/4, 5/8, 1/2; after a (4, 2) there are 4 CPUs and 6 GB: b fits, c does not.
    assert list(dlsched.solve(made, "drf").solution.allocation) == ["j1", "j2"]
    # Remaining time x share: b 9/40, c 11/24, a 1/2; after b (2, 5) are 6 CPUs, 3 GB: a fits.
    assert list(dlsched.solve(made, "tetris").solution.allocation) == ["j1", "j2"]
    # With a hundredth of the remaining time c is first, and leaves 3 CPUs and 4 GB: no other fits.
    soon = dlsched.solve(made, "tetris", remaining={"j0": 0.01, "j1": 1, "j2": 1})
    assert list(soon.solution.allocation) == ["j0"]
