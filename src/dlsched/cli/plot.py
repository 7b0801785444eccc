"""``dlsched plot``: the picture of an instance, with a solution or without."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.flags import InstanceName, Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.progress import say
from dlsched.cli.settings import target
from dlsched.files import write_bytes
from dlsched.registry import problem
from dlsched.run import Stage


def plot(
    instance: InstanceName,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .png or .svg file to write.")
    ],
    solution: Annotated[
        str | None, typer.Argument(metavar="[SOLUTION]", help="A .json or .json.gz file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw an instance, with a solution or without."""
    import matplotlib

    target(output, ".png", ".svg", ".pdf")
    say(Stage.LOADING, instance)
    inst = api.load(instance)
    sol = api.load_solution(solution, inst.problem) if solution is not None else None
    matplotlib.use("agg")
    say(Stage.BUILDING, f"the picture of {inst.name}")
    figure = problem(inst.problem).module("draw").draw(inst, sol).figure
    picture = io.BytesIO()
    figure.savefig(picture, format=output.suffix[1:], bbox_inches="tight")
    write_bytes(output, picture.getvalue())
    if as_json:
        put_json({"files": [str(output)]})
    else:
        put_line(f"written: {output}")
