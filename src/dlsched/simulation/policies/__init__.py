"""The policies by name, those of other packages included."""

import importlib
import inspect
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from dlsched.errors import OptionError, UnknownName, has_no_option
from dlsched.registry.names import RETIRED
from dlsched.registry.option_types import validate_types
from dlsched.run import Run
from dlsched.simulation.engine.policy import BasePolicy, Policy

GROUP = "dlsched.policies"
"""Entry-point group of policies in other packages."""

BUILT_IN: Mapping[str, str] = {
    "recorded": "dlsched.simulation.policies.recorded:Recorded",
    "backfill": "dlsched.simulation.policies.backfill:Backfill",
    "fair_share": "dlsched.simulation.policies.fair_share:FairShare",
    "fifo": "dlsched.simulation.policies.ordering:Fifo",
    "srtf": "dlsched.simulation.policies.ordering:Srtf",
    "srsf": "dlsched.simulation.policies.ordering:Srsf",
    "las": "dlsched.simulation.policies.ordering:Las",
    "tiresias": "dlsched.simulation.policies.tiresias:Tiresias",
    "themis": "dlsched.simulation.policies.themis:Themis",
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
    "sia": "dlsched.simulation.policies.sia:Sia",
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
    raise UnknownName("policy", name, list_policies(), RETIRED.get(("simulation", name), ""))


SOLVING = ("time_limit", "gap", "threads", "solver")
"""Options of `dlsched.solve` that the policies pass on which take more options than they name."""


def policy_options(kind: Any) -> dict[str, Any]:
    """Return the options of a policy's class and of those that it passes options on to.

    With their defaults; `SOLVING` are among them if they are passed on to `dlsched.solve`.
    """
    options: dict[str, Any] = {}
    for cls in kind.__mro__:
        if cls in (BasePolicy, object) or "__init__" not in cls.__dict__:
            continue
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        options = {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD} | options
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    else:
        if kind.__init__ is not BasePolicy.__init__ and getattr(kind, "problem", None):
            options |= {name: getattr(Run, name) for name in SOLVING if name not in options}
    options.pop("method", None)
    return options


def make_policy(policy: str | Policy, method: Any = None, **options: Any) -> Policy:
    """Return a policy by name, with a method and options; a policy that is made is returned as is.

    Raises
    ------
    UnknownName
        If no policy has this name.
    OptionError
        If the policy has no such option, or not the value, takes no method, or is made already and
        either is given;
        if it is a class, or has no method `decide`.
    """
    if not isinstance(policy, str):
        _require_made(policy, method, options)
        return policy
    kind = find_policy(policy)
    no_method = policy in BUILT_IN and kind.problem is None and not kind.own_methods
    if method is not None and no_method:
        raise OptionError(f"the policy {policy} solves no problem; leave method={method!r} out")
    plain = getattr(kind, "__init__", None) is BasePolicy.__init__
    if plain and options:
        raise OptionError(f"the policy {policy} has no option {next(iter(options))!r}; it has none")
    known = policy_options(kind) if isinstance(kind, type) else options
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None and not _takes_anything(kind):
        raise OptionError(has_no_option(f"the policy {policy}", unknown, known))
    try:
        inspect.signature(kind).bind(method=method, **options)
        policy_object: Policy = kind(method=method, **options)
    except (TypeError, AttributeError) as error:
        _validate_types(policy, kind, options)
        if isinstance(error, AttributeError):
            raise
        raise OptionError(f"the policy {policy} cannot take its options: {error}") from error
    _validate_types(policy, kind, options)
    return policy_object


def _validate_types(policy: str, kind: Any, options: Mapping[str, Any]) -> None:
    """Check the types of options that a policy of dlsched has not refused itself."""
    for cls in kind.__mro__ if policy in BUILT_IN else ():
        if "__init__" in vars(cls):
            validate_types(cls.__init__, options)


def _takes_anything(kind: Any) -> bool:
    """Whether a policy's class takes options under any name."""
    parameters = inspect.signature(kind).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _require_made(policy: object, method: Any, options: Mapping[str, Any]) -> None:
    if isinstance(policy, type):
        name = policy.__name__
        raise OptionError(f"{name} is a class; give an object of it: {name}()")
    if not callable(getattr(policy, "decide", None)):
        raise OptionError(
            f"{type(policy).__name__} is no policy; give a name, or an object with decide(state)"
        )
    given = [*(["method"] if method is not None else []), *options]
    if given:
        raise OptionError(
            f"{given[0]} is given beside a policy that is made; give it to {type(policy).__name__}"
        )
