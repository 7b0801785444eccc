"""Muri's printed numbers."""

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.interleaving import iteration_time
from interleaving_instances import gamma

TABLE_2 = [(128, 2041, 1756), (64, 1811, 878), (4, 134, 55), (16, 890, 220)]
"""Samples per GPU and batch, samples a second alone and when all four share 16 GPUs."""


def test_figure_4() -> None:
    """A-B and C-D interleave at gamma 1, A-C at 0.75; grouping A-B and C-D is the optimum."""
    jobs = {job.id: job.stages for job in dlsched.load("muri-fig4").jobs}
    found = [gamma([jobs[a], jobs[b]]) for a, b in ("AB", "CD", "AC")]
    assert found == [1, 1, Fraction("0.75")]
    best = dlsched.solve("muri-fig4")
    assert (best.method, tuple(best.objective)) == ("blossom", (2,))


def test_fused_jobs_of_section_4_1() -> None:
    """E, fused of A and C, and F interleave at gamma 1; F with A or with C alone at 0.75."""
    jobs = {job.id: job.stages for job in dlsched.load("muri-fig4").jobs}
    fused = tuple(a + c for a, c in zip(jobs["A"], jobs["C"], strict=True))
    other = (2, 4)
    assert fused == (4, 2)
    assert gamma([fused, other]) == 1
    assert {gamma([jobs[name], other]) for name in "AC"} == {Fraction("0.75")}


def test_figure_6() -> None:
    """A has 2 on the CPU, B 2 on the GPU: gamma 0.5 with T = 5, in the worst order 0.4167 at 6."""
    instance = dlsched.load("muri-fig6")
    stages = [job.stages for job in instance.jobs]
    assert stages == [(1, 2, 1, 1), (1, 1, 2, 1)]
    for method, time, worth in (("milp", 5, 0.5), ("muri_worst_order", 6, Fraction(10, 24))):
        found = dlsched.solve(instance, method)
        assert iteration_time(stages, found.solution.groups[0].offsets) == time
        assert tuple(found.objective) == (worth,)


def test_bottlenecks_are_added_as_in_figure_13() -> None:
    """The GPU first, then the network, storage and the CPU."""
    for kinds in range(1, 5):
        made = dlsched.generate("interleaving", 1, jobs=200, bottlenecks=kinds, noise=0.0)
        longest = {made.resources[job.stages.index(max(job.stages))] for job in made.jobs}
        assert longest == {*("gpu", "network", "storage", "cpu")[:kinds]}


def test_table_2() -> None:
    """Eq. 3 with Table 1 predicts 0.918 s; the shared throughputs imply 1.165 s for all four."""
    instance = dlsched.load("muri-table2")
    best = dlsched.solve(instance)
    (group,) = best.solution.groups
    stages = {job.id: job.stages for job in instance.jobs}
    predicted = float(iteration_time([stages[j] for j in group.jobs], group.offsets))
    assert predicted == pytest.approx(918, abs=0.5)
    alone = [16_000 * batch / single for batch, single, _ in TABLE_2]
    shared = [16_000 * batch / together for batch, _, together in TABLE_2]
    assert min(shared) > 1163 and max(shared) < 1167
    # The sum of the normalised throughputs, as the table prints it, and as eq. 3 predicts it.
    assert sum(a / s for a, s in zip(alone, shared, strict=True)) == pytest.approx(2.00, abs=0.005)
    assert sum(alone) / predicted == pytest.approx(2.54, abs=0.005)
    assert dlsched.solve(instance, "muri").objective == best.objective


def test_an_unknown_preset_is_named() -> None:
    """The error names the one that there is."""
    with pytest.raises(dlsched.UnknownName, match="paper"):
        dlsched.generate("interleaving", 1, preset="trace")
