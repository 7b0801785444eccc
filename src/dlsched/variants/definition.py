"""What a variant is: a problem, and what is changed of it.

A variant's `allow` is a rule for the parts of which solutions consist, one form per problem. Two
modules of a problem's package know its form: ``variant/allow.py`` says which parts of a solution
break the rule, ``variant/allowed.py`` solves and bounds with it.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dlsched import registry
from dlsched.errors import DlschedError, OptionError, describe, spelled
from dlsched.registry import Problem
from dlsched.schema.envelope import Instance
from dlsched.variants.identity import identity

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

Constrain = Callable[[Any, Any], None]
"""``constrain(m, instance)``: adds components to the Pyomo model `m` of an instance."""
Allow = Callable[..., bool]
"""The function that a user writes; its arguments are those of the problem's form."""


def validate_form(label: str, owner: Problem, allow: object) -> None:
    """Raise `OptionError` if `allow` is no function, or the problem has no form for one."""
    if not callable(allow):
        raise OptionError(f"{label}: allow must be a function")
    if not owner.has_module("allow"):
        others = [other for other in registry.usable_problems() if other.has_module("allow")]
        known = "; ".join(f"{other.name}: {other.module('allow').MEANING}" for other in others)
        raise OptionError(
            f"{label}: allow has no form for {owner.name}; use constrain or fix. Forms: {known}"
        )


class Rule:
    """A variant's `allow`, whose mistakes are one error."""

    def __init__(self, label: str, allow: Allow) -> None:
        self.label = label
        self.allow = allow

    def __call__(self, *arguments: Any) -> bool:
        """Return what the function says."""
        try:
            answer = self.allow(*arguments)
        except (KeyboardInterrupt, MemoryError, DlschedError):
            raise
        except BaseException as error:
            raise OptionError(f"{self.label}: allow raised {describe(error)}") from error
        if not isinstance(answer, bool | np.bool_):
            raise OptionError(
                f"{self.label}: allow returned {spelled(answer)}, must return True or False"
            )
        return bool(answer)


@dataclass(frozen=True)
class Level:
    """A level of an objective that a variant adds.

    Attributes
    ----------
    name
        Of the level, and of the model's objective component.
    sense
        ``"minimize"`` or ``"maximize"``.
    expr
        ``expr(m, instance)``: a linear expression in the model's variables.
    """

    name: str
    sense: Literal["minimize", "maximize"]
    expr: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        """Refuse what is no level."""
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise OptionError(f"level {spelled(self.name)}: its name must be a Python identifier")
        if self.sense not in ("minimize", "maximize"):
            raise OptionError(
                f"level {self.name}: sense={spelled(self.sense)} must be minimize or maximize"
            )
        if not callable(self.expr):
            raise OptionError(f"level {self.name}: expr must be a function expr(m, instance)")


