"""Reading a long JSON list, or JSON lines, object by object.

Not by ijson: it would be a dependency of every installation for one format, knows no number of the
job for an error, and takes 1.2 times as long for 200,000 jobs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

from dlsched.errors import InstanceError
from dlsched.records.readers import files
from dlsched.schema.files import JsonObject
from dlsched.schema.flaws import brief

CHUNK = 2**20
"""Characters that are read at a time; no object may be longer."""
_SEPARATORS = " \t\r\n,"


def objects(text: TextIO, where: str, remedy: str) -> Iterator[JsonObject]:
    """Yield the objects of a file, of which no more than one chunk is in memory."""
    decode = json.JSONDecoder().raw_decode
    count = 1
    rest = _more(text, "")
    is_list = rest.startswith("[")
    rest = _more(text, rest[is_list:])

    def flaw(problem: str, what: str) -> InstanceError:
        return InstanceError(where, f"job {count}", problem, what)

    cut_off = "the file ends in the middle of the list", "copy or download it again"
    while rest.startswith("{"):
        try:
            value, end = decode(rest)
        except json.JSONDecodeError as error:
            chunk = text.read(CHUNK) if len(rest) <= CHUNK else ""
            if chunk:
                rest += chunk
                continue
            ended = error.pos >= len(rest.rstrip()) or error.msg.startswith("Unterminated")
            if ended and len(rest) <= CHUNK:
                raise flaw(*cut_off) from None
            near = brief(" ".join(rest[error.pos : error.pos + 60].split()))
            problem = f"is not JSON ({error.msg.lower()} at {near!r})"
            raise flaw(problem, "correct it there") from None
        except RecursionError:
            raise flaw("is nested too deeply", "correct it") from None
        yield value
        count += 1
        if count > files.MOST_ROWS:
            raise files.too_many(where, files.MOST_ROWS, "jobs")
        rest = _more(text, rest[end:])
    if rest and not (is_list and rest[0] == "]"):
        raise flaw("is not a JSON object", remedy)
    if is_list and not rest:
        raise flaw(*cut_off)
    if _more(text, rest[1:]):
        raise flaw("comes after the end of the list", "write one list, or one object per line")


def _more(text: TextIO, rest: str) -> str:
    """Return what is left to read from the first character on that is no separator."""
    rest = rest.lstrip(_SEPARATORS)
    while not rest and (chunk := text.read(CHUNK)):
        rest = chunk.lstrip(_SEPARATORS)
    return rest
