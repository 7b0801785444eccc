"""What a function's compiled code names: globals, attributes, imports."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def global_names(code: CodeType) -> set[str]:
    """Return the names of globals that a function reads, and those inside it."""
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    loads = (i for i in dis.get_instructions(code) if i.opname in _LOADS)
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


def attributes_set_by(function: FunctionType) -> set[str]:
    """Return the names of attributes of its own that a function sets, as a counter of its calls."""
    known: set[str] = set()
    for code in codes_in(function.__code__):
        last = None
        for instruction in dis.get_instructions(code):
            own = last is not None and last.argval == function.__name__
            again = last is not None and last.opname == "SWAP"  # f.calls += 1
            if instruction.opname == "STORE_ATTR" and (own or again):
                known.add(str(instruction.argval))
            last = instruction
    return known


def attribute_names(code: CodeType) -> set[str]:
    """Return all names in the code of a function and of those inside it."""
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(attribute_names, nested))


def code_text(code: CodeType) -> str:
    """Return what a function without source does, nested ones included."""
    consts = [_constant(const) for const in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {consts}"


def _constant(const: Any) -> str:
    """Return the text of a constant, the same in each process."""
    if isinstance(const, CodeType):
        return code_text(const)
    if isinstance(const, tuple):
        return f"({', '.join(map(_constant, const))})"
    if isinstance(const, frozenset):
        return f"{{{', '.join(sorted(map(_constant, const)))}}}"
    return repr(const)