@dataclass(frozen=True)
class Variant:
    """A problem with a change.

    A solution of a variant is a solution of the problem: the problem's checker decides on the
    definition, then the added constraints and levels are evaluated in exact arithmetic.

    Attributes
    ----------
    problem
        Name of the problem.
    name
        Of the variant: letters, digits, and ``.``, ``-``, ``_``.
    constrain
        ``constrain(m, instance)`` adds variables and linear constraints to the Pyomo model of an
        instance. It may name the variables that the problem's card lists for variants.
    levels
        The objective: names of the problem's levels, and levels of one's own (`Level`), the most
        important first. The problem's by default.
    fix
        The value of each of some variables, by name as ``x[s1]``; 0 forbids what the variable
        stands for.
    allow
        A rule for the parts of which solutions consist, which the methods for large instances can
        state; what it is called with is on the problem's card. ``None`` for no rule.
    version
        What results call this variant beside its name: needed where its functions are in no file,
        as in a notebook, or were given what cannot be pickled; change it with the functions.
    sha256
        Digest of all this: of functions, their files, with the user's files that these import, and
        what they were given. ``None`` where a version is needed.

    Raises
    ------
    OptionError, UnknownName
        If one of these cannot be used.
    """

    problem: str
    name: str
    constrain: Constrain | None = None
    levels: Sequence[str | Level] | None = None
    fix: Mapping[str, float] = field(default_factory=dict)
    allow: Allow | None = None
    version: str | None = None
    sha256: str | None = field(init=False, default=None)
    added: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Digests of what the functions have added to models, by that of the instance."""

    def __post_init__(self) -> None:
        """Check every part, and compute the identity."""
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise OptionError(
                f"variant {spelled(self.name)}: its name must be 1 to 80 letters, digits, "
                f"'.', '-', '_', and begin with a letter or digit"
            )
        if not isinstance(self.problem, str):
            raise OptionError(
                f"{self}: problem={spelled(self.problem)} must be the name of a problem; a "
                f"variant of a variant is one whose constrain calls the other's"
            )
        owner = registry.problem(self.problem)
        if self.constrain is not None and not callable(self.constrain):
            raise OptionError(f"{self}: constrain must be a function constrain(m, instance)")
        self._validate_levels([level.name for level in owner.levels])
        fix = {
            name: int(value) if isinstance(value, np.integer) else value
            for name, value in dict(self.fix or {}).items()
        }
        for name, value in fix.items():
            if not isinstance(name, str):
                raise OptionError(
                    f"{self}: fix names {spelled(name)}; give a variable's name as text"
                )
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not abs(value) <= sys.float_info.max:
                raise OptionError(f"{self}: fix[{name!r}]={spelled(value)} must be a finite number")
        if self.allow is not None:
            validate_form(str(self), owner, self.allow)
        object.__setattr__(self, "fix", MappingProxyType(fix))
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(self.levels))
        if self.version is not None and not (isinstance(self.version, str) and self.version):
            raise OptionError(f"{self}: version={spelled(self.version)} must be text, as '1'")
        names = [(e.name, e.sense) if isinstance(e, Level) else e for e in self.levels or ()]
        stated = [self.problem, self.name, names, sorted(fix.items())]
        functions = [self.constrain, self.allow, *(level.expr for level in self.own_levels)]
        object.__setattr__(self, "sha256", identity(stated, functions, self.version))

    def _validate_levels(self, known: Sequence[str]) -> None:
        """Refuse a list of levels that is empty, unknown or ambiguous."""
        if self.levels is None:
            return
        if isinstance(self.levels, str) or not self.levels:
            raise OptionError(f"{self}: levels must be a list of at least one level")
        names = []
        for level in self.levels:
            name = level.name if isinstance(level, Level) else level
            names.append(name)
            if isinstance(level, Level) and name in known:
                raise OptionError(f"{self}: {name} is a level of {self.problem}; rename yours")
            if not isinstance(level, Level) and name not in known:
                there = f"{self.problem} has: {', '.join(known)}"
                raise OptionError(f"{self}: levels has {spelled(name)}; {there}, or give a Level")
        if len(set(names)) < len(names):
            raise OptionError(f"{self}: levels has a name twice: {', '.join(names)}")

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"variant {self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it is made of; the identity is computed again."""
        parts = (self.problem, self.name, self.constrain, self.levels, dict(self.fix), self.allow)
        return type(self), (*parts, self.version)

    @property
    def rule(self) -> Rule | None:
        """The rule `allow`, if there is one."""
        return None if self.allow is None else Rule(str(self), self.allow)

    @property
    def own_levels(self) -> list[Level]:
        """The levels that are not the problem's."""
        return [level for level in self.levels or () if isinstance(level, Level)]

    @property
    def states_rows(self) -> bool:
        """Whether the variant has rows or levels of its own, which are evaluated on the model."""
        return bool(self.constrain or self.fix or self.own_levels)

    @property
    def only_allows(self) -> bool:
        """Whether a rule is all that the variant changes, so that structured methods state it."""
        return self.allow is not None and not (self.constrain or self.levels or self.fix)


def variant(
    problem: str,
    name: str | None = None,
    *,
    levels: Sequence[str | Level] | None = None,
    fix: Mapping[str, float] | None = None,
    allow: Allow | None = None,
    version: str | None = None,
) -> Callable[[Constrain], Variant]:
    """Return a decorator that makes a variant of a function ``constrain(m, instance)``.

    The variant's name is the function's by default, with ``-`` for ``_``.
    """

    def decorate(constrain: Constrain) -> Variant:
        label = name or constrain.__name__.replace("_", "-")
        return Variant(problem, label, constrain, levels, fix or {}, allow, version)

    return decorate


def extended(
    instance: Instance,
    variant: Variant | None,
    label: str,
    add: Callable[[Any, Any], None] | None = None,
    *,
    levels: Sequence[str | Level] | None = None,
    fix: Mapping[str, float] | None = None,
) -> Variant:
    """Return a variant with more constraints, other levels, more fixed variables.

    `label`: what is added to the variant's name. `add`: as `Variant.constrain`, after that of the
    variant.
    """
    base = variant or Variant(instance.problem, "problem")
    first = base.constrain

    def constrain(m: Any, given: Any) -> None:
        for function in (first, add):
            if function is not None:
                function(m, given)

    added = constrain if first or add else None
    fixed = dict(base.fix) | dict(fix or {})
    for name, value in base.fix.items():
        if fixed[name] != value:
            raise OptionError(
                f"{base} fixes {name} at {value:g}, so it cannot be fixed at {fixed[name]:g}; "
                f"leave that out, or take a variant that does not fix it"
            )
    name = f"{base.name}-{label}"[:80]
    return replace(base, name=name, constrain=added, levels=levels or base.levels, fix=fixed)
