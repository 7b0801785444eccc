"""The policies by name, those of other packages included."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from dlsched.errors import UnknownName
from dlsched.simulation.policy import Policy

GROUP = "dlsched.policies"
"""Entry-point group of policies in other packages."""

BUILT_IN: Mapping[str, str] = {
    "fifo": "dlsched.simulation.policies.ordering:Fifo",
    "srtf": "dlsched.simulation.policies.ordering:Srtf",
    "srsf": "dlsched.simulation.policies.ordering:Srsf",
    "las": "dlsched.simulation.policies.ordering:Las",
    "tiresias": "dlsched.simulation.policies.tiresias:Tiresias",
    "themis": "dlsched.simulation.policies.themis:Themis",
    "antman": "dlsched.simulation.policies.antman:AntMan",
    "muri_s": "dlsched.simulation.policies.muri:MuriS",
    "muri_l": "dlsched.simulation.policies.muri:MuriL",
    "synergy": "dlsched.simulation.policies.synergy:Synergy",
    "lyra": "dlsched.simulation.policies.lyra:Lyra",
    "opportunistic": "dlsched.simulation.policies.lyra_baselines:Opportunistic",
    "gandiva": "dlsched.simulation.policies.lyra_baselines:Gandiva",
    "afs": "dlsched.simulation.policies.lyra_baselines:Afs",
    "mast": "dlsched.simulation.policies.mast:Mast",
    "federated": "dlsched.simulation.policies.mast:Federated",
    "local": "dlsched.simulation.policies.mast:Local",
    "pollux": "dlsched.simulation.policies.lyra_baselines:Pollux",
    "gavel": "dlsched.simulation.policies.gavel:Gavel",
    "hadar": "dlsched.simulation.policies.hadar:Hadar",
    "hadare": "dlsched.simulation.policies.hadare:HadarE",
    "yarn_cs": "dlsched.simulation.policies.yarn:YarnCs",
}
"""Where each policy of dlsched is; a module is imported when its policy is asked for."""


def list_policies() -> list[str]:
    """Return the names of all policies."""
    return sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def find_policy(name: str) -> Any:
    """Return the class of a policy.

    Raises
    ------
    UnknownName
        If no policy has this name, naming the near ones.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise UnknownName("policy", name, list_policies())


def make_policy(policy: str | Policy, method: Any = None, **options: Any) -> Policy:
    """Return a policy by name, with a method and options; a policy that is made is returned as is.

    Raises
    ------
    UnknownName
        If no policy has this name.
    """
    if not isinstance(policy, str):
        return policy
    made: Policy = find_policy(policy)(method=method, **options)
    return made
