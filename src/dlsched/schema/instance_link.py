"""The link from a solution or a result to its instance, for pictures and summaries."""

from typing import Any

from dlsched.schema.envelope import Instance

_LINK = "_instance"
"""The attribute of solutions and results that `link_instance` sets."""


def link_instance(document: object, instance: Instance) -> None:
    """Let a solution or a result know its instance, for pictures and summaries.

    The link is no field: equality, hash, pickles, JSON and ``repr`` are the same with and without.
    """
    vars(document)[_LINK] = instance


def linked_instance(document: object) -> Instance | None:
    """Return the instance that `link_instance` recorded, if any."""
    instance: Instance | None = vars(document).get(_LINK)
    return instance


def without_link(state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a document but for the link to its instance."""
    return {name: value for name, value in state.items() if name != _LINK}
