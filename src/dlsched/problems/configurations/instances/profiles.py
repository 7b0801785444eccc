"""Goodput of the models in Sia's public workloads, by GPUs and nodes (Pollux's model).

The goodput is the throughput times the statistical efficiency, at the batch size that is best.
With m samples on each of r GPUs and s accumulations of gradients, a step takes
s T_g + (T_g^gamma + T_s^gamma)^(1/gamma), where T_g = alpha + beta m computes and
T_s = alpha' + beta' max(r - 2, 0) synchronises, within a node or beyond. The efficiency of batch M
is (n + 1) / (n M_0 / M + 1) x M_0 / M, with the noise scale n at the first batch size M_0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STAGES = 5
"""Stages of training, fifths of the epochs, each with a noise scale."""
_BATCHES = 50
_SLACK = 1e-8
"""Allowance of a batch size that is rounded up."""


class Training(NamedTuple):
    """How a model is trained: batch sizes, noise by stage, a restart's seconds, and all samples.

    The shares are those of jobs in the three workloads of each kind: Philly, Helios, newTrace.
    """

    first_batch: int
    largest_batch: int
    least_local: int
    noise: tuple[float, ...]
    restart_seconds: int
    samples: int
    shares: tuple[int, int, int]


class Speed(NamedTuple):
    """A model's step on a type of GPU: the largest local batch, and the seven parameters."""

    largest_local: int
    alpha: float
    beta: float
    alpha_far: float
    beta_far: float
    alpha_near: float
    beta_near: float
    gamma: float


WORKLOADS = ("philly", "helios", "newtrace")
TRAININGS = {
    "bert": Training(12, 384, 4, (35.25, 35.25, 35.25, 93.69, 93.69), 120, 177_288, (29, 21, 605)),
    "cifar10": Training(
        128, 4096, 32, (0.5663, 17.3, 29.95, 52.47, 139.2), 50, 4_999_936, (376, 397, 1510)
    ),
    "deepspeech2": Training(
        20, 640, 10, (0.5115, 73.23, 572.5, 3741, 11490), 25, 570_720, (44, 28, 636)
    ),
    "imagenet": Training(
        200, 12800, 20, (4.641, 29.67, 57.76, 56.3, 71.31), 250, 115_305_000, (7, 11, 25)
    ),
    "yolov3": Training(
        8, 512, 4, (0.08118, 42.04, 62.04, 83.86, 207.4), 80, 827_552, (24, 23, 104)
    ),
}
"""From the public profiles: the statistics of gradients at the first batch size."""
SPEEDS = {
    ("bert", "t4"): Speed(12, 0.1761, 0.05851, 1.398, 0.008544, 0.2632, 0.01301, 1.836),
    ("bert", "rtx"): Speed(12, 0.1609, 0.02254, 0.5597, 0.02158, 0.3413, 0.06695, 1.876),
    ("bert", "a100"): Speed(48, 0.09816, 0.004728, 0.02988, 0.003729, 0.02959, 0.006156, 1.6),
    ("cifar10", "t4"): Speed(1024, 0.01751, 7.034e-4, 0.1266, 0.002649, 0.0348, 0.001636, 2.287),
    ("cifar10", "rtx"): Speed(1024, 0.03602, 2.58e-4, 0.08668, 0.001519, 0.0644, 0.004555, 2.999),
    ("cifar10", "a100"): Speed(
        4096, 0.02456, 8.759e-5, 0.01012, 8.37e-4, 0.008854, 0.001875, 2.226
    ),
    ("deepspeech2", "t4"): Speed(80, 0.3074, 0.02356, 0.5042, 0.01017, 0.1192, 0.005414, 1.497),
    ("deepspeech2", "rtx"): Speed(57, 0.3467, 0.01302, 0.07142, 0.01891, 0.1024, 0.02967, 1.303),
    ("deepspeech2", "a100"): Speed(320, 0.43, 0.01322, 0.1687, 0.01259, 0.1288, 0.01415, 1.615),
    ("imagenet", "t4"): Speed(200, 0.06448, 0.004494, 0.3183, 0.006269, 0.07493, 1.608e-5, 2.487),
    ("imagenet", "rtx"): Speed(200, 0.1213, 0.001862, 0.1735, 0.006442, 0.1004, 0.02204, 2.158),
    ("imagenet", "a100"): Speed(
        800, 0.09478, 8.451e-4, 0.006679, 0.001218, 0.009954, 0.001357, 1.0
    ),
    ("yolov3", "t4"): Speed(16, 0.1931, 0.02642, 0.7682, 0.01041, 0.1233, 0.0245, 1.172),
    ("yolov3", "rtx"): Speed(8, 0.3607, 0.01558, 0.3084, 0.008627, 0.1961, 0.01766, 1.0),
    ("yolov3", "a100"): Speed(32, 0.3272, 0.01926, 0.04355, 0.01726, 0.08402, 0.02611, 1.078),
}
"""Fitted to the public placements and scalability files with Pollux's loss, to four digits."""


def goodput(model: str, type_: str, stage: int, nodes: int, gpus: int) -> float:
    """Return a model's goodput in samples per second; 0 if no batch size is possible."""
    training, speed = TRAININGS[model], SPEEDS[model, type_]
    least = max(training.first_batch, training.least_local * gpus)
    if least > training.largest_batch:
        return 0.0
    local: Floats = np.geomspace(least, training.largest_batch, _BATCHES) / gpus
    sums = np.ceil(local / speed.largest_local - _SLACK) - 1
    if gpus == 1:  # one local batch says nothing about the noise of gradients
        sums = np.where(local > training.first_batch + _SLACK, np.maximum(sums, 1), sums)
    each = np.ceil(local / (sums + 1) - _SLACK)
    computes = speed.alpha + speed.beta * each
    more = max(gpus - 2, 0)
    syncs = 0.0
    if gpus > 1:
        near = speed.alpha_near + speed.beta_near * more
        syncs = speed.alpha_far + speed.beta_far * more if nodes > 1 else near
    step = (computes**speed.gamma + syncs**speed.gamma) ** (1 / speed.gamma)
    batch = gpus * each * (sums + 1)
    scale = batch / training.first_batch
    noise = training.noise[stage]
    values = batch / (sums * computes + step) * (noise + 1) / (noise / scale + 1) / scale
    valid = (training.least_local <= each) & (each <= speed.largest_local)
    return float(np.max(np.where(valid, values, 0.0)))
