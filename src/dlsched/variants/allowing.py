"""A variant's `allow`: a rule for the parts of which solutions consist, one form per problem.

Two modules of a problem's package know its form: ``variant/allow.py`` says which parts of a
solution break the rule, ``variant/allowed.py`` solves and bounds with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched import registry
from dlsched.errors import DlschedError, OptionError, describe, spelled
from dlsched.registry import Problem

Allow = Callable[..., bool]
"""The function that a user writes; its arguments are those of the problem's form."""


def validate_form(label: str, owner: Problem, allow: object) -> None:
    """Raise `OptionError` if `allow` is no function, or the problem has no form for one."""
    if not callable(allow):
        raise OptionError(f"{label}: allow must be a function")
    if not owner.has_module("allow"):
        others = [other for other in registry.usable_problems() if other.has_module("allow")]
        known = "; ".join(f"{other.name}: {other.module('allow').MEANING}" for other in others)
        raise OptionError(
            f"{label}: allow has no form for {owner.name}; use constrain or fix. Forms: {known}"
        )


class Rule:
    """A variant's `allow`, whose mistakes are one error."""

    def __init__(self, label: str, allow: Allow) -> None:
        self.label = label
        self.allow = allow

    def __call__(self, *arguments: Any) -> bool:
        """Return what the function says."""
        try:
            answer = self.allow(*arguments)
        except (KeyboardInterrupt, MemoryError, DlschedError):
            raise
        except BaseException as error:
            raise OptionError(f"{self.label}: allow raised {describe(error)}") from error
        if not isinstance(answer, bool | np.bool_):
            raise OptionError(
                f"{self.label}: allow returned {spelled(answer)}, must return True or False"
            )
        return bool(answer)
