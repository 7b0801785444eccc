"""Random instances with the papers' statistics."""

import inspect
from typing import Any

import numpy as np

from dlsched import registry
from dlsched.errors import OptionError, has_no_option
from dlsched.registry.generators import call
from dlsched.registry.labels import labelled
from dlsched.registry.option_types import validate_types
from dlsched.run import validated_seed
from dlsched.schema.envelope import AnyInstance


def generate(problem: str, seed: int = 0, **parameters: Any) -> AnyInstance:
    """Return a random instance with the paper's statistics.

    Parameters
    ----------
    problem
        Name of the problem.
    seed
        The same seed and parameters give the same instance; 0 by default.
    **parameters
        Of the problem's generator; see its docstring, ``dlsched show PROBLEM``, or the docs.

    Raises
    ------
    OptionError
        If the generator has no such parameter, or cannot take the value.
    """
    seed = validated_seed(seed)
    generator = registry.problem(problem).module("generate").generate
    known = list(inspect.signature(generator).parameters)[1:]
    for name in parameters:
        if name not in known:
            raise OptionError(has_no_option(f"generate {problem}", name, known, "parameter"))
    if problem in registry.BUILT_IN:
        validate_types(generator, parameters)
    rng = np.random.default_rng(seed)
    instance: AnyInstance = generator(rng, **parameters)
    labels = {
        "name": f"{labelled(problem, parameters)}-{seed}"
        if instance.name == "unnamed"
        else instance.name,
        "source": call("dlsched.generate", problem, seed, dict(sorted(parameters.items()))),
    }
    return instance.model_copy(update=labels)
