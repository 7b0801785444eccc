"""Stage profiles of the models in Muri's evaluation, as shares of an iteration.

The paper prints, in its Table 1, which stage is the longest of four models on its testbed; the
shares below have the same longest stage and are otherwise assumed. Table 3 lists the eight models
of the evaluation by their bottleneck. Order of the stages: storage, CPU, GPU, network.
"""

from __future__ import annotations

from typing import NamedTuple

RESOURCES = ("storage", "cpu", "gpu", "network")


class Model(NamedTuple):
    """Milliseconds of an iteration alone, the shares of its stages, and the longest of them."""

    milliseconds: int
    shares: tuple[float, float, float, float]
    bottleneck: str


MODELS = {
    "shufflenet": Model(240, (0.60, 0.16, 0.15, 0.09), "storage"),
    "a2c": Model(450, (0.00, 0.91, 0.06, 0.03), "cpu"),
    "gpt2": Model(620, (0.01, 0.01, 0.72, 0.26), "gpu"),
    "vgg16": Model(530, (0.21, 0.04, 0.23, 0.52), "network"),
    "resnet18": Model(210, (0.55, 0.15, 0.20, 0.10), "storage"),
    "dqn": Model(380, (0.00, 0.82, 0.13, 0.05), "cpu"),
    "bert": Model(700, (0.02, 0.02, 0.63, 0.33), "gpu"),
    "vgg19": Model(590, (0.18, 0.04, 0.26, 0.52), "network"),
}
"""The first four are Table 1's, all eight Table 3's, two for each bottleneck."""

BOTTLENECKS = ("gpu", "cpu", "storage", "network")
"""In the order in which the generator takes them, for fewer kinds than four (Figure 13)."""
