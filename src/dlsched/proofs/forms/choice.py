"""A form that a search for a proof tries."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_NODES = 200_000


class FormChoice(NamedTuple):
    """A form, what it is derived from beside the instance, and when to give it up.

    With more than ``nodes`` nodes, the search goes on to the next form.
    """

    form: str
    parameters: Mapping[str, Any] = {}
    nodes: int = MOST_NODES
