"""Stage profiles of the models in Muri's evaluation (Tables 1, 2 and 3).

Table 1 prints, for four models on 16 GPUs, the four stages as shares of an iteration; they are here
as printed, in the order storage (load data), CPU (preprocess), GPU (propagate), network
(synchronize). They need not add up to 1: stages of one job overlap, or leave gaps (section 2.2).
Table 3 lists the eight models of the evaluation by their bottleneck.

Table 2 prints the samples per second of four models, each alone on 16 GPUs with the batch size of
Table 3, which is per GPU: an iteration takes 16 batches / throughput. It has VGG16 in place of
VGG19.

What the paper does not print is fitted to the traces that its authors published, jobs on 16 GPUs:
the shares of four models, and the iteration times of four. These traces have data loading and
preprocessing as one stage; it is split as Table 1 splits that of the model with the same bottleneck
**(D)**. Stages are the same with any number of GPUs **(D)**.
"""

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

_TIMES = {name: iteration_milliseconds(*row[:2]) for name, row in TABLE_2.items()}
MODELS = {
    "shufflenet": Model(_TIMES["shufflenet"], SHARES["shufflenet"], "storage"),
    "resnet18": Model(1055, (0.54, 0.16, 0.10, 0.09), "storage"),
    "a2c": Model(_TIMES["a2c"], SHARES["a2c"], "cpu"),
    "dqn": Model(525, (0.00, 0.83, 0.02, 0.002), "cpu"),
    "gpt2": Model(_TIMES["gpt2"], SHARES["gpt2"], "gpu"),
    "bert": Model(244, (0.0014, 0.0007, 0.68, 0.35), "gpu"),
    "vgg16": Model(_TIMES["vgg16"], (0.21, 0.04, 0.20, 0.33), "network"),
    "vgg19": Model(302, SHARES["vgg19"], "network"),
}
"""All eight of Table 3, two for each bottleneck."""

BOTTLENECKS = ("gpu", "network", "storage", "cpu")
"""In the order in which Figure 13 adds them."""
