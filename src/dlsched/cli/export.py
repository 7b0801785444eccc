"""``dlsched export``: a model as LP or MPS, a proof as VIPR, or the JSON Schema of every format."""

import json
from functools import partial
from pathlib import Path
from typing import Literal, cast

from typer import Argument, Option

from dlsched import api
from dlsched.api.models import format_of, model_text
from dlsched.api.proving import vipr_texts
from dlsched.cli.exits import put
from dlsched.cli.options import INSTANCE_HELP, Variant, numbers_of, offered
from dlsched.cli.output import Answer, written
from dlsched.cli.progress import say
from dlsched.cli.settings import named_after, target
from dlsched.errors import OptionError
from dlsched.proofs.check import InvalidProof
from dlsched.registry import usable_problems
from dlsched.run import Stage
from dlsched.schema.files import make_folder, write_bytes
from dlsched.variants import owner_of

FORMATS = ("lp", "mps", "vipr")
SUFFIXES = [f".{name}{packed}" for name in FORMATS for packed in ("", ".gz")]


def export(
    *,
    instance: str | None = Argument(
        None,
        metavar="INSTANCE",
        help=INSTANCE_HELP,
        show_default=False,
        autocompletion=offered("instances", "files"),
    ),
    file: Path | None = Argument(
        None,
        metavar="FILE",
        show_default=False,
        help=f"File to write ({', '.join(SUFFIXES)}); by default stdout with --lp or --mps, "
        "and with --format vipr a file for each level.",
    ),
    lp: bool | None = Option(
        None, "--lp/--mps", show_default=False, help="The same as --format lp and --format mps."
    ),
    format_: str | None = Option(
        None,
        "--format",
        metavar="FORMAT",
        help=f"{', '.join(FORMATS[:-1])} for a model, {FORMATS[-1]} for a proof; "
        "by default that of FILE's name.",
    ),
    level: str | None = Option(None, metavar="L", help="To optimise; the first by default."),
    held: list[str] = Option(
        [], metavar="L=VALUE", help="Value that an earlier level keeps; repeatable."
    ),
    proof: Path | None = Option(
        None, metavar="FILE", help="What `prove` wrote; by default the library's proof."
    ),
    schemas: Path | None = Option(
        None, metavar="DIR", help="Write the JSON Schema of every format."
    ),
    variant: Variant = None,
) -> Answer:
    """Write an instance's model or proof for other programs, or with --schemas the JSON Schemas."""
    chosen = _format(format_, lp)
    if schemas is not None:
        if instance is not None:
            raise OptionError("--schemas takes no instance; give one or the other")
        return written(_write_schemas(schemas))
    if instance is None or (file is None and chosen is None):
        raise OptionError("export needs an instance and a file, or --schemas DIR")
    if chosen == "vipr" or (chosen is None and file and format_of(file.name) == "vipr"):
        if held:
            raise OptionError("--held is for models; a proof says what the levels are held at")
        return written(_write_certificates(instance, file, level, proof, variant))
    if proof is not None:
        raise OptionError("--proof is for --format vipr")
    values = numbers_of("--held", held)
    if file is None:
        model = cast(Literal["lp", "mps"], chosen)
        text = model_text(instance, model, level=level, held=values, variant=variant)
        return Answer({"model": text}, partial(put, text))
    target(file, *_suffixes(chosen))
    say(Stage.BUILDING, f"the model of {instance}")
    api.export(instance, file, level=level, held=values, variant=variant)
    return written([file])


def _format(format_: str | None, lp: bool | None) -> str | None:
    """Return the format that an option says; None if none does."""
    if lp is not None:
        if format_ is not None:
            raise OptionError("--format says the same as --lp and --mps; give one of them")
        return "lp" if lp else "mps"
    if format_ not in (None, *FORMATS):
        raise OptionError(f"--format {format_:.40} is unknown; write one of: {', '.join(FORMATS)}")
    return format_


def _suffixes(chosen: str | None) -> list[str]:
    return [suffix for suffix in SUFFIXES if chosen is None or suffix.startswith(f".{chosen}")]


def _write_certificates(
    instance: str,
    file: Path | None,
    level: str | None,
    proof: Path | None,
    variant: str | None,
) -> list[Path]:
    """Write a level's certificate to a file, or by default that of each level to its own."""
    if file is not None:
        target(file, *_suffixes("vipr"))
    inst = api.load(instance)
    levels = [entry.name for entry in owner_of(inst, variant).levels]
    if file is not None:
        level = level or levels[0]
    shown = [name for name in levels if level in (None, name)]
    files = [file] if file else named_after(inst.name, *(f".{name}.vipr" for name in shown))
    say(Stage.CHECKING, f"the proof of {inst.name}")
    try:
        texts = vipr_texts(inst, proof, level=level, variant=variant)
    except InvalidProof as error:
        raise OptionError(f"the proof does not hold: {error}") from None
    for path, text in zip(files, texts.values(), strict=True):
        write_bytes(path, text.encode())
    return files


def _write_schemas(folder: Path) -> list[Path]:
    """Write the JSON Schema of every instance and solution format."""
    make_folder(folder)
    written = []
    for owner in usable_problems():
        for kind, model in (("instance", owner.instance), ("solution", owner.solution)):
            schema = model.model_json_schema()
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
            schema["title"] = f"dlsched {owner.name} {kind}"
            schema["required"] = ["dlsched", "problem", *schema.get("required", [])]
            text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False)
            written.append(folder / f"{owner.name}.{kind}.schema.json")
            write_bytes(written[-1], f"{text}\n".encode())
    return written
