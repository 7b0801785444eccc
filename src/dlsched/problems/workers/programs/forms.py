"""Forms for proofs beside the model: the programs of the exact methods, which are much smaller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.arc_program import ArcProgram
from dlsched.problems.workers.programs.pattern_program import Program
from dlsched.problems.workers.programs.type_program import TypeProgram
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.solvers.standard_form import compile_model


def patterns(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the pattern program of `milp`, with all maximal patterns."""
    return _compiled("patterns", Program(instance), instance, parameters)


def arcs(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the flow program of `arc_flow`."""
    return _compiled("arcs", ArcProgram(instance), instance, parameters)


FORMS = {"patterns": patterns, "arcs": arcs}


def _compiled(
    name: str, program: TypeProgram, instance: Instance, parameters: Mapping[str, Any]
) -> Form:
    if parameters:
        raise ValueError(f"the form {name} has no parameters")
    return form_of(name, compile_model(program.build(instance)))
