"""Forms of some solutions only: those that a proof has to consider."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.parameters import Parameters
from dlsched.schema.quantities import Number


@dataclass(frozen=True)
class Restricted:
    """What builds a form with every solution that may be as good as the targets at a level.

    ``build(instance, parameters, level, targets)`` leaves out only what no solution uses that has
    the targets at the earlier levels and is at least as good as the target at this one.
    """

    build: Callable[[Any, Parameters, int, Sequence[Number]], Form]
