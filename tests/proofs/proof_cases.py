"""What the tests of proofs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def put(*path: Any, to: Any) -> Callable[[Any], None]:
    """Return what sets an item of nested lists and dicts, by the path to it."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change
