"""The fields that every file has, and an instance: its name, digest and copies; the link to it.

A problem's package derives its own ``Instance`` from the class here.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from dlsched.schema.document import Document, derived
from dlsched.schema.fields import Id
from dlsched.schema.files import JsonObject
from dlsched.schema.frames.write import to_frames
from dlsched.text.rendering import Rendered

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION: Final = 1


class Enveloped(Rendered, Document):
    """A document that is a file of its own: it says its format and its problem."""

    dlsched: Literal[1] = SCHEMA_VERSION
    """Version of the file format."""
    problem: str
    """Name of the problem."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show IPython the short text, and Hypothesis all data: it prints what makes a test fail.

        IPython's protocol, which Hypothesis uses too.
        """
        if type(printer).__module__.partition(".")[0] != "hypothesis":
            printer.text(repr(self))
            return
        kind = "load" if isinstance(self, Instance) else "load_solution"
        printer.text(f"dlsched.{kind}({self.to_data()!r})")

    def to_data(self) -> JsonObject:
        """Return plain JSON data; fields at their default are left out, the envelope is not."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        return {"dlsched": self.dlsched, "problem": self.problem} | data

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return all fields as data frames, by the layout of `dlsched.schema.frames.layout`.

        The frame ``instance``, of a solution ``solution``, has the single values in one row. Every
        list and mapping is a frame of its own; one inside another names its parent in a column, as
        the frame ``jobs_workers`` does in the column ``job``. Fractions are written as doubles,
        from which they can be read back exactly. `dlsched.from_frames` is the inverse for
        instances.
        """
        return to_frames(self, "instance" if isinstance(self, Instance) else "solution")


class Instance(Enveloped):
    """The envelope of an instance; the problem's own fields stand beside these."""

    FIXED_IDS: ClassVar[frozenset[str]] = frozenset()
    """Ids whose meaning the schema fixes; other ids are names, and may be replaced by others."""

    ORDERED_LISTS: ClassVar[frozenset[str]] = frozenset()
    """Fields whose order decides ties in the problem's definition; the order of others is free."""

    name: Id
    """Name of the instance, which solutions and tables repeat."""
    source: str | None = None
    """Where the instance comes from."""
    notes: str | None = None
    """Remarks for people."""

    def copy_apart(self) -> Self:
        """Return an equal instance that shares nothing with this one that could be changed."""
        apart: Self = pickle.loads(pickle.dumps(self.model_copy()))
        return apart

    def fingerprint(self) -> int | None:
        """Return a hash of the fields as they are now; ``None`` if one is not frozen any more.

        It is fast and differs between processes, where `sha256` is neither.
        """
        try:
            return hash(self)
        except (TypeError, AttributeError, KeyError):
            return None

    def digested(self) -> JsonObject:
        """Return the data that the digest is taken over.

        A problem that gets new fields leaves them out where they are not used, so that the digests
        of older files stay.
        """
        return self.model_dump(mode="json", exclude={"name", "source", "notes"})

    @derived
    def sha256(self) -> str:
        """Digest of what is to be solved: every field but ``name``, ``source`` and ``notes``.

        It is taken over the canonical JSON text (sorted keys, defaults written out), so neither
        layout nor labels change it.
        """
        text = json.dumps(self.digested(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class AnyInstance(Instance):
    """An instance of a problem that is known at run time only, with the fields of its problem.

    For type checkers alone: what is loaded is the problem's own class.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: D105
            ...


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
