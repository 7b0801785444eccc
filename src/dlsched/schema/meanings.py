"""What the fields of a document mean: the texts below them in the source.

Pydantic can read these itself (``use_attribute_docstrings``), but it does so when a class is made,
which was a fifth of the time that a command took to begin. Only JSON Schemas need them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return what fields mean, by name, for those that have a text where they are stated last."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, BaseModel):
            texts = _texts(owner)
            for name in inspect.get_annotations(owner):
                found.pop(name, None)
                if name in texts:
                    found[name] = texts[name]
    return {name: text for name, text in found.items() if name in model.model_fields}


@cache
def _texts(owner: type) -> Mapping[str, str]:
    """Return the texts below annotated names in the source of a class, if there is a source."""
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # written in a console
        return {}
    body = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(ast.Constant(str(text))):
                    found[field.target.id] = inspect.cleandoc(text)
    return found
