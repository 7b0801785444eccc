"""Stage profiles of the models in Muri's evaluation (Tables 1, 2 and 3).

Table 1 prints, for four models on 16 GPUs, the four stages as shares of an iteration; they are here
as printed, in the order storage (load data), CPU (preprocess), GPU (propagate), network
(synchronize). They need not add up to 1: stages of one job overlap, or leave gaps (section 2.2).
Table 3 lists the eight models of the evaluation by their bottleneck. The paper prints no shares of
the other four; each has those of the model with the same bottleneck **(D)**.

Table 2 prints the samples per second of four models, each alone on 16 GPUs with the batch size of
Table 3, which is per GPU: an iteration takes 16 batches / throughput. It has VGG16 in place of
VGG19. The paper prints no throughput of the other four; each has that of the model with the same
bottleneck **(D)**.
"""

from __future__ import annotations

from typing import NamedTuple

RESOURCES = ("storage", "cpu", "gpu", "network")
TESTBED_GPUS = 16
"""GPUs of the runs in Tables 1 and 2."""


class Model(NamedTuple):
    """Milliseconds of an iteration alone, the shares of its stages, and the longest of them."""

    milliseconds: float
    shares: tuple[float, float, float, float]
    bottleneck: str


def iteration_milliseconds(batch: int, throughput: float) -> float:
    """Return the time of an iteration on the testbed, from samples per GPU and samples a second."""
    return 1000 * batch * TESTBED_GPUS / throughput


SHARES = {
    "shufflenet": (0.60, 0.18, 0.06, 0.02),
    "vgg19": (0.24, 0.04, 0.26, 0.41),
    "gpt2": (0.0006, 0.0003, 0.85, 0.28),
    "a2c": (0.00, 0.91, 0.03, 0.002),
}
"""Table 1, as printed."""

TABLE_2 = {
    "shufflenet": (128, 2041, 1756),
    "a2c": (64, 1811, 878),
    "gpt2": (4, 134, 55),
    "vgg16": (16, 890, 220),
}
"""Samples per GPU and batch (Table 3), samples a second alone and when all four share (Table 2).

Shared, all four have the same iteration time, 1.165 s: the synchronisation barrier of eq. 3. With
the shares of Table 1, eq. 3 predicts 0.918 s.
"""

_BY_BOTTLENECK = {
    "storage": ("shufflenet", "shufflenet", ("shufflenet", "resnet18")),
    "cpu": ("a2c", "a2c", ("a2c", "dqn")),
    "gpu": ("gpt2", "gpt2", ("gpt2", "bert")),
    "network": ("vgg19", "vgg16", ("vgg16", "vgg19")),
}
"""By bottleneck: the model in Table 1, the model in Table 2, and the two in Table 3."""

MODELS = {
    name: Model(iteration_milliseconds(*TABLE_2[timed][:2]), SHARES[shared], bottleneck)
    for bottleneck, (shared, timed, names) in _BY_BOTTLENECK.items()
    for name in names
}
"""All eight of Table 3, two for each bottleneck."""

BOTTLENECKS = ("gpu", "network", "storage", "cpu")
"""In the order in which Figure 13 adds them."""
