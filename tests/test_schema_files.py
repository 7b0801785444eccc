"""The JSON Schemas in docs/schema are those of the code, and mean what the code means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dlsched
from dlsched.cli import app
from dlsched.cli.export import schema_texts
from dlsched.registry import problem

FOLDER = Path(__file__).parents[1] / "docs" / "schema"
REMEDY = "run: dlsched export --schemas docs/schema"


def test_files_are_current() -> None:
    """The files in docs/schema equal what the code writes today."""
    texts = schema_texts()
    assert sorted(p.name for p in FOLDER.glob("*.json")) == sorted(texts), REMEDY
    for name, text in texts.items():
        assert (FOLDER / name).read_text() == text, f"{name} has changed; {REMEDY}"


def test_command_writes_them(tmp_path: Path) -> None:
    """The command writes one file per format, the same each time."""
    for _ in range(2):
        ran = CliRunner().invoke(app, ["export", "--schemas", str(tmp_path), "--json"])
        assert ran.exit_code == 0
        names = [Path(file).name for file in json.loads(ran.stdout)["files"]]
        assert {name: (tmp_path / name).read_text() for name in names} == schema_texts()


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every object that a schema describes."""
    if isinstance(schema, list):
        return [found for part in schema for found in objects(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if "properties" in schema else []
    return own + [found for part in schema.values() for found in objects(part)]


@pytest.mark.parametrize("name", dlsched.list_problems())
@pytest.mark.parametrize("kind", ["instance", "solution"])
def test_schema_is_as_strict_as_the_code(name: str, kind: str) -> None:
    """A schema refuses unknown fields everywhere and demands the envelope and required fields."""
    schema = json.loads(schema_texts()[f"{name}.{kind}.schema.json"])
    assert all(part["additionalProperties"] is False for part in objects(schema))
    model = getattr(problem(name), kind)
    required = {k for k, field in model.model_fields.items() if field.is_required()}
    envelope = {"dlsched", "problem", *(["instance"] if kind == "solution" else [])}
    assert set(schema["required"]) == envelope | required
    assert list(schema["properties"]["problem"].values()).count(name) >= 1
    assert set(schema["properties"]) == set(model.model_fields)
