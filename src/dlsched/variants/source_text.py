"""The text of functions, classes and modules, as it was when they were loaded."""

from __future__ import annotations

import ast
import inspect
import linecache
from functools import lru_cache
from types import CodeType, ModuleType

from dlsched.variants.code_reading import code_text, codes_in

_FIRST: dict[int, tuple[object, str]] = {}
"""By the identity of a function's code, a class or a module, this object, and its text."""
_LAMBDA = "<lambda>"


def source_of(value: type | CodeType | ModuleType) -> str:
    """Return a text as it was when it was first asked for.

    A file that is edited later does not change what was loaded from it. Where the file is not what
    a function's code was compiled from, because it was edited before this is first asked for, or
    because the code names a wrong file, the text has what the code does, too.

    Raises
    ------
    OSError, TypeError
        If there is no text.
    """
    if id(value) not in _FIRST:
        _FIRST[id(value)] = value, _read(value)
    return _FIRST[id(value)][1]


def _read(value: type | CodeType | ModuleType) -> str:
    if isinstance(value, ModuleType):
        file = inspect.getsourcefile(value) if getattr(value, "__file__", None) else None
        return "".join(linecache.getlines(file)) if file else ""  # empty, or a folder
    source = inspect.getsource(value)
    if isinstance(value, type):
        return source
    tree, codes = _compiled("".join(linecache.getlines(value.co_filename)), value.co_filename)
    text = source if value.co_name != _LAMBDA else _lambda(tree, value)
    compiled = code_text(value)
    return text if text and compiled in codes else f"{source}\0{compiled}"


def _lambda(tree: ast.AST | None, code: CodeType) -> str:
    """Return what a lambda says; nothing if several begin at its line.

    Its own source ends with the line where the file's text has a line break in parentheses that
    begin before it.
    """
    nodes = [] if tree is None else list(ast.walk(tree))
    begin = [n for n in nodes if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    return ast.unparse(begin[0]) if len(begin) == 1 else ""


@lru_cache(maxsize=64)
def _compiled(text: str, name: str) -> tuple[ast.AST | None, frozenset[str]]:
    """Return a file's syntax tree, and what all of its functions do."""
    try:
        tree = ast.parse(text, name)
        code = compile(tree, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None, frozenset()
    return tree, frozenset(map(code_text, codes_in(code)))
