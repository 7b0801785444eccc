"""The exceptions, one class per kind of error; every message has a remedy."""

import difflib
from collections.abc import Iterable

MOST_CHARACTERS = 2000
"""The longest text of an error that is kept."""


def plain(text: str) -> str:
    """Return a text that every file, database and terminal can hold.

    Halves of a surrogate pair and control characters other than tabs and line ends are spelled
    out, and of a text of more than 2,000 characters only the beginning is kept.
    """
    rest = f"... ({len(text):,} characters)" if len(text) > MOST_CHARACTERS else ""
    spelled = "".join(
        c if c.isprintable() or c in "\t\n" else c.encode("unicode_escape").decode()
        for c in text[:MOST_CHARACTERS]
    )
    if rest or len(spelled) > MOST_CHARACTERS:
        spelled = spelled[: MOST_CHARACTERS - max(3, len(rest))] + (rest or "...")
    return spelled


def describe(error: BaseException) -> str:
    """Return an error's type and message as plain text, whatever the error's own methods do."""
    try:
        said = str(error)
    except Exception:  # a method's own exception class may do anything
        said = "its message cannot be had"
    return plain(f"{type(error).__name__}: {said}")


def spelled(value: object) -> str:
    """Return a value's ``repr`` for a message, shortened, whatever the value is.

    Python refuses to write integers of thousands of digits, and a class of others may raise.
    """
    try:
        text = repr(value)
    except Exception:  # a user's own class may do anything in its repr
        return f"a value of type {type(value).__name__} that cannot be shown"
    return plain(text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "...")


_LONGEST_NAME = 300
_LONGEST_VALUE = 60


def _brief(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'a' or 'b'?`` with the names most like one; empty if none is.

    Capitals count as small letters.
    """
    by_small = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name[:_LONGEST_NAME].lower(), list(by_small), n=3)
    return f"did you mean {' or '.join(repr(by_small[n]) for n in near)}?" if near else ""


def has_no_option(
    whose: str,
    name: str,
    known: Iterable[str],
    kind: str = "option",
    also: Iterable[str] = (),
) -> str:
    """Return that there is no such option, which there are, and which is most like it.

    Names in `also` are not listed, but may have been meant.
    """
    names = list(known)
    listed = f"it has: {', '.join(names) or 'none'}"
    near = nearest(name, [*names, *also])
    parts = (f"{whose} has no {kind} {_brief(name)!r}", listed, near)
    return "; ".join(filter(None, parts))


class DlschedError(Exception):
    """Base of every error that dlsched raises on purpose."""


class InstanceError(DlschedError, ValueError):
    """An instance or solution that cannot be used.

    Parameters
    ----------
    where
        The file, or a name for where the document came from.
    path
        The field, as ``jobs[3].workers[0].server``; empty for the document as a whole.
    problem
        What is wrong.
    remedy
        What would be right.
    """

    def __init__(self, where: str, path: str, problem: str, remedy: str) -> None:
        self.where, self.path, self.problem, self.remedy = where, path, problem, remedy
        super().__init__(": ".join(filter(None, (_brief(where), path, f"{problem}; {remedy}"))))

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        """Survive the way through a worker process."""
        return type(self), (self.where, self.path, self.problem, self.remedy)


class UnknownName(DlschedError, LookupError):
    """A problem, method, instance or solver that is not there; the message names the near ones.

    Parameters
    ----------
    instead
        What to use instead of a name that is gone; the near names are then left out.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], instead: str = "") -> None:
        self.kind, self.name, self.known, self.instead = kind, name, sorted(known), instead
        some = ", ".join(self.known[:12]) + (", ..." if len(self.known) > 12 else "")
        hint = nearest(name, self.known) or f"there are: {some}"
        if instead:
            hint = f"it is gone, use {instead}"
        super().__init__(f"no {kind} is called {_brief(name)!r}; {hint}")

    def __reduce__(self) -> tuple[type, tuple[str, str, list[str], str]]:
        """Survive the way through a worker process."""
        return type(self), (self.kind, self.name, self.known, self.instead)


class SolverDisagreement(DlschedError):
    """A method's claim that the checker does not confirm; both values are in the message."""


class InstanceChanged(DlschedError):
    """A method that changed the instance it was given; its answer is of another instance."""


class SolverMissing(DlschedError):
    """A solver that is known but not installed here; the message says how to get it."""


class ExtraMissing(DlschedError, ImportError):
    """An optional library that is not installed; the message names the extra that has it."""


class SolverFailure(DlschedError):
    """A solver that broke down, or answered with a code that dlsched does not know."""


class OptionError(DlschedError, ValueError):
    """An option that the method or the solver does not have, or a value it cannot take."""
