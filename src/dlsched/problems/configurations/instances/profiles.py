"""Goodput of the models in Sia's public workloads, by GPUs and nodes (Pollux's model).

The goodput is the throughput times the statistical efficiency, at the batch size that is best.
With m samples on each of r GPUs and s accumulations of gradients, a step takes
s T_g + (T_g^gamma + T_s^gamma)^(1/gamma), where T_g = alpha + beta m computes and
T_s = alpha' + beta' max(r - 2, 0) synchronises, within a node or beyond. The efficiency of batch M
is (n + 1) / (n M_0 / M + 1) x M_0 / M, with the noise scale n at the first batch size M_0.

`profiles.json` has the noise at fifths of the epochs, and by type of GPU the largest local batch,
alpha, beta, alpha' and beta' between nodes, those within one, and gamma: fitted to the public
profiles with Pollux's loss. Jobs are counted in the three public workloads of each kind.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

PROFILES: dict[str, Any] = json.loads((files(__package__) / "profiles.json").read_text("utf-8"))
STAGES = 5
WORKLOADS = ("philly", "helios", "newtrace")
_BATCHES, _SLACK = 50, 1e-8


def goodput(training: Mapping[str, Any], type_: str, stage: int, nodes: int, gpus: int) -> float:
    """Return a profile's goodput in samples per second; 0 if no batch size is possible."""
    most, alpha, beta, *syncs, gamma = training["types"][type_]
    first, largest = training["first_batch"], training["largest_batch"]
    least = max(first, training["least_local"] * gpus)
    if least > largest:
        return 0.0
    local = np.geomspace(least, largest, _BATCHES) / gpus
    sums = np.maximum(np.ceil(local / most - _SLACK), 1) - 1
    if gpus == 1:  # one local batch says nothing about the noise of gradients
        sums = np.where(local > first + _SLACK, np.maximum(sums, 1), sums)
    each = np.ceil(local / (sums + 1) - _SLACK)
    computes = alpha + beta * each
    fixed, more = syncs[:2] if nodes > 1 else syncs[2:]
    synchronises = fixed + more * (gpus - 2) if gpus > 1 else 0.0
    step = (computes**gamma + synchronises**gamma) ** (1 / gamma)
    batch = gpus * each * (sums + 1)
    noise, scale = training["noise"][stage], batch / first
    values = batch / (sums * computes + step) * (noise + 1) / (noise / scale + 1) / scale
    valid = (training["least_local"] <= each) & (each <= most)
    return float(np.max(np.where(valid, values, 0.0)))
