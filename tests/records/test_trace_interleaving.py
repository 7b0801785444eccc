"""The adapter of interleaving: stages as recorded or split, Muri's queue, and the pool."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.records import Trace, TraceJob, pool, queue, read_trace, snapshot

TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def job(name: str, gpus: int, submit: int, duration: int) -> TraceJob:
    """Return a job with stages of 0.25, 0.5 and 1 second."""
    return TraceJob(id=name, gpus=gpus, submit=submit, duration=duration, stages=TIMES)


def hand() -> Trace:
    """Four GPUs: a and b run from the start, c to g wait; f has two GPUs."""
    rows = [("a", 2, 0, 100), ("b", 2, 0, 60), ("c", 1, 1, 30), ("d", 1, 2, 500), ("e", 1, 3, 40)]
    jobs = [*(job(*row) for row in rows), job("f", 2, 4, 10), job("g", 1, 5, 20)]
    return Trace(name="hand", jobs=tuple(jobs))


@pytest.mark.parametrize(
    ("model", "split"),
    [
        ("resnet50", (Fraction("192.308"), Fraction("57.692"))),
        ("ShuffleNet", (Fraction("192.308"), Fraction("57.692"))),
        ("vgg16", (Fraction("214.286"), Fraction("35.714"))),
        ("a2c", (0, 250)),
        ("dqn", (0, 250)),
        ("bert", (Fraction("166.667"), Fraction("83.333"))),
        ("gpt2", (Fraction("166.667"), Fraction("83.333"))),
        (None, (125, 125)),
    ],
)
def test_the_first_stage_by_table_1(model: str | None, split: tuple[Fraction, Fraction]) -> None:
    """In milliseconds: three stages as recorded; with four 60:18, 24:4, 0.06:0.03 and 0:91."""
    one = TraceJob(id="x", gpus=1, submit=0, duration=1, model=model, stages=TIMES)
    trace = Trace(name="one", jobs=(one,))
    assert pool(trace).jobs[0].stages == (250, 500, 1000)
    assert pool(trace, resources=4).jobs[0].stages == (*split, 500, 1000)


def test_the_pool_holds_every_job() -> None:
    """All seven jobs, and half the way from the fewest GPUs, 2 (2) + 2 (1), to 10 of them."""
    assert pool(hand()).gpu_budget is None
    made = pool(hand(), budget=0.5)
    assert [j.id for j in made.jobs] == list("abcdefg")
    # Fullest groups of up to three: two of the four singles, one of the three pairs.
    assert made.gpu_budget == 4 + (10 - 4) // 2


@pytest.mark.parametrize(
    ("order", "more", "ids"),
    [
        # At 50 s: f 20, g 20, b 20, c 30, e 40, a 100, d 500 GPU-seconds; four GPUs take all.
        # Fullest grouping of a, b, f: 2 GPUs; of c, d, e, g: two groups, 2 GPUs.
        ("srsf", [], "bfgcead"),
        # A fourth job of two GPUs would need a group of its own; i behind it has a place, and goes.
        ("srsf", [job("h", 2, 6, 55), job("i", 1, 7, 200)], "bfgceaid"),
        # By attained service who waits comes first, in order of submission, then a and b.
        ("2d-las", [], "cdefgab"),
    ],
)
def test_the_queue_by_hand(order: str, more: list[TraceJob], ids: str) -> None:
    """The jobs of the queue that four GPUs can take, in the order asked for."""
    trace = Trace(name="hand", jobs=(*hand().jobs, *more))
    made = queue(trace, 50, servers=1, gpus=4, order=order)
    assert [j.id for j in made.jobs] == list(ids)
    assert made.gpu_budget == 4
    assert dlsched.solve(made, "milp").status == "optimal"


def test_the_queue_is_the_snapshot_of_the_adapter() -> None:
    """`queue` is what the adapter makes of a snapshot, whose source makes it again."""
    trace = read_trace("synthetic-1")
    made = queue(trace, "4d", resources=4, order="2d-las")
    shot = snapshot(trace, "4d", servers=8)
    assert made == shot.instance("interleaving", resources=4, order="2d-las")
    assert eval(str(made.source), {"dlsched": dlsched, "read_trace": read_trace}) == made
