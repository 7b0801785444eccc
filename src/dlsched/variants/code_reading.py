"""What a function's compiled code names: globals, attributes, imports."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any


def global_names(code: CodeType) -> set[str]:
    """Return the names of globals that a function reads, and those inside it."""
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    loads = (i for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return {str(load.argval) for load in loads}.union(*map(global_names, nested))


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of those inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes_in(const)


def imports_of(code: CodeType) -> Iterator[tuple[int, str]]:
    """Yield the modules that a function's own code imports: dots before the name, and the name."""
    before: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield int(before[-2] or 0), str(instruction.argval)
        before.append(instruction.argval)


def attributes_set_by(code: CodeType) -> set[str]:
    """Return the names of attributes that a function sets, of whatever object."""
    instructions = (i for each in codes_in(code) for i in dis.get_instructions(each))
    return {str(i.argval) for i in instructions if i.opname == "STORE_ATTR"}


def attribute_names(code: CodeType) -> set[str]:
    """Return all names in the code of a function and of those inside it."""
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(attribute_names, nested))


def code_text(code: CodeType) -> str:
    """Return what a function without source does, nested ones included."""
    consts = [code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {consts}"
