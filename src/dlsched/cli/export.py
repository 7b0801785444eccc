"""``dlsched export``: a model as an LP or MPS file, or the JSON Schema of every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.cli.exits import put
from dlsched.cli.flags import INSTANCE_HELP, Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.progress import say
from dlsched.cli.settings import target
from dlsched.errors import OptionError
from dlsched.files import write_bytes
from dlsched.registry import usable_problems
from dlsched.run import Stage

SUFFIXES = (".lp", ".lp.gz", ".mps", ".mps.gz")


def export(
    instance: Annotated[
        str | None, typer.Argument(metavar="INSTANCE", help=INSTANCE_HELP, show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help=f"File to write ({', '.join(SUFFIXES)}); with --lp or --mps, stdout by default.",
        ),
    ] = None,
    lp: Annotated[
        bool | None,
        typer.Option(
            "--lp/--mps", show_default=False, help="The format; by default that of FILE's name."
        ),
    ] = None,
    level: Annotated[
        str | None, typer.Option("--level", metavar="L", help="To optimise; the first by default.")
    ] = None,
    held: Annotated[
        list[str] | None,
        typer.Option(
            "--held", metavar="L=VALUE", help="Value that an earlier level keeps; repeatable."
        ),
    ] = None,
    schemas: Annotated[
        Path | None,
        typer.Option("--schemas", metavar="DIR", help="Write the JSON Schema of every format."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an instance's model for any solver, or with --schemas the JSON Schemas."""
    if schemas is not None:
        if instance is not None:
            raise OptionError("--schemas takes no instance; give one or the other")
        written = _write_schemas(schemas)
    elif instance is None or (file is None and lp is None):
        raise OptionError("export needs an instance and a file, or --schemas DIR")
    elif file is None:
        if as_json:
            raise OptionError("--json has no place for a model; name a file for it")
        text = api.model_text(instance, "lp" if lp else "mps", level=level, held=_held(held or []))
        put(text)
        return
    else:
        named = [s for s in SUFFIXES if lp is None or s.startswith(".lp") == lp]
        target(file, *named)
        say(Stage.BUILDING, f"the model of {instance}")
        api.export(instance, file, level=level, held=_held(held or []))
        written = [file]
    if as_json:
        put_json({"files": [str(path) for path in written]})
    else:
        for path in written:
            put_line(f"written: {path}")


def _held(pairs: list[str]) -> dict[str, float]:
    held: dict[str, float] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            held[name] = float(text)
        except ValueError:
            raise OptionError(f"--held {pair!r} names no number; write LEVEL=VALUE") from None
    return held


def schema_texts() -> dict[str, str]:
    """Return ``{file name: text}`` of the JSON Schema of every instance and solution format."""
    texts = {}
    for owner in usable_problems():
        for kind, model in (("instance", owner.instance), ("solution", owner.solution)):
            schema = model.model_json_schema()
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
            schema["title"] = f"dlsched {owner.name} {kind}"
            schema["required"] = ["dlsched", "problem", *schema.get("required", [])]
            text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False)
            texts[f"{owner.name}.{kind}.schema.json"] = text + "\n"
    return texts


def _write_schemas(folder: Path) -> list[Path]:
    written = []
    for name, text in schema_texts().items():
        write_bytes(folder / name, text.encode())
        written.append(folder / name)
    return written
