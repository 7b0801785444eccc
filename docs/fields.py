"""Writes docs/fields/<problem>.md: the fields of a problem's files, from the code's JSON Schema.

    python docs/fields.py

A test compares the files with what this writes today.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dlsched.registry import problem, problem_names
from dlsched.schema.document import Document, meanings

FOLDER = Path(__file__).resolve().parent / "fields"
_UNIT = "Unit: "
Schema = dict[str, Any]


def page(name: str) -> str:
    """Return the page of a problem."""
    owner = problem(name)
    lines = [f"# {name.capitalize()}: fields", ""]
    lines += [
        f"Every field of an instance and of a solution of [{name}](../problems/{name}.md);",
        "others are refused. Numbers are exact: an integer, or a decimal as it is written. For",
        "editors and validators there are JSON Schemas of the",
        f"[instance](../schema/{name}.instance.schema.json) and the",
        f"[solution](../schema/{name}.solution.schema.json). Made by `python docs/fields.py`.",
    ]
    for kind in ("instance", "solution"):
        schema = getattr(owner, kind).model_json_schema(mode="validation")
        _add_envelope(schema, getattr(owner, kind))
        for path, part in _objects(schema, schema, ""):
            heading = kind.capitalize() + (f": `{path}`" if path else "")
            lines += ["", f"## {heading}", "", part["description"], ""]
            lines += ["| field | type | unit | default | meaning |", "|---|---|---|---|---|"]
            for field, entry in part["properties"].items():
                lines.append(_row(kind, path, field, entry, part))
    return "\n".join(lines).replace("``", "`") + "\n"


def _add_envelope(schema: Schema, model: type[Any]) -> None:
    """Give fields that a problem states anew the description of the common ones."""
    for base in model.__mro__:
        texts = meanings(base) if issubclass(base, Document) else {}
        for field, text in texts.items():
            if field in schema["properties"]:
                schema["properties"][field].setdefault("description", text)
    schema["properties"]["problem"].pop("default", None)
    schema["properties"]["dlsched"].pop("default", None)
    schema["required"] = ["dlsched", "problem", *schema.get("required", ())]


def _objects(schema: Schema, part: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Yield an object and those inside it, with the path of each in a file."""
    yield path, part
    for field, entry in part["properties"].items():
        inner, steps = entry, f"{path}.{field}" if path else field
        while "$ref" not in inner:
            if "items" in inner:
                inner, steps = inner["items"], steps + "[]"
            elif isinstance(inner.get("additionalProperties"), dict):
                inner, steps = inner["additionalProperties"], steps + ".*"
            elif "anyOf" in inner:
                inner = inner["anyOf"][0]
            else:
                break
        if "$ref" in inner:
            yield from _objects(schema, schema["$defs"][inner["$ref"].rpartition("/")[2]], steps)


def _row(kind: str, path: str, field: str, entry: Schema, part: Schema) -> str:
    text, _, unit = entry.get("description", "").partition(_UNIT)
    anchor = "-".join(filter(None, [kind, *path.replace("[]", "").replace(".*", "").split(".")]))
    cells = (
        f'<a id="{anchor}-{field}"></a>`{field}`',
        _type(entry),
        unit.strip().removesuffix("."),
        "required" if field in part.get("required", ()) else _default(entry),
        " ".join(text.split()),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(entry: Schema) -> str:
    value = entry.get("default")
    if isinstance(value, dict):  # an object that is all defaults
        return "its defaults"
    if value is None:
        return "none" if "default" in entry else "empty"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


def _type(entry: Schema, many: bool = False) -> str:
    """Return a type in words, in the plural for the entries of a list."""
    s = "s" if many else ""
    if "anyOf" in entry:
        parts = [_type(e, many) for e in entry["anyOf"] if e.get("type") != "null"]
        return ", or ".join(dict.fromkeys(parts))
    if "const" in entry or "enum" in entry:
        return " or ".join(f"`{value}`" for value in entry.get("enum", [entry.get("const")]))
    kind = entry.get("type", "object")
    if kind == "array":
        return f"list{s} of {_type(entry['items'], many=True)}"
    if kind == "object":
        inner = entry.get("additionalProperties")
        return f"object{s}: name to {_type(inner)}" if inner else f"object{s}"
    low = f" ≥ {entry['minimum']}" if "minimum" in entry else ""
    low = f" > {entry['exclusiveMinimum']}" if "exclusiveMinimum" in entry else low
    words = {"string": "text", "boolean": "true or false"}
    return words.get(kind, f"{kind}{s}{low}")


if __name__ == "__main__":
    for problem_name in problem_names():
        (FOLDER / f"{problem_name}.md").write_text(page(problem_name), encoding="utf-8")
