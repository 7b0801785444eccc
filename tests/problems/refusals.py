"""Documents with one field changed, and the path at which they are refused."""

import copy
import functools
import operator
import re
from typing import Any

import pytest

import dlsched


def changed(data: Any, path: str, value: Any) -> Any:
    """Return a copy of a document with another value at a path, as ``jobs[0].weight``."""
    *parents, last = [int(s) if s.isdigit() else s for s in re.findall(r"\w+", path)]
    document = copy.deepcopy(data)
    functools.reduce(operator.getitem, parents, document)[last] = value
    return document


def refused(*documents: Any) -> dlsched.InstanceError:
    """Return the error of an instance, or of a solution of an instance; it has a remedy."""
    with pytest.raises(dlsched.InstanceError) as caught:
        (dlsched.load if len(documents) == 1 else dlsched.verify)(*documents)
    assert caught.value.remedy
    return caught.value


def refused_path(*documents: Any) -> str:
    """Return where an instance is refused, or a solution of an instance."""
    return refused(*documents).path
