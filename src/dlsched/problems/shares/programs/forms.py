"""The form for proofs: the model with rows of integers, of finish times tangents at a value."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dlsched.problems.shares.definition.schema import Instance
from dlsched.problems.shares.model import build
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.solvers.standard_form import compile_model


def tangents(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the model in integers, with tangents at the value ``at``, a fraction as a text.

    Any tangent is above the value, which is concave, so that a wrong ``at`` proves nothing false.
    """
    try:
        at = Fraction(parameters["at"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise ValueError('the form tangents needs {"at": "p/q"}') from None
    if set(parameters) != {"at"} or not 0 <= at <= 10**15:
        raise ValueError('the form tangents needs {"at": "p/q"} from 0, and nothing else')
    return form_of("tangents", compile_model(build(instance, at, integers=True)))


FORMS = {"tangents": tangents}
