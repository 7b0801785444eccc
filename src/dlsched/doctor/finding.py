"""What is wrong with an installation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that does not work, or not as it should.

    Attributes
    ----------
    what, remedy
        What was found, and what to do about it.
    fatal
        Whether instances cannot be solved and verified because of it.
    """

    what: str
    remedy: str
    fatal: bool
