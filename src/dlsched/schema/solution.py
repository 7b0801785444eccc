"""A solution: the instance it is for, the method that found it, and who gets the credit.

A problem's package derives its own ``Solution`` from the class here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import ConfigDict

from dlsched.errors import InstanceError
from dlsched.schema.document import Document
from dlsched.schema.envelope import Enveloped, link_instance, linked_instance
from dlsched.schema.fields import Day, Id, Label


class Credit(Document):
    """Who found a solution."""

    by: Label
    """Names, as they are to be printed."""
    date: Day
    """When, as ``YYYY-MM-DD``."""
    reference: Label | None = None
    """Where one can read how: a DOI, an address, a few words."""


def _require_instance(schema: dict[str, Any]) -> None:
    """State in the JSON Schema that a file names its instance."""
    del schema["properties"]["instance"]["default"]
    schema["required"] = ["instance", *schema.get("required", ())]


class Solution(Enveloped):
    """The envelope of a solution; the problem's own fields stand beside these.

    A method leaves ``instance``, ``instance_sha256`` and ``method`` out: the run fills them in. In
    a file, ``instance`` is required. ``credit`` is for solutions sent in for library instances.
    """

    model_config = ConfigDict(json_schema_extra=_require_instance)

    instance: Id = ""
    """Name of the instance that is solved."""
    instance_sha256: str | None = None
    """Digest of the instance; another instance is refused."""
    method: str | None = None
    """Method that found the solution."""
    credit: Credit | None = None
    """Who found it, of a solution that was sent in for a library instance."""

    @classmethod
    def parse(cls, data: object, where: str) -> Self:
        """Validate plain JSON data, which must name the instance; see `Document.parse`.

        Raises
        ------
        InstanceError
            Naming `where`, the first offending field, and the remedy.
        """
        solution = super().parse(data, where)
        if not solution.instance:
            raise InstanceError(where, "instance", "is missing", "add it")
        return solution

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy with some fields changed; the copy knows the instance too if its digest is kept."""
        copy = super().model_copy(update=update, deep=deep)
        instance = linked_instance(self)
        if instance is not None and "instance_sha256" not in (update or {}):
            link_instance(copy, instance)
        return copy


class AnySolution(Solution):
    """A solution of a problem that is known at run time only, with the fields of its problem.

    For type checkers alone: what is loaded is the problem's own class.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: D105
            ...
