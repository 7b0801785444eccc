"""The form for proofs beside the model: the program of `arc_flow`, which is much smaller."""

from collections.abc import Mapping
from typing import Any

from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.arc_program import ArcProgram
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.solvers.standard_form import compile_model


def arcs(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the flow program of `arc_flow`."""
    if parameters:
        raise ValueError("the form arcs has no parameters")
    return form_of("arcs", compile_model(ArcProgram(instance).build(instance)))


FORMS = {"arcs": arcs}
