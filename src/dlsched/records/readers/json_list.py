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
    source = _Source(text, where)
    is_list = source.skip("[")
    while (mark := source.next_character()) == "{":
        yield source.take_object()
    if mark not in ("]" if is_list else "", ""):
        raise InstanceError(where, source.place, "is not a JSON object", remedy)
    if source.skip("]") and source.next_character():
        problem = "comes after the end of the list"
        raise InstanceError(where, source.place, problem, "write one list, or one object per line")
    if is_list and not mark:
        raise source.cut_off()


class _Source:
    """The part of the text that is in memory, and how far it is read."""

    def __init__(self, text: TextIO, where: str) -> None:
        self.where = where
        self._text = text
        self._buffer = ""
        self._at = 0
        self._count = 0
        self._decoder = json.JSONDecoder()

    @property
    def place(self) -> str:
        """The next object, as errors call it."""
        return f"job {self._count + 1}"

    def _fill(self) -> bool:
        """Read a chunk more; return whether there was one."""
        chunk = self._text.read(CHUNK)
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def next_character(self) -> str:
        """Return the first character that is no separator; none at the end of the file."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SEPARATORS:
                    return self._buffer[self._at]
                self._at += 1
            if not self._fill():
                return ""

    def skip(self, character: str) -> bool:
        """Skip a character if it is the next one; return whether it was."""
        matches = self.next_character() == character
        self._at += matches
        return matches

    def take_object(self) -> JsonObject:
        """Return the object that begins here."""
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if len(self._buffer) - self._at > CHUNK or not self._fill():
                    raise self._broken(error) from None
            except RecursionError:
                problem = "is nested too deeply"
                raise InstanceError(self.where, self.place, problem, "correct it") from None
            else:
                self._count += 1
                if self._count > files.MOST_ROWS:
                    raise files.too_many(self.where, files.MOST_ROWS, "jobs")
                data: JsonObject = value
                return data

    def _broken(self, error: json.JSONDecodeError) -> InstanceError:
        rest = self._buffer[self._at :]
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        if at_end and len(rest) <= CHUNK:
            return self.cut_off()
        near = brief(" ".join(error.doc[error.pos : error.pos + 60].split()))
        problem = f"is not JSON ({error.msg.lower()} at {near!r})"
        return InstanceError(self.where, self.place, problem, "correct it there")

    def cut_off(self) -> InstanceError:
        """Return the error of a file whose end is missing."""
        problem = "the file ends in the middle of the list"
        return InstanceError(self.where, self.place, problem, "copy or download it again")
