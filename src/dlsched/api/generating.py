"""Instances that are made: random ones with the papers' statistics, and those of data frames."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched import registry
from dlsched.errors import OptionError, has_no_option
from dlsched.registry.generators import call
from dlsched.registry.labels import labelled
from dlsched.registry.option_types import validate_types
from dlsched.run import validated_seed
from dlsched.schema.envelope import SCHEMA_VERSION, AnyInstance
from dlsched.schema.frames.layout import described
from dlsched.schema.frames.read import Reader

if TYPE_CHECKING:
    import pandas


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


def from_frames(problem: str, /, **parts: Any) -> AnyInstance:
    """Make an instance from data frames; the inverse of ``instance.to_frames()``.

    Parameters
    ----------
    problem
        Name of the problem.
    **parts
        Single values of the instance by name, as ``demand=2``; its name is "unnamed" by default.
        Lists and mappings as frames: ``servers=``, ``jobs=``. What a row of these has as a list or
        mapping is a frame of its own, with a column for the id, as ``jobs_workers=`` with the
        column ``job``; `dlsched.frame_columns` lists frames and columns. Instead, a column of the
        row's own frame may hold lists, or, for a mapping, there may be a column per key, as
        ``gpus.V100``. The frame ``instance=`` has single values in one row. Lists and mappings of
        the instance itself may also be given as such.

        Rows are in the instance's order; the index counts only if it has a name. A cell without a
        value (None, NaN, NA) is an absent field. Whole floats are integers, as pandas makes floats
        of integers with gaps.

    Raises
    ------
    UnknownName
        If there is no such problem.
    InstanceError
        Naming frame, row (counted from 0, as for ``iloc``) and column, and the remedy; of several
        mistakes each on a line, up to 20.
    """
    owner = registry.problem(problem)
    reader = Reader(owner.instance, parts)
    data = {"dlsched": SCHEMA_VERSION, "problem": owner.name, "name": "unnamed"} | reader.data()
    instance: AnyInstance = reader.parse(data)
    return instance


def frame_columns(problem: str) -> dict[str, pandas.DataFrame]:
    """Return the frames that `from_frames` takes for a problem, each with its columns.

    Returns
    -------
    dict
        By the frame's name a frame with a row per column, by its name: ``type``, ``unit``, whether
        it is ``required``, its ``default``, and its ``meaning``.

    Raises
    ------
    UnknownName
        If there is no such problem.
    """
    import pandas as pd

    frames = described(registry.problem(problem).instance)
    return {name: pd.DataFrame(rows).set_index("column") for name, rows in frames.items()}
